// The larger of two numbers of bf16 is one: it is cut off and not rounded.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr, i64) -> bf16
  %zero = arith.constant 0.0 : bf16
  %r = arith.maximumf %x, %zero : bf16
  "xla_gpu.store"(%r, %out, %c0) {alignment = 64 : i64} : (bf16, !llvm.ptr, i64) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 0 : i16} : () -> i16
  %4 = "arith.constant"() {value = 16 : i32} : () -> i32
  %5 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr, i64) -> i16
  %6 = "arith.extui"(%5) : (i16) -> i32
  %7 = "arith.shli"(%6, %4) : (i32, i32) -> i32
  %8 = "arith.bitcast"(%7) : (i32) -> f32
  %9 = "arith.extui"(%3) : (i16) -> i32
  %10 = "arith.shli"(%9, %4) : (i32, i32) -> i32
  %11 = "arith.bitcast"(%10) : (i32) -> f32
  %12 = "arith.maximumf"(%8, %11) : (f32, f32) -> f32
  %13 = "arith.bitcast"(%12) : (f32) -> i32
  %14 = "arith.shrui"(%13, %4) : (i32, i32) -> i32
  %15 = "arith.trunci"(%14) : (i32) -> i16
  "xla_gpu.store"(%15, %1, %2) {alignment = 64 : i64} : (i16, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
