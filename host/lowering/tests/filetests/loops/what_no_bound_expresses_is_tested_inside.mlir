// A remainder of the variable is no bound: it is tested in every turn.
// target: cpu
func.func @k(%a: !llvm.ptr {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 1>} {
  %b = gpu.block_id x
  "xla_gpu.loop"(%b) ({
  ^bb0(%i: index, %at: index):
    %x = "xla_gpu.load"(%a, %at) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
    "xla_gpu.store"(%x, %out, %at) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
    "xla_gpu.yield"() : () -> ()
  }) {map = "(bl)[s0] -> (bl * 128 + s0), domain: bl in [0, 7], s0 in [0, 127], s0 mod 3 in [1, 1]"} : (index) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : index} : () -> index
  %3 = "arith.constant"() {value = 128 : index} : () -> index
  %4 = "arith.constant"() {value = 1 : index} : () -> index
  %5 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  "scf.for"(%2, %3, %4) ({
  ^bb0(%6: index):
    %7 = "xla_gpu.apply_indexing"(%6) {map = "(d0) -> (d0 mod 3), domain: d0 in [0, 127]"} : (index) -> index
    %8 = "arith.cmpi"(%7, %4) {predicate = 0 : i64} : (index, index) -> i1
    "scf.if"(%8) ({
      %9 = "xla_gpu.apply_indexing"(%5, %6) {map = "(bl)[s0] -> (bl * 128 + s0), domain: bl in [0, 7], s0 in [0, 127]"} : (index, index) -> index
      %10 = "xla_gpu.load"(%0, %9) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
      "xla_gpu.store"(%10, %1, %9) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
      "scf.yield"() : () -> ()
    }, {
    }) : (i1) -> ()
    "scf.yield"() : () -> ()
  }) : (index, index, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 8, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
