// The constant beside what varies stands at the access, so that neighbours share the rest.
// target: cpu
func.func @k(%a: !llvm.ptr {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 1>} {
  %b = gpu.block_id x
  %t = gpu.thread_id x
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %i = arith.muli %b, %c2 : index
  %next = arith.addi %i, %c1 : index
  %x = "xla_gpu.load"(%a, %i) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
  %y = "xla_gpu.load"(%a, %next) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
  %s = arith.addf %x, %y : f32
  "xla_gpu.store"(%s, %out, %next) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "arith.index_cast"(%2) : (index) -> i64
  %4 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %5 = "arith.index_cast"(%4) : (index) -> i64
  %6 = "arith.constant"() {value = 2 : i64} : () -> i64
  %7 = "arith.muli"(%3, %6) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %8 = "xla_gpu.load"(%0, %7) {alignment = 8 : i64} : (!llvm.ptr, i64) -> f32
  %9 = "xla_gpu.load"(%0, %7) {alignment = 4 : i64, offset = 1 : i64} : (!llvm.ptr, i64) -> f32
  %10 = "arith.addf"(%8, %9) : (f32, f32) -> f32
  "xla_gpu.store"(%10, %1, %7) {alignment = 4 : i64, offset = 1 : i64} : (f32, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 8, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
