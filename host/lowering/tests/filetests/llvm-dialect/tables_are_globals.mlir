// A thread's own memory is an alloca, a constant table a global.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %own = "xla_gpu.stack_memory"() {bytes = 32 : i64, alignment = 64 : i64} : () -> !llvm.ptr
  %table = "xla_gpu.constant_memory"() {value = dense<[3, 1, 4, 1]> : tensor<4xi32>} : () -> !llvm.ptr
  %i = arith.constant 0 : i64
  %n = "xla_gpu.load"(%table, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> i32
  "xla_gpu.store"(%n, %own, %i) {alignment = 4 : i64} : (i32, !llvm.ptr, i64) -> ()
  %m = "xla_gpu.load"(%own, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> i32
  "xla_gpu.store"(%m, %out, %i) {alignment = 4 : i64} : (i32, !llvm.ptr, i64) -> ()
  func.return
}
// -----
llvm.func @k.body(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64, %arg3: i64) attributes {passthrough = ["alwaysinline", "nounwind"]} {
  %0 = llvm.mlir.addressof @k.constant0 : !llvm.ptr
  %1 = llvm.mlir.constant(1 : i64) : i64
  %2 = llvm.alloca %1 x !llvm.array<32 x i8> {alignment = 64 : i64} : (i64) -> !llvm.ptr
  %3 = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.store %3, %2 {alignment = 4 : i64} : i32, !llvm.ptr
  %4 = llvm.load %2 {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.store %4, %arg1 {alignment = 4 : i64} : i32, !llvm.ptr
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
llvm.mlir.global private unnamed_addr constant @k.constant0("\03\00\00\00\01\00\00\00\04\00\00\00\01\00\00\00") {addr_space = 0 : i32, alignment = 64 : i64}
