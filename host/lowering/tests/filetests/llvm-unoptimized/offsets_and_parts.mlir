// A constant beside the address is one more step of it, in elements; so is the imaginary part of a complex number,
// behind the real one.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %i = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64, offset = 3 : i64} : (!llvm.ptr, i64) -> f32
  %im = "xla_gpu.load"(%a, %i) {alignment = 4 : i64, complex_part = 1 : i64} : (!llvm.ptr, i64) -> f32
  %r = arith.addf %x, %im : f32
  "xla_gpu.store"(%r, %out, %i) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  func.return
}
// -----
; Function Attrs: alwaysinline nounwind
define internal void @k.body(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
  %5 = getelementptr inbounds float, ptr %0, i64 3
  %6 = load float, ptr %5, align 4
  %7 = getelementptr inbounds float, ptr %0, i64 1
  %8 = load float, ptr %7, align 4
  %9 = fadd float %6, %8
  store float %9, ptr %1, align 4
  ret void
}

; Function Attrs: nounwind
define void @k(ptr %0, i64 %1, i64 %2) #1 {
  %4 = getelementptr inbounds ptr, ptr %0, i64 0
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr inbounds ptr, ptr %0, i64 1
  %7 = load ptr, ptr %6, align 8
  br label %8

8:                                                ; preds = %11, %3
  %9 = phi i64 [ %1, %3 ], [ %12, %11 ]
  %10 = icmp slt i64 %9, %2
  br i1 %10, label %11, label %13

11:                                               ; preds = %8
  call void @k.body(ptr %5, ptr %7, i64 %9, i64 0)
  %12 = add nsw i64 %9, 1
  br label %8

13:                                               ; preds = %8
  ret void
}

attributes #0 = { alwaysinline nounwind }
attributes #1 = { nounwind }
