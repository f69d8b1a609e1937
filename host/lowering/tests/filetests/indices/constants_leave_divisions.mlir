// An index that may be negative for a constant is divided without it, as one that is not; what it makes of the
// quotient stands at the access.
// target: cpu
func.func @k(%a: !llvm.ptr {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 1>} {
  %b = gpu.block_id x
  %t = gpu.thread_id x
  %c5 = arith.constant 5 : index
  %c3 = arith.constant 3 : index
  %i = arith.subi %b, %c5 : index
  %third = arith.floordivsi %i, %c3 : index
  %x = "xla_gpu.load"(%a, %third) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
  "xla_gpu.store"(%x, %out, %b) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
  func.return
}

// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "arith.index_cast"(%2) : (index) -> i64
  %4 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %5 = "arith.index_cast"(%4) : (index) -> i64
  %6 = "arith.constant"() {value = 1 : i64} : () -> i64
  %7 = "arith.constant"() {value = 3 : i32} : () -> i32
  %8 = "arith.addi"(%3, %6) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %9 = "arith.trunci"(%8) : (i64) -> i32
  %10 = "arith.divui"(%9, %7) : (i32, i32) -> i32
  %11 = "arith.extui"(%10) {nonNeg} : (i32) -> i64
  %12 = "xla_gpu.load"(%0, %11) {alignment = 4 : i64, offset = -2 : i64} : (!llvm.ptr, i64) -> f32
  "xla_gpu.store"(%12, %1, %3) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 8, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
