// A constraint that is linear in the variable of a loop is one of its bounds, here 7 or 128 turns by the block, and
// needs no test inside.
// target: cpu
func.func @k(%a: !llvm.ptr {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 1>} {
  %b = gpu.block_id x
  "xla_gpu.loop"(%b) ({
  ^bb0(%i: index, %at: index):
    %x = "xla_gpu.load"(%a, %at) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
    "xla_gpu.store"(%x, %out, %at) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
    "xla_gpu.yield"() : () -> ()
  }) {map = "(bl)[s0] -> (bl * 128 + s0), domain: bl in [0, 7], s0 in [0, 127], bl * 128 + s0 in [0, 902]"} : (index) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : index} : () -> index
  %3 = "arith.constant"() {value = 1 : index} : () -> index
  %4 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %5 = "xla_gpu.apply_indexing"(%4) {map = "(d0) -> (min(128, d0 * -128 + 903)), domain: d0 in [0, 7]"} : (index) -> index
  "scf.for"(%2, %5, %3) ({
  ^bb0(%6: index):
    %7 = "xla_gpu.apply_indexing"(%4, %6) {map = "(bl)[s0] -> (bl * 128 + s0), domain: bl in [0, 7], s0 in [0, 127]"} : (index, index) -> index
    %8 = "xla_gpu.load"(%0, %7) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
    "xla_gpu.store"(%8, %1, %7) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
    "scf.yield"() : () -> ()
  }) : (index, index, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 8, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
