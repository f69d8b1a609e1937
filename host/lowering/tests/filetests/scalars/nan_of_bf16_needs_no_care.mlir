// Arithmetic on what was read as bf16 makes only NaNs that survive rounding: the test for them is left out.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr, i64) -> bf16
  %wide = arith.extf %x : bf16 to f32
  %product = arith.mulf %wide, %wide : f32
  %r = arith.truncf %product : f32 to bf16
  "xla_gpu.store"(%r, %out, %c0) {alignment = 64 : i64} : (bf16, !llvm.ptr, i64) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 16 : i32} : () -> i32
  %4 = "arith.constant"() {value = 1 : i32} : () -> i32
  %5 = "arith.constant"() {value = 32767 : i32} : () -> i32
  %6 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr, i64) -> i16
  %7 = "arith.extui"(%6) : (i16) -> i32
  %8 = "arith.shli"(%7, %3) : (i32, i32) -> i32
  %9 = "arith.bitcast"(%8) : (i32) -> f32
  %10 = "arith.mulf"(%9, %9) : (f32, f32) -> f32
  %11 = "arith.bitcast"(%10) : (f32) -> i32
  %12 = "arith.shrui"(%11, %3) : (i32, i32) -> i32
  %13 = "arith.andi"(%12, %4) : (i32, i32) -> i32
  %14 = "arith.addi"(%11, %13) : (i32, i32) -> i32
  %15 = "arith.addi"(%14, %5) : (i32, i32) -> i32
  %16 = "arith.shrui"(%15, %3) : (i32, i32) -> i32
  %17 = "arith.trunci"(%16) : (i32) -> i16
  "xla_gpu.store"(%17, %1, %2) {alignment = 64 : i64} : (i16, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
