// What is narrower than a word is extended for the exchange.
// target: sm_90
func.func @k(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 32>} {
  %c0 = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr<1>, i64) -> f16
  %r = "xla_gpu.shuffle_down"(%x) {distance = 4 : i64, lanes = 32 : i64, site = "k"} : (f16) -> f16
  "xla_gpu.store"(%r, %out, %c0) {alignment = 64 : i64} : (f16, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr<1>, i64) -> i16
  %4 = "arith.extui"(%3) : (i16) -> i32
  %5 = "xla_gpu.shuffle_down"(%4) {distance = 4 : i64, lanes = 32 : i64, site = "k"} : (i32) -> i32
  %6 = "arith.trunci"(%5) : (i32) -> i16
  "xla_gpu.store"(%6, %1, %2) {alignment = 64 : i64} : (i16, !llvm.ptr<1>, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 32>, fusebox.shared_bytes = 49152 : i64} : () -> ()
