// A loop that adds numbers and writes elements of two bytes: the jump that closes it asks LLVM to compute eight vectors in one iteration.
// target: cpu
func.func @k(%a: !llvm.ptr {fusebox.bytes = 1048576 : i64, fusebox.read_only}, %out: !llvm.ptr {fusebox.bytes = 1048576 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %elements = arith.constant 4096 : i64
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 16 : i32
  %sum = "scf.for"(%c0, %elements, %c1, %zero) ({
  ^bb0(%n: i64, %before: f32):
    %x = "xla_gpu.load"(%a, %n) {alignment = 2 : i64} : (!llvm.ptr, i64) -> i16
    %wide = arith.extui %x : i16 to i32
    %bits = arith.shli %wide, %half : i32
    %number = arith.bitcast %bits : i32 to f32
    %y = func.call @fusebox_exp_f32(%number) : (f32) -> f32
    %after = arith.addf %before, %y fastmath<reassoc> : f32
    %result = arith.bitcast %y : f32 to i32
    %upper = arith.shrui %result, %half : i32
    %short = arith.trunci %upper : i32 to i16
    "xla_gpu.store"(%short, %out, %n) {alignment = 2 : i64} : (i16, !llvm.ptr, i64) -> ()
    scf.yield %after : f32
  }) : (i64, i64, i64, f32) -> f32
  "xla_gpu.store"(%sum, %out, %c0) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  func.return
}
func.func private @fusebox_exp_f32(%x: f32) -> f32 {
  func.return %x : f32
}
// -----
llvm.func @k.body(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64, %arg3: i64) attributes {passthrough = ["alwaysinline", "nounwind"]} {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %2 = llvm.mlir.constant(4096 : i64) : i64
  %3 = llvm.mlir.constant(0.000000e+00 : f32) : f32
  %4 = llvm.mlir.constant(16 : i32) : i32
  llvm.br ^bb1(%0, %3 : i64, f32)
^bb1(%5: i64, %6: f32):  // 2 preds: ^bb0, ^bb2
  %7 = llvm.icmp "slt" %5, %2 : i64
  llvm.cond_br %7, ^bb2, ^bb3
^bb2:  // pred: ^bb1
  %8 = llvm.getelementptr inbounds %arg0[%5] : (!llvm.ptr, i64) -> !llvm.ptr, i16
  %9 = llvm.load %8 {alignment = 2 : i64} : !llvm.ptr -> i16
  %10 = llvm.zext %9 : i16 to i32
  %11 = llvm.shl %10, %4 : i32
  %12 = llvm.bitcast %11 : i32 to f32
  %13 = llvm.call @fusebox_exp_f32(%12) : (f32) -> f32
  %14 = llvm.fadd %6, %13 {fastmathFlags = #llvm.fastmath<reassoc>} : f32
  %15 = llvm.bitcast %13 : f32 to i32
  %16 = llvm.lshr %15, %4 : i32
  %17 = llvm.trunc %16 : i32 to i16
  %18 = llvm.getelementptr inbounds %arg1[%5] : (!llvm.ptr, i64) -> !llvm.ptr, i16
  llvm.store %17, %18 {alignment = 2 : i64} : i16, !llvm.ptr
  %19 = llvm.add %5, %1 overflow<nsw> : i64
  llvm.br ^bb1(%19, %14 : i64, f32) {loop_annotation = #llvm.loop_annotation<interleave = <count = 8 : i32>>}
^bb3:  // pred: ^bb1
  llvm.store %6, %arg1 {alignment = 4 : i64} : f32, !llvm.ptr
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
llvm.func @fusebox_exp_f32(f32) -> f32 attributes {passthrough = [], sym_visibility = "private"}
llvm.func @fusebox_exp_f32(%arg0: f32) -> f32 attributes {passthrough = ["alwaysinline", "nounwind"]} {
  %0 = llvm.mlir.constant(-87.3365402 : f32) : f32
  %1 = llvm.mlir.constant(8.900000e+01 : f32) : f32
  %2 = llvm.mlir.constant(0x4B400000 : f32) : f32
  %3 = llvm.mlir.constant(1.44269502 : f32) : f32
  %4 = llvm.mlir.constant(-0.693359375 : f32) : f32
  %5 = llvm.mlir.constant(2.12194442E-4 : f32) : f32
  %6 = llvm.mlir.constant(0.00139216532 : f32) : f32
  %7 = llvm.mlir.constant(8.370030e-03 : f32) : f32
  %8 = llvm.mlir.constant(0.0416665822 : f32) : f32
  %9 = llvm.mlir.constant(0.166665092 : f32) : f32
  %10 = llvm.mlir.constant(5.000000e-01 : f32) : f32
  %11 = llvm.mlir.constant(1.000000e+00 : f32) : f32
  %12 = llvm.mlir.constant(23 : i32) : i32
  %13 = llvm.mlir.constant(2139095040 : i32) : i32
  %14 = llvm.mlir.constant(0.000000e+00 : f32) : f32
  %15 = llvm.fcmp "uge" %arg0, %0 : f32
  %16 = llvm.fcmp "ogt" %arg0, %1 : f32
  %17 = llvm.select %16, %1, %arg0 : i1, f32
  %18 = llvm.intr.fma(%17, %3, %2) : (f32, f32, f32) -> f32
  %19 = llvm.fsub %18, %2 : f32
  %20 = llvm.intr.fma(%19, %4, %17) : (f32, f32, f32) -> f32
  %21 = llvm.intr.fma(%19, %5, %20) : (f32, f32, f32) -> f32
  %22 = llvm.intr.fma(%6, %21, %7) : (f32, f32, f32) -> f32
  %23 = llvm.intr.fma(%22, %21, %8) : (f32, f32, f32) -> f32
  %24 = llvm.intr.fma(%23, %21, %9) : (f32, f32, f32) -> f32
  %25 = llvm.intr.fma(%24, %21, %10) : (f32, f32, f32) -> f32
  %26 = llvm.intr.fma(%25, %21, %11) : (f32, f32, f32) -> f32
  %27 = llvm.intr.fma(%26, %21, %11) : (f32, f32, f32) -> f32
  %28 = llvm.bitcast %27 : f32 to i32
  %29 = llvm.bitcast %18 : f32 to i32
  %30 = llvm.shl %29, %12 : i32
  %31 = llvm.add %28, %30 : i32
  %32 = llvm.icmp "sgt" %31, %13 : i32
  %33 = llvm.select %32, %13, %31 : i1, i32
  %34 = llvm.bitcast %33 : i32 to f32
  %35 = llvm.intr.fma(%17, %14, %34) : (f32, f32, f32) -> f32
  %36 = llvm.select %15, %35, %14 : i1, f32
  llvm.return %36 : f32
}
