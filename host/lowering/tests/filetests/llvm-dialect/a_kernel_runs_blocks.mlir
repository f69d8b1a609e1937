// Two functions, as in LLVM IR of fusebox's own writer: the body with the facts about the buffers, and the loop over blocks.
// target: cpu
func.func @k(%a: !llvm.ptr {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 4096 : i64, llvm.noalias, llvm.readonly}, %out: !llvm.ptr {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 4096 : i64, llvm.noalias}) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 1>} {
  %b = gpu.block_id x
  %block = arith.index_cast %b : index to i64
  %x = "xla_gpu.load"(%a, %block) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
  "xla_gpu.store"(%x, %out, %block) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  func.return
}
// -----
llvm.func @k.body(%arg0: !llvm.ptr {llvm.align = 64 : i64, llvm.dereferenceable = 4096 : i64, llvm.nonnull, llvm.noundef, llvm.readonly}, %arg1: !llvm.ptr {llvm.align = 64 : i64, llvm.dereferenceable = 4096 : i64, llvm.noalias, llvm.nonnull, llvm.noundef}, %arg2: i64, %arg3: i64) attributes {passthrough = ["alwaysinline", "nounwind"]} {
  %0 = llvm.getelementptr inbounds %arg0[%arg2] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %1 = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> f32
  %2 = llvm.getelementptr inbounds %arg1[%arg2] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %1, %2 {alignment = 4 : i64} : f32, !llvm.ptr
  llvm.return
}
llvm.func @k(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64) attributes {passthrough = ["nounwind"]} {
  %0 = llvm.mlir.constant(1 : i64) : i64
  %1 = llvm.mlir.constant(0 : i64) : i64
  %2 = llvm.load %arg0 {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
  %3 = llvm.getelementptr inbounds %arg0[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %4 = llvm.load %3 {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
  llvm.br ^bb1(%arg1 : i64)
^bb1(%5: i64):  // 2 preds: ^bb0, ^bb2
  %6 = llvm.icmp "slt" %5, %arg2 : i64
  llvm.cond_br %6, ^bb2, ^bb3
^bb2:  // pred: ^bb1
  llvm.call @k.body(%2, %4, %5, %1) : (!llvm.ptr, !llvm.ptr, i64, i64) -> ()
  %7 = llvm.add %5, %0 overflow<nsw> : i64
  llvm.br ^bb1(%7 : i64)
^bb3:  // pred: ^bb1
  llvm.return
}
