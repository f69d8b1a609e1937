// Writes past the caches are seen late: the kernel waits for them at its end.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %i = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 32 : i64} : (!llvm.ptr, i64) -> vector<8xf32>
  "xla_gpu.store"(%x, %out, %i) {alignment = 32 : i64, past_caches} : (vector<8xf32>, !llvm.ptr, i64) -> ()
  func.return
}
// -----
; Function Attrs: alwaysinline nounwind
define internal void @k.body(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
  %5 = load <8 x float>, ptr %0, align 32
  store <8 x float> %5, ptr %1, align 32, !nontemporal !0
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
  fence seq_cst
  ret void
}

attributes #0 = { alwaysinline nounwind }
attributes #1 = { nounwind }

!0 = !{i32 1}
