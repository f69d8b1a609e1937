// A constraint without variables of the loop is tested once, outside; one that its ranges decide is not tested at all.
// target: sm_90
func.func @k(%a: !llvm.ptr<1> {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr<1> {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %b = gpu.block_id x
  %t = gpu.thread_id x
  "xla_gpu.loop"(%b, %t) ({
  ^bb0(%i: index, %at: index):
    %x = "xla_gpu.load"(%a, %at) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
    "xla_gpu.store"(%x, %out, %at) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
    "xla_gpu.yield"() : () -> ()
  }) {map = "(bl, th)[s0] -> (bl * 128 + th + s0), domain: bl in [0, 7], th in [0, 127], s0 in [0, 3], bl * 128 + th in [0, 899], th + s0 in [0, 130]"} : (index, index) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 899 : index} : () -> index
  %3 = "arith.constant"() {value = 0 : index} : () -> index
  %4 = "arith.constant"() {value = 4 : index} : () -> index
  %5 = "arith.constant"() {value = 1 : index} : () -> index
  %6 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %7 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %8 = "xla_gpu.apply_indexing"(%6, %7) {map = "(d0, d1) -> (d0 * 128 + d1), domain: d0 in [0, 7], d1 in [0, 127]"} : (index, index) -> index
  %9 = "arith.cmpi"(%8, %2) {predicate = 3 : i64} : (index, index) -> i1
  "scf.if"(%9) ({
    "scf.for"(%3, %4, %5) ({
    ^bb0(%10: index):
      %11 = "xla_gpu.apply_indexing"(%6, %7, %10) {map = "(bl, th)[s0] -> (bl * 128 + th + s0), domain: bl in [0, 7], th in [0, 127], s0 in [0, 3]"} : (index, index, index) -> index
      %12 = "xla_gpu.load"(%0, %11) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
      "xla_gpu.store"(%12, %1, %11) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
      "scf.yield"() : () -> ()
    }) : (index, index, index) -> ()
    "scf.yield"() : () -> ()
  }, {
  }) : (i1) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 8, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
