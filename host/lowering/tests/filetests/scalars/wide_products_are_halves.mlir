// Both halves of a product are taken from one of twice the width.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr, i64) -> i32
  %low, %high = arith.mulsi_extended %x, %x : i32
  %r = arith.xori %low, %high : i32
  "xla_gpu.store"(%r, %out, %c0) {alignment = 64 : i64} : (i32, !llvm.ptr, i64) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 32 : i64} : () -> i64
  %4 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr, i64) -> i32
  %5 = "arith.extsi"(%4) : (i32) -> i64
  %6 = "arith.extsi"(%4) : (i32) -> i64
  %7 = "arith.muli"(%5, %6) : (i64, i64) -> i64
  %8 = "arith.shrui"(%7, %3) : (i64, i64) -> i64
  %9 = "arith.trunci"(%7) : (i64) -> i32
  %10 = "arith.trunci"(%8) : (i64) -> i32
  %11 = "arith.xori"(%9, %10) : (i32, i32) -> i32
  "xla_gpu.store"(%11, %1, %2) {alignment = 64 : i64} : (i32, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
