// Where 32 bits suffice a GPU computes in them; the address takes 64.
// target: sm_90
func.func @k(%a: !llvm.ptr<1> {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr<1> {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %b = gpu.block_id x
  %t = gpu.thread_id x
  %c128 = arith.constant 128 : index
  %c7 = arith.constant 7 : index
  %base = arith.muli %b, %c128 : index
  %i = arith.addi %base, %t : index
  %j = arith.divui %i, %c7 : index
  %x = "xla_gpu.load"(%a, %j) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
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
  %6 = "arith.constant"() {value = 128 : i32} : () -> i32
  %7 = "arith.constant"() {value = 7 : i32} : () -> i32
  %8 = "arith.muli"(%3, %6) {overflowFlags = #arith.overflow<nsw>} : (i32, i32) -> i32
  %9 = "arith.addi"(%8, %5) {overflowFlags = #arith.overflow<nsw>} : (i32, i32) -> i32
  %10 = "arith.divui"(%9, %7) : (i32, i32) -> i32
  %11 = "arith.extui"(%10) {nonNeg} : (i32) -> i64
  %12 = "xla_gpu.load"(%0, %11) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> f32
  %13 = "arith.extui"(%9) {nonNeg} : (i32) -> i64
  "xla_gpu.store"(%12, %1, %13) {alignment = 4 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 8, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
