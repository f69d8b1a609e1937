// A quotient towards minus infinity is the one towards zero, corrected.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr, i64) -> i32
  %c7 = arith.constant 7 : i32
  %r = arith.floordivsi %x, %c7 : i32
  "xla_gpu.store"(%r, %out, %c0) {alignment = 64 : i64} : (i32, !llvm.ptr, i64) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 7 : i32} : () -> i32
  %4 = "arith.constant"() {value = 0 : i32} : () -> i32
  %5 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr, i64) -> i32
  %6 = "arith.divsi"(%5, %3) : (i32, i32) -> i32
  %7 = "arith.remsi"(%5, %3) : (i32, i32) -> i32
  %8 = "arith.cmpi"(%7, %4) {predicate = 1 : i64} : (i32, i32) -> i1
  %9 = "arith.xori"(%5, %3) : (i32, i32) -> i32
  %10 = "arith.cmpi"(%9, %4) {predicate = 2 : i64} : (i32, i32) -> i1
  %11 = "arith.andi"(%8, %10) : (i1, i1) -> i1
  %12 = "arith.extui"(%11) : (i1) -> i32
  %13 = "arith.subi"(%6, %12) : (i32, i32) -> i32
  "xla_gpu.store"(%13, %1, %2) {alignment = 64 : i64} : (i32, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
