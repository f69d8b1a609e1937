// A function of the math library is declared for the kernel and converted once for all kernels. The library's own
// definition replaces one in the text.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %i = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
  %y = func.call @fusebox_rsqrt_f32(%x) : (f32) -> f32
  "xla_gpu.store"(%y, %out, %i) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  func.return
}
func.func private @fusebox_rsqrt_f32(%x: f32) -> f32 {
  func.return %x : f32
}

// -----
llvm.func @k.body(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64, %arg3: i64) attributes {passthrough = ["alwaysinline", "nounwind"]} {
  %0 = llvm.load %arg0 {alignment = 4 : i64} : !llvm.ptr -> f32
  %1 = llvm.call @fusebox_rsqrt_f32(%0) : (f32) -> f32
  llvm.store %1, %arg1 {alignment = 4 : i64} : f32, !llvm.ptr
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
llvm.func @fusebox_rsqrt_f32(f32) -> f32 attributes {passthrough = [], sym_visibility = "private"}
llvm.func @fusebox_rsqrt_f32(%arg0: f32) -> f32 attributes {passthrough = ["alwaysinline", "nounwind"]} {
  %0 = llvm.mlir.constant(1 : i32) : i32
  %1 = llvm.mlir.constant(1597463174 : i32) : i32
  %2 = llvm.mlir.constant(1.000000e+00 : f32) : f32
  %3 = llvm.mlir.constant(3.750000e-01 : f32) : f32
  %4 = llvm.mlir.constant(5.000000e-01 : f32) : f32
  %5 = llvm.mlir.constant(0x7F800000 : f32) : f32
  %6 = llvm.mlir.constant(0.000000e+00 : f32) : f32
  %7 = llvm.mlir.constant(0x7FC00000 : f32) : f32
  %8 = llvm.bitcast %arg0 : f32 to i32
  %9 = llvm.lshr %8, %0 : i32
  %10 = llvm.sub %1, %9 : i32
  %11 = llvm.bitcast %10 : i32 to f32
  %12 = llvm.fmul %arg0, %11 : f32
  %13 = llvm.fneg %12 : f32
  %14 = llvm.intr.fma(%13, %11, %2) : (f32, f32, f32) -> f32
  %15 = llvm.intr.fma(%14, %3, %4) : (f32, f32, f32) -> f32
  %16 = llvm.fmul %14, %15 : f32
  %17 = llvm.intr.fma(%11, %16, %11) : (f32, f32, f32) -> f32
  %18 = llvm.fmul %arg0, %17 : f32
  %19 = llvm.fneg %18 : f32
  %20 = llvm.intr.fma(%arg0, %17, %19) : (f32, f32, f32) -> f32
  %21 = llvm.fneg %20 : f32
  %22 = llvm.fneg %18 : f32
  %23 = llvm.intr.fma(%22, %17, %2) : (f32, f32, f32) -> f32
  %24 = llvm.intr.fma(%21, %17, %23) : (f32, f32, f32) -> f32
  %25 = llvm.intr.fma(%24, %3, %4) : (f32, f32, f32) -> f32
  %26 = llvm.fmul %24, %25 : f32
  %27 = llvm.intr.fma(%17, %26, %17) : (f32, f32, f32) -> f32
  %28 = llvm.intr.copysign(%5, %arg0) : (f32, f32) -> f32
  %29 = llvm.fcmp "oeq" %arg0, %6 : f32
  %30 = llvm.fcmp "ogt" %arg0, %6 : f32
  %31 = llvm.select %30, %6, %7 : i1, f32
  %32 = llvm.select %29, %28, %31 : i1, f32
  %33 = llvm.fcmp "ogt" %arg0, %6 : f32
  %34 = llvm.fcmp "olt" %arg0, %5 : f32
  %35 = llvm.and %33, %34 : i1
  %36 = llvm.select %35, %27, %32 : i1, f32
  llvm.return %36 : f32
}
