// A function of the kernel is internal; several results are a structure.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %i = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
  %y:2 = "xla_gpu.pure_call"(%x) {callee = @k.both} : (f32) -> (f32, f32)
  %r = arith.addf %y#0, %y#1 : f32
  "xla_gpu.store"(%r, %out, %i) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  func.return
}

func.func private @k.both(%x: f32) -> (f32, f32) {
  %y = arith.negf %x : f32
  func.return %x, %y : f32, f32
}
// -----
; Function Attrs: noinline nounwind memory(argmem: read)
define internal { float, float } @k.both(float %0) #0 {
  %2 = fneg float %0
  %3 = insertvalue { float, float } poison, float %0, 0
  %4 = insertvalue { float, float } %3, float %2, 1
  ret { float, float } %4
}

; Function Attrs: alwaysinline nounwind
define internal void @k.body(ptr %0, ptr %1, i64 %2, i64 %3) #1 {
  %5 = load float, ptr %0, align 4
  %6 = call { float, float } @k.both(float %5)
  %7 = extractvalue { float, float } %6, 0
  %8 = extractvalue { float, float } %6, 1
  %9 = fadd float %7, %8
  store float %9, ptr %1, align 4
  ret void
}

; Function Attrs: nounwind
define void @k(ptr %0, i64 %1, i64 %2) #2 {
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

attributes #0 = { noinline nounwind memory(argmem: read) }
attributes #1 = { alwaysinline nounwind }
attributes #2 = { nounwind }
