// A loop whose bounds are a constant apart counts from zero: so often does it turn, wherever it begins.
// target: cpu
func.func @k(%a: !llvm.ptr {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 1>} {
  %b = gpu.block_id x
  %c100 = arith.constant 100 : index
  %c1 = arith.constant 1 : index
  %first = arith.muli %b, %c100 : index
  %end = arith.addi %first, %c100 : index
  scf.for %i = %first to %end step %c1 {
    %x = "xla_gpu.load"(%a, %i) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
    "xla_gpu.store"(%x, %out, %i) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
  }
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "arith.index_cast"(%2) : (index) -> i64
  %4 = "arith.constant"() {value = 0 : i64} : () -> i64
  %5 = "arith.constant"() {value = 100 : i64} : () -> i64
  %6 = "arith.constant"() {value = 1 : i64} : () -> i64
  "scf.for"(%4, %5, %6) ({
  ^bb0(%7: i64):
    %8 = "arith.muli"(%3, %5) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
    %9 = "arith.addi"(%8, %7) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
    %10 = "xla_gpu.load"(%0, %9) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    "xla_gpu.store"(%10, %1, %9) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    "scf.yield"() : () -> ()
  }) : (i64, i64, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 8, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
