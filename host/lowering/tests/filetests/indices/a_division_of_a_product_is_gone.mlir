// Splitting an index in row and column and joining them again costs nothing: what was multiplied is not divided, and
// what was divided comes together.
// target: cpu
func.func @k(%a: !llvm.ptr {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %b = gpu.block_id x
  %t = gpu.thread_id x
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %base = arith.muli %b, %c128 : index
  %i = arith.addi %base, %t : index
  %row = arith.divui %i, %c32 : index
  %column = arith.remui %i, %c32 : index
  %j = "xla_gpu.apply_indexing"(%row, %column) {map = "(d0, d1) -> (d0 * 32 + d1), domain: d0 in [0, 31], d1 in [0, 31]"} : (index, index) -> index
  %x = "xla_gpu.load"(%a, %j) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
  "xla_gpu.store"(%x, %out, %i) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "arith.index_cast"(%2) : (index) -> i64
  %4 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %5 = "arith.index_cast"(%4) : (index) -> i64
  %6 = "arith.constant"() {value = 128 : i64} : () -> i64
  %7 = "arith.muli"(%3, %6) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %8 = "arith.addi"(%7, %5) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %9 = "xla_gpu.load"(%0, %8) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
  "xla_gpu.store"(%9, %1, %8) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 8, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
