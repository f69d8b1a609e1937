// On the cpu a kernel is called with its buffers and a first and a last block, which it runs one after the other.
// target: cpu
func.func @k(%a: !llvm.ptr {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 4096 : i64, llvm.noalias, llvm.readonly}, %out: !llvm.ptr {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 4096 : i64, llvm.noalias}) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 1>} {
  %b = gpu.block_id x
  %block = arith.index_cast %b : index to i64
  %x = "xla_gpu.load"(%a, %block) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
  "xla_gpu.store"(%x, %out, %block) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  func.return
}
// -----
; Function Attrs: alwaysinline nounwind
define internal void @k.body(ptr noundef nonnull readonly align 64 dereferenceable(4096) %0, ptr noalias noundef nonnull align 64 dereferenceable(4096) %1, i64 %2, i64 %3) #0 {
  %5 = getelementptr inbounds float, ptr %0, i64 %2
  %6 = load float, ptr %5, align 4
  %7 = getelementptr inbounds float, ptr %1, i64 %2
  store float %6, ptr %7, align 4
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
