// MLIR has no conversion of atomic updates: they are written in the dialect llvm, as one operation or a loop that exchanges.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 1>} {
  %i = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
  %n = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> i32
  "xla_gpu.atomic_combine"(%n, %out, %i) {alignment = 4 : i64, threads = "", by = "arith.addi", element = i32} : (i32, !llvm.ptr, i64) -> ()
  "xla_gpu.atomic_rmw"(%out, %i) ({
  ^bb0(%bits: i32):
    %old = arith.bitcast %bits : i32 to f32
    %new = arith.maximumf %old, %x : f32
    %newbits = arith.bitcast %new : f32 to i32
    "xla_gpu.yield"(%newbits) : (i32) -> ()
  }) {alignment = 4 : i64, threads = ""} : (!llvm.ptr, i64) -> ()
  func.return
}

// -----
llvm.func @k.body(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64, %arg3: i64) attributes {passthrough = ["alwaysinline", "nounwind"]} {
  %0 = llvm.mlir.constant(true) : i1
  %1 = llvm.mlir.constant(false) : i1
  %2 = llvm.load %arg0 {alignment = 4 : i64} : !llvm.ptr -> f32
  %3 = llvm.load %arg0 {alignment = 4 : i64} : !llvm.ptr -> i32
  %4 = llvm.atomicrmw add %arg1, %3 monotonic : !llvm.ptr, i32
  %5 = llvm.load %arg1 atomic unordered {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.br ^bb1(%5 : i32)
^bb1(%6: i32):  // 2 preds: ^bb0, ^bb5
  %7 = llvm.bitcast %6 : i32 to f32
  %8 = llvm.intr.maximum(%7, %2) : (f32, f32) -> f32
  %9 = llvm.bitcast %8 : f32 to i32
  %10 = llvm.icmp "eq" %9, %6 : i32
  llvm.cond_br %10, ^bb2, ^bb3
^bb2:  // pred: ^bb1
  llvm.br ^bb4(%1, %6 : i1, i32)
^bb3:  // pred: ^bb1
  %11 = llvm.cmpxchg %arg1, %6, %9 monotonic monotonic : !llvm.ptr, i32
  %12 = llvm.extractvalue %11[0] : !llvm.struct<(i32, i1)> 
  %13 = llvm.extractvalue %11[1] : !llvm.struct<(i32, i1)> 
  %14 = llvm.xor %13, %0 : i1
  llvm.br ^bb4(%14, %12 : i1, i32)
^bb4(%15: i1, %16: i32):  // 2 preds: ^bb2, ^bb3
  llvm.br ^bb5
^bb5:  // pred: ^bb4
  llvm.cond_br %15, ^bb1(%16 : i32), ^bb6
^bb6:  // pred: ^bb5
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
