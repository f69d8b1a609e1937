// What may be beyond 32 bits, or is so on the way, is computed in 64.
// target: sm_90
func.func @k(%a: !llvm.ptr<1> {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr<1> {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 1024, 128>} {
  %b = gpu.block_id x
  %t = gpu.thread_id x
  %c = arith.constant 16777216 : index
  %base = arith.muli %b, %c : index
  %i = arith.addi %base, %t : index
  %x = "xla_gpu.load"(%a, %i) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
  "xla_gpu.store"(%x, %out, %i) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "arith.index_cast"(%2) : (index) -> i32
  %4 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %5 = "arith.index_cast"(%4) : (index) -> i32
  %6 = "arith.constant"() {value = 16777216 : i64} : () -> i64
  %7 = "arith.extui"(%3) {nonNeg} : (i32) -> i64
  %8 = "arith.muli"(%7, %6) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %9 = "arith.extui"(%5) {nonNeg} : (i32) -> i64
  %10 = "arith.addi"(%8, %9) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %11 = "xla_gpu.load"(%0, %10) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> f32
  "xla_gpu.store"(%11, %1, %10) {alignment = 4 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 1024, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
