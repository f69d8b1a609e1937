// The wish for a loop is on the jump that closes it. A short loop that only copies wants whole vectors.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 1>} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c9 = arith.constant 9 : i64
  %zero = arith.constant 0.0 : f32
  %sum = "scf.for"(%c0, %c9, %c1, %zero) ({
  ^bb0(%n: i64, %now: f32):
    %x = "xla_gpu.load"(%a, %n) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    %next = arith.addf %now, %x fastmath<reassoc> : f32
    scf.yield %next : f32
  }) {fusebox.unroll = "never"} : (i64, i64, i64, f32) -> f32
  "scf.for"(%c0, %c9, %c1) ({
  ^bb0(%n: i64):
    "xla_gpu.store"(%sum, %out, %n) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    scf.yield
  }) : (i64, i64, i64) -> ()
  func.return
}

// -----
llvm.func @k.body(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64, %arg3: i64) attributes {passthrough = ["alwaysinline", "nounwind"]} {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %2 = llvm.mlir.constant(9 : i64) : i64
  %3 = llvm.mlir.constant(0.000000e+00 : f32) : f32
  llvm.br ^bb1(%0, %3 : i64, f32)
^bb1(%4: i64, %5: f32):  // 2 preds: ^bb0, ^bb2
  %6 = llvm.icmp "slt" %4, %2 : i64
  llvm.cond_br %6, ^bb2, ^bb3
^bb2:  // pred: ^bb1
  %7 = llvm.getelementptr inbounds %arg0[%4] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %8 = llvm.load %7 {alignment = 4 : i64} : !llvm.ptr -> f32
  %9 = llvm.fadd %5, %8 {fastmathFlags = #llvm.fastmath<reassoc>} : f32
  %10 = llvm.add %4, %1 overflow<nsw> : i64
  llvm.br ^bb1(%10, %9 : i64, f32) {loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}
^bb3:  // pred: ^bb1
  llvm.br ^bb4(%0 : i64)
^bb4(%11: i64):  // 2 preds: ^bb3, ^bb5
  %12 = llvm.icmp "slt" %11, %2 : i64
  llvm.cond_br %12, ^bb5, ^bb6
^bb5:  // pred: ^bb4
  %13 = llvm.getelementptr inbounds %arg1[%11] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %5, %13 {alignment = 4 : i64} : f32, !llvm.ptr
  %14 = llvm.add %11, %1 overflow<nsw> : i64
  llvm.br ^bb4(%14 : i64) {loop_annotation = #llvm.loop_annotation<vectorize = <disable = false>>}
^bb6:  // pred: ^bb4
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
