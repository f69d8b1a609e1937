// A loop with a condition of its own.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %i = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> i32
  %c10 = arith.constant 10 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.while (%now = %x) : (i32) -> i32 {
    %below = arith.cmpi slt, %now, %c10 : i32
    scf.condition(%below) %now : i32
  } do {
  ^bb0(%now: i32):
    %next = arith.addi %now, %c1 : i32
    scf.yield %next : i32
  }
  "xla_gpu.store"(%r, %out, %i) {alignment = 4 : i64} : (i32, !llvm.ptr, i64) -> ()
  func.return
}
// -----
llvm.func @k.body(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64, %arg3: i64) attributes {passthrough = ["alwaysinline", "nounwind"]} {
  %0 = llvm.mlir.constant(1 : i32) : i32
  %1 = llvm.mlir.constant(10 : i32) : i32
  %2 = llvm.load %arg0 {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.br ^bb1(%2 : i32)
^bb1(%3: i32):  // 2 preds: ^bb0, ^bb2
  %4 = llvm.icmp "slt" %3, %1 : i32
  llvm.cond_br %4, ^bb2, ^bb3
^bb2:  // pred: ^bb1
  %5 = llvm.add %3, %0 : i32
  llvm.br ^bb1(%5 : i32)
^bb3:  // pred: ^bb1
  llvm.store %3, %arg1 {alignment = 4 : i64} : i32, !llvm.ptr
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
