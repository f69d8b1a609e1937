// Rounding halves away from zero is no instruction: what is cut off decides.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr, i64) -> f32
  %r = math.round %x : f32
  "xla_gpu.store"(%r, %out, %c0) {alignment = 64 : i64} : (f32, !llvm.ptr, i64) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 0x3F000000 : f32} : () -> f32
  %4 = "arith.constant"() {value = 0x3F800000 : f32} : () -> f32
  %5 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr, i64) -> f32
  %6 = "math.trunc"(%5) : (f32) -> f32
  %7 = "arith.subf"(%5, %6) : (f32, f32) -> f32
  %8 = "math.absf"(%7) : (f32) -> f32
  %9 = "arith.cmpf"(%8, %3) {predicate = 3 : i64} : (f32, f32) -> i1
  %10 = "math.copysign"(%4, %5) : (f32, f32) -> f32
  %11 = "arith.addf"(%6, %10) : (f32, f32) -> f32
  %12 = "arith.select"(%9, %11, %6) : (i1, f32, f32) -> f32
  %13 = "math.copysign"(%12, %5) : (f32, f32) -> f32
  "xla_gpu.store"(%13, %1, %2) {alignment = 64 : i64} : (f32, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
