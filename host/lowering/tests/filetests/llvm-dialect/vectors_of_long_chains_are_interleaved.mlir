// The operations of a math function wait for each other: the jump that closes a loop over large arrays asks LLVM to compute four vectors in one iteration.
// target: cpu
func.func @k(%a: !llvm.ptr {fusebox.bytes = 262144 : i64, fusebox.read_only}, %out: !llvm.ptr {fusebox.bytes = 262144 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %elements = arith.constant 65536 : i64
  "scf.for"(%c0, %elements, %c1) ({
  ^bb0(%n: i64):
    %x = "xla_gpu.load"(%a, %n) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    %y = func.call @fusebox_tanh_f32(%x) : (f32) -> f32
    "xla_gpu.store"(%y, %out, %n) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    scf.yield
  }) : (i64, i64, i64) -> ()
  func.return
}
func.func private @fusebox_tanh_f32(%x: f32) -> f32 {
  func.return %x : f32
}

// -----
llvm.func @k.body(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64, %arg3: i64) attributes {passthrough = ["alwaysinline", "nounwind"]} {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %2 = llvm.mlir.constant(65536 : i64) : i64
  llvm.br ^bb1(%0 : i64)
^bb1(%3: i64):  // 2 preds: ^bb0, ^bb2
  %4 = llvm.icmp "slt" %3, %2 : i64
  llvm.cond_br %4, ^bb2, ^bb3
^bb2:  // pred: ^bb1
  %5 = llvm.getelementptr inbounds %arg0[%3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %6 = llvm.load %5 {alignment = 4 : i64} : !llvm.ptr -> f32
  %7 = llvm.call @fusebox_tanh_f32(%6) : (f32) -> f32
  %8 = llvm.getelementptr inbounds %arg1[%3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %7, %8 {alignment = 4 : i64} : f32, !llvm.ptr
  %9 = llvm.add %3, %1 overflow<nsw> : i64
  llvm.br ^bb1(%9 : i64) {loop_annotation = #llvm.loop_annotation<interleave = <count = 4 : i32>>}
^bb3:  // pred: ^bb1
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
llvm.func @fusebox_tanh_f32(f32) -> f32 attributes {passthrough = [], sym_visibility = "private"}
llvm.func @fusebox_tanh_f32(%arg0: f32) -> f32 attributes {passthrough = ["alwaysinline", "nounwind"]} {
  %0 = llvm.mlir.constant(1.000000e+01 : f32) : f32
  %1 = llvm.mlir.constant(2.885390e+00 : f32) : f32
  %2 = llvm.mlir.constant(0x4B400000 : f32) : f32
  %3 = llvm.mlir.constant(-0.346573591 : f32) : f32
  %4 = llvm.mlir.constant(23 : i32) : i32
  %5 = llvm.mlir.constant(1065353216 : i32) : i32
  %6 = llvm.mlir.constant(1.000000e+00 : f32) : f32
  %7 = llvm.mlir.constant(2.000000e+00 : f32) : f32
  %8 = llvm.mlir.constant(0.0886781886 : f32) : f32
  %9 = llvm.mlir.constant(0.267815709 : f32) : f32
  %10 = llvm.mlir.constant(0.666681706 : f32) : f32
  %11 = llvm.mlir.constant(1.33332181 : f32) : f32
  %12 = llvm.mlir.constant(1.99999988 : f32) : f32
  %13 = llvm.intr.fabs(%arg0) : (f32) -> f32
  %14 = llvm.fcmp "ogt" %13, %0 : f32
  %15 = llvm.select %14, %0, %13 : i1, f32
  %16 = llvm.intr.fma(%15, %1, %2) : (f32, f32, f32) -> f32
  %17 = llvm.fsub %16, %2 : f32
  %18 = llvm.intr.fma(%17, %3, %15) : (f32, f32, f32) -> f32
  %19 = llvm.bitcast %16 : f32 to i32
  %20 = llvm.shl %19, %4 : i32
  %21 = llvm.add %20, %5 : i32
  %22 = llvm.bitcast %21 : i32 to f32
  %23 = llvm.fmul %18, %22 : f32
  %24 = llvm.fsub %22, %6 : f32
  %25 = llvm.intr.fma(%23, %7, %24) : (f32, f32, f32) -> f32
  %26 = llvm.intr.fma(%8, %18, %9) : (f32, f32, f32) -> f32
  %27 = llvm.intr.fma(%26, %18, %10) : (f32, f32, f32) -> f32
  %28 = llvm.intr.fma(%27, %18, %11) : (f32, f32, f32) -> f32
  %29 = llvm.intr.fma(%28, %18, %12) : (f32, f32, f32) -> f32
  %30 = llvm.fmul %23, %18 : f32
  %31 = llvm.intr.fma(%29, %30, %25) : (f32, f32, f32) -> f32
  %32 = llvm.fadd %31, %7 : f32
  %33 = llvm.fdiv %31, %32 : f32
  %34 = llvm.intr.copysign(%33, %arg0) : (f32, f32) -> f32
  llvm.return %34 : f32
}
