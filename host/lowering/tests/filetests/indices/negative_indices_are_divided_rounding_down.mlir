// What may be negative is shifted where the divisor is a power of two, else the quotient towards zero is corrected.
// target: cpu
func.func @k(%a: !llvm.ptr {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 8>} {
  %b = gpu.block_id x
  %t = gpu.thread_id x
  %c4 = arith.constant 4 : index
  %c3 = arith.constant 3 : index
  %i = arith.subi %b, %t : index
  %quarter = arith.floordivsi %i, %c4 : index
  %third = arith.floordivsi %i, %c3 : index
  %x = "xla_gpu.load"(%a, %quarter) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
  "xla_gpu.store"(%x, %out, %third) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
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
  %7 = "arith.constant"() {value = 0 : i64} : () -> i64
  %8 = "arith.constant"() {value = 3 : i64} : () -> i64
  %9 = "arith.subi"(%3, %5) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %10 = "arith.shrsi"(%9, %6) : (i64, i64) -> i64
  %11 = "xla_gpu.load"(%0, %10) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
  %12 = "arith.remsi"(%9, %8) : (i64, i64) -> i64
  %13 = "arith.cmpi"(%12, %7) {predicate = 2 : i64} : (i64, i64) -> i1
  %14 = "arith.divsi"(%9, %8) : (i64, i64) -> i64
  %15 = "arith.extsi"(%13) : (i1) -> i64
  %16 = "arith.addi"(%14, %15) : (i64, i64) -> i64
  "xla_gpu.store"(%11, %1, %16) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 8, 8>, fusebox.shared_bytes = 49152 : i64} : () -> ()
