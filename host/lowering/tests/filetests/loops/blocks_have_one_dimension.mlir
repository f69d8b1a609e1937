// Blocks and threads are counted in x; the other ids are zero.
// target: sm_90
func.func @k(%a: !llvm.ptr<1> {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr<1> {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 128>} {
  %t = gpu.thread_id x
  %y = gpu.thread_id y
  %z = gpu.block_id z
  %yz = arith.addi %y, %z : index
  %at = arith.addi %t, %yz : index
    %x = "xla_gpu.load"(%a, %at) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
    "xla_gpu.store"(%x, %out, %at) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 0 : index} : () -> index
  %3 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %4 = "arith.addi"(%2, %2) : (index, index) -> index
  %5 = "arith.addi"(%3, %4) : (index, index) -> index
  %6 = "xla_gpu.load"(%0, %5) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
  "xla_gpu.store"(%6, %1, %5) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 1, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
