// What may be negative is shifted where the divisor is a power of two. Else multiples of the divisor are added first, or, if
// it may be too far below zero for that, the quotient towards zero is corrected.
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
  %any = "xla_gpu.load"(%a, %b) {alignment = 64 : i64} : (!llvm.ptr, index) -> i64
  %far = arith.index_cast %any : i64 to index
  %far_third = arith.floordivsi %far, %c3 : index
  "xla_gpu.store"(%x, %out, %far_third) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
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
  %7 = "arith.constant"() {value = 9 : i64} : () -> i64
  %8 = "arith.constant"() {value = 3 : i32} : () -> i32
  %9 = "arith.constant"() {value = 3 : i64} : () -> i64
  %10 = "arith.constant"() {value = 0 : i64} : () -> i64
  %11 = "arith.subi"(%3, %5) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %12 = "arith.shrsi"(%11, %6) : (i64, i64) -> i64
  %13 = "xla_gpu.load"(%0, %12) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
  %14 = "arith.addi"(%11, %7) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %15 = "arith.trunci"(%14) : (i64) -> i32
  %16 = "arith.divui"(%15, %8) : (i32, i32) -> i32
  %17 = "arith.extui"(%16) {nonNeg} : (i32) -> i64
  %18 = "arith.subi"(%17, %9) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  "xla_gpu.store"(%13, %1, %18) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  %19 = "xla_gpu.load"(%0, %3) {alignment = 8 : i64} : (!llvm.ptr, i64) -> i64
  %20 = "arith.remsi"(%19, %9) : (i64, i64) -> i64
  %21 = "arith.cmpi"(%20, %10) {predicate = 2 : i64} : (i64, i64) -> i1
  %22 = "arith.divsi"(%19, %9) : (i64, i64) -> i64
  %23 = "arith.extsi"(%21) : (i1) -> i64
  %24 = "arith.addi"(%22, %23) : (i64, i64) -> i64
  "xla_gpu.store"(%13, %1, %24) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 8, 8>, fusebox.shared_bytes = 49152 : i64} : () -> ()
