// A function of the kernel is internal; MLIR's conversion returns several results as a structure.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %i = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
  %y:2 = "xla_gpu.pure_call"(%x) {callee = @k.both} : (f32) -> (f32, f32)
  %r = arith.addf %y#0, %y#1 : f32
  "xla_gpu.store"(%r, %out, %i) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  func.return
}

func.func private @k.both(%x: f32) -> (f32, f32) {
  %y = arith.negf %x : f32
  func.return %x, %y : f32, f32
}
// -----
llvm.func @k.body(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64, %arg3: i64) attributes {passthrough = ["alwaysinline", "nounwind"]} {
  %0 = llvm.load %arg0 {alignment = 4 : i64} : !llvm.ptr -> f32
  %1 = llvm.call @k.both(%0) : (f32) -> !llvm.struct<(f32, f32)>
  %2 = llvm.extractvalue %1[0] : !llvm.struct<(f32, f32)> 
  %3 = llvm.extractvalue %1[1] : !llvm.struct<(f32, f32)> 
  %4 = llvm.fadd %2, %3 : f32
  llvm.store %4, %arg1 {alignment = 4 : i64} : f32, !llvm.ptr
  llvm.return
}
llvm.func internal @k.both(%arg0: f32) -> !llvm.struct<(f32, f32)> attributes {passthrough = ["noinline", "nounwind", ["memory", "1"]]} {
  %0 = llvm.fneg %arg0 : f32
  %1 = llvm.mlir.poison : !llvm.struct<(f32, f32)>
  %2 = llvm.insertvalue %arg0, %1[0] : !llvm.struct<(f32, f32)> 
  %3 = llvm.insertvalue %0, %2[1] : !llvm.struct<(f32, f32)> 
  llvm.return %3 : !llvm.struct<(f32, f32)>
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
