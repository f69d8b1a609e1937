// Lanes exchange 32 bits at once: an f64 goes in two words.
// target: sm_90
func.func @k(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 32>} {
  %c0 = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr<1>, i64) -> f64
  %r = "xla_gpu.shuffle_down"(%x) {distance = 4 : i64, lanes = 32 : i64, site = "k"} : (f64) -> f64
  "xla_gpu.store"(%r, %out, %c0) {alignment = 64 : i64} : (f64, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 32 : i64} : () -> i64
  %4 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr<1>, i64) -> f64
  %5 = "arith.bitcast"(%4) : (f64) -> i64
  %6 = "arith.shrui"(%5, %3) : (i64, i64) -> i64
  %7 = "arith.trunci"(%5) : (i64) -> i32
  %8 = "xla_gpu.shuffle_down"(%7) {distance = 4 : i64, lanes = 32 : i64, site = "k"} : (i32) -> i32
  %9 = "arith.trunci"(%6) : (i64) -> i32
  %10 = "xla_gpu.shuffle_down"(%9) {distance = 4 : i64, lanes = 32 : i64, site = "k"} : (i32) -> i32
  %11 = "arith.extui"(%8) : (i32) -> i64
  %12 = "arith.extui"(%10) : (i32) -> i64
  %13 = "arith.shli"(%12, %3) : (i64, i64) -> i64
  %14 = "arith.ori"(%13, %11) : (i64, i64) -> i64
  %15 = "arith.bitcast"(%14) : (i64) -> f64
  "xla_gpu.store"(%15, %1, %2) {alignment = 64 : i64} : (f64, !llvm.ptr<1>, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 32>, fusebox.shared_bytes = 49152 : i64} : () -> ()
