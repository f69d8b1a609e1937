// Rows of a product with a vector read the same vector: the jump that closes the outer loop asks LLVM to compute four rows in one loop.
// target: cpu
func.func @k(%matrix: !llvm.ptr, %vector: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %rows = arith.constant 12 : i64
  %columns = arith.constant 100 : i64
  %zero = arith.constant 0.0 : f32
  "scf.for"(%c0, %rows, %c1) ({
  ^bb0(%row: i64):
    %sum = "scf.for"(%c0, %columns, %c1, %zero) ({
    ^bb0(%n: i64, %now: f32):
      %start = arith.muli %row, %columns : i64
      %at = arith.addi %start, %n : i64
      %x = "xla_gpu.load"(%matrix, %at) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
      %y = "xla_gpu.load"(%vector, %n) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
      %product = arith.mulf %x, %y : f32
      %next = arith.addf %now, %product fastmath<reassoc> : f32
      scf.yield %next : f32
    }) : (i64, i64, i64, f32) -> f32
    "xla_gpu.store"(%sum, %out, %row) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    scf.yield
  }) : (i64, i64, i64) -> ()
  func.return
}

// -----
llvm.func @k.body(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: !llvm.ptr, %arg3: i64, %arg4: i64) attributes {passthrough = ["alwaysinline", "nounwind"]} {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %2 = llvm.mlir.constant(12 : i64) : i64
  %3 = llvm.mlir.constant(100 : i64) : i64
  %4 = llvm.mlir.constant(0.000000e+00 : f32) : f32
  llvm.br ^bb1(%0 : i64)
^bb1(%5: i64):  // 2 preds: ^bb0, ^bb5
  %6 = llvm.icmp "slt" %5, %2 : i64
  llvm.cond_br %6, ^bb2, ^bb6
^bb2:  // pred: ^bb1
  llvm.br ^bb3(%0, %4 : i64, f32)
^bb3(%7: i64, %8: f32):  // 2 preds: ^bb2, ^bb4
  %9 = llvm.icmp "slt" %7, %3 : i64
  llvm.cond_br %9, ^bb4, ^bb5
^bb4:  // pred: ^bb3
  %10 = llvm.mul %5, %3 : i64
  %11 = llvm.add %10, %7 : i64
  %12 = llvm.getelementptr inbounds %arg0[%11] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %13 = llvm.load %12 {alignment = 4 : i64} : !llvm.ptr -> f32
  %14 = llvm.getelementptr inbounds %arg1[%7] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %15 = llvm.load %14 {alignment = 4 : i64} : !llvm.ptr -> f32
  %16 = llvm.fmul %13, %15 : f32
  %17 = llvm.fadd %8, %16 {fastmathFlags = #llvm.fastmath<reassoc>} : f32
  %18 = llvm.add %7, %1 overflow<nsw> : i64
  llvm.br ^bb3(%18, %17 : i64, f32)
^bb5:  // pred: ^bb3
  %19 = llvm.getelementptr inbounds %arg2[%5] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %8, %19 {alignment = 4 : i64} : f32, !llvm.ptr
  %20 = llvm.add %5, %1 overflow<nsw> : i64
  llvm.br ^bb1(%20 : i64) {loop_annotation = #llvm.loop_annotation<unrollAndJam = <count = 4 : i32>>}
^bb6:  // pred: ^bb1
  llvm.return
}
llvm.func @k(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64) attributes {passthrough = ["nounwind"]} {
  %0 = llvm.mlir.constant(1 : i64) : i64
  %1 = llvm.mlir.constant(0 : i64) : i64
  %2 = llvm.load %arg0 {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
  %3 = llvm.getelementptr inbounds %arg0[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %4 = llvm.load %3 {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
  %5 = llvm.getelementptr inbounds %arg0[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %6 = llvm.load %5 {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
  llvm.br ^bb1(%arg1 : i64)
^bb1(%7: i64):  // 2 preds: ^bb0, ^bb2
  %8 = llvm.icmp "slt" %7, %arg2 : i64
  llvm.cond_br %8, ^bb2, ^bb3
^bb2:  // pred: ^bb1
  llvm.call @k.body(%2, %4, %6, %7, %1) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> ()
  %9 = llvm.add %7, %0 overflow<nsw> : i64
  llvm.br ^bb1(%9 : i64)
^bb3:  // pred: ^bb1
  llvm.return
}
