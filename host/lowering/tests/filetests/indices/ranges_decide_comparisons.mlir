// Comparisons of indices that their ranges decide are constants, and the branches on them are gone.
// target: sm_90
func.func @k(%a: !llvm.ptr<1> {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr<1> {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %b = gpu.block_id x
  %t = gpu.thread_id x
  %c128 = arith.constant 128 : index
  %c1023 = arith.constant 1023 : index
  %base = arith.muli %b, %c128 : index
  %i = arith.addi %base, %t : index
  %inside = arith.cmpi sle, %i, %c1023 : index
  %first = arith.cmpi slt, %i, %c128 : index
  scf.if %inside {
    %x = "xla_gpu.load"(%a, %i) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
    "xla_gpu.store"(%x, %out, %i) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
  }
  scf.if %first {
    %y = "xla_gpu.load"(%a, %i) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
    "xla_gpu.store"(%y, %out, %i) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
  }
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "arith.index_cast"(%2) : (index) -> i32
  %4 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %5 = "arith.index_cast"(%4) : (index) -> i32
  %6 = "arith.constant"() {value = 128 : i32} : () -> i32
  %7 = "arith.muli"(%3, %6) {overflowFlags = #arith.overflow<nsw>} : (i32, i32) -> i32
  %8 = "arith.addi"(%7, %5) {overflowFlags = #arith.overflow<nsw>} : (i32, i32) -> i32
  %9 = "arith.cmpi"(%8, %6) {predicate = 2 : i64} : (i32, i32) -> i1
  %10 = "arith.extui"(%8) {nonNeg} : (i32) -> i64
  %11 = "xla_gpu.load"(%0, %10) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> f32
  "xla_gpu.store"(%11, %1, %10) {alignment = 4 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  "scf.if"(%9) ({
    %12 = "xla_gpu.load"(%0, %10) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> f32
    "xla_gpu.store"(%12, %1, %10) {alignment = 4 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
    "scf.yield"() : () -> ()
  }, {
  }) : (i1) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 8, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
