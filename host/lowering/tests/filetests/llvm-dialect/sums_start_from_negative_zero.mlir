// MLIR would add up lanes from a positive zero, and round vector.fma twice: the start and the fused operation are explicit.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %i = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 16 : i64} : (!llvm.ptr, i64) -> vector<4xf32>
  %one = arith.constant dense<1.0> : vector<4xf32>
  %first = vector.extract %x[0] : f32 from vector<4xf32>
  %all = vector.broadcast %first : f32 to vector<4xf32>
  %fused = vector.fma %x, %all, %one : vector<4xf32>
  %mixed = vector.shuffle %fused, %x [0, 4, 1, 5] : vector<4xf32>, vector<4xf32>
  %put = vector.insert %first, %mixed [3] : f32 into vector<4xf32>
  %sum = vector.reduction <add>, %put fastmath<reassoc> : vector<4xf32> into f32
  "xla_gpu.store"(%sum, %out, %i) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  func.return
}
// -----
llvm.func @k.body(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64, %arg3: i64) attributes {passthrough = ["alwaysinline", "nounwind"]} {
  %0 = llvm.mlir.constant(-0.000000e+00 : f32) : f32
  %1 = llvm.mlir.constant(dense<1.000000e+00> : vector<4xf32>) : vector<4xf32>
  %2 = llvm.load %arg0 {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
  %3 = llvm.mlir.constant(0 : i64) : i64
  %4 = llvm.extractelement %2[%3 : i64] : vector<4xf32>
  %5 = llvm.mlir.poison : vector<4xf32>
  %6 = llvm.mlir.constant(0 : i32) : i32
  %7 = llvm.insertelement %4, %5[%6 : i32] : vector<4xf32>
  %8 = llvm.shufflevector %7, %5 [0, 0, 0, 0] : vector<4xf32> 
  %9 = llvm.intr.fma(%2, %8, %1) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %10 = llvm.shufflevector %9, %2 [0, 4, 1, 5] : vector<4xf32> 
  %11 = llvm.mlir.constant(3 : i64) : i64
  %12 = llvm.insertelement %4, %10[%11 : i64] : vector<4xf32>
  %13 = "llvm.intr.vector.reduce.fadd"(%0, %12) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<4xf32>) -> f32
  llvm.store %13, %arg1 {alignment = 4 : i64} : f32, !llvm.ptr
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
