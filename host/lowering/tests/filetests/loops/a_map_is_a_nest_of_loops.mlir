// A loop over a map is one scf.for for each range variable, the last innermost; the results of the map are computed in
// the middle.
// target: cpu
func.func @k(%a: !llvm.ptr {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 1>} {
  %b = gpu.block_id x
  "xla_gpu.loop"(%b) ({
  ^bb0(%i: index, %j: index, %at: index):
    %x = "xla_gpu.load"(%a, %at) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
    "xla_gpu.store"(%x, %out, %at) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
    "xla_gpu.yield"() : () -> ()
  }) {map = "(bl)[s0, s1] -> (bl * 128 + s0 * 8 + s1), domain: bl in [0, 7], s0 in [0, 15], s1 in [0, 7]"} : (index) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : index} : () -> index
  %3 = "arith.constant"() {value = 16 : index} : () -> index
  %4 = "arith.constant"() {value = 1 : index} : () -> index
  %5 = "arith.constant"() {value = 8 : index} : () -> index
  %6 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  "scf.for"(%2, %3, %4) ({
  ^bb0(%7: index):
    "scf.for"(%2, %5, %4) ({
    ^bb0(%8: index):
      %9 = "xla_gpu.apply_indexing"(%6, %7, %8) {map = "(bl)[s0, s1] -> (bl * 128 + s0 * 8 + s1), domain: bl in [0, 7], s0 in [0, 15], s1 in [0, 7]"} : (index, index, index) -> index
      %10 = "xla_gpu.load"(%0, %9) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
      "xla_gpu.store"(%10, %1, %9) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
      "scf.yield"() : () -> ()
    }) : (index, index, index) -> ()
    "scf.yield"() : () -> ()
  }) : (index, index, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 8, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
