// A report of an index that is inside in any case is gone; any other is made where the index is outside.
// target: simt
func.func @k(%a: !llvm.ptr {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 128>} {
  %t = gpu.thread_id x
  %c100 = arith.constant 100 : index
  "xla_gpu.report_index"(%a, %t) {dimension = 0 : i64, size = 128 : i64, site = "inside"} : (!llvm.ptr, index) -> ()
  "xla_gpu.report_index"(%a, %t) {dimension = 0 : i64, size = 100 : i64, site = "outside"} : (!llvm.ptr, index) -> ()
  %x = "xla_gpu.load"(%a, %t) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
  "xla_gpu.store"(%x, %out, %t) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "arith.index_cast"(%2) : (index) -> i64
  %4 = "arith.constant"() {value = 100 : i64} : () -> i64
  %5 = "arith.cmpi"(%3, %4) {predicate = 9 : i64} : (i64, i64) -> i1
  "scf.if"(%5) ({
    "xla_gpu.report_index"(%0, %3) {dimension = 0 : i64, site = "outside", size = 100 : i64} : (!llvm.ptr, i64) -> ()
    "scf.yield"() : () -> ()
  }, {
  }) : (i1) -> ()
  %6 = "xla_gpu.load"(%0, %3) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
  "xla_gpu.store"(%6, %1, %3) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 1, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
