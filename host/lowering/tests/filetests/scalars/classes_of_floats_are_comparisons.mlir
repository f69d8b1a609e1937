// Whether a float is NaN, infinite or finite is a comparison with itself or of its magnitude.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr, i64) -> f32
  %nan = math.isnan %x : f32
  %inf = math.isinf %x : f32
  %finite = math.isfinite %x : f32
  %either = arith.ori %nan, %inf : i1
  %all = arith.andi %either, %finite : i1
  %r = arith.extui %all : i1 to i8
  "xla_gpu.store"(%r, %out, %c0) {alignment = 64 : i64} : (i8, !llvm.ptr, i64) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 0x7F800000 : f32} : () -> f32
  %4 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr, i64) -> f32
  %5 = "arith.cmpf"(%4, %4) {predicate = 14 : i64} : (f32, f32) -> i1
  %6 = "math.absf"(%4) : (f32) -> f32
  %7 = "arith.cmpf"(%6, %3) {predicate = 1 : i64} : (f32, f32) -> i1
  %8 = "math.absf"(%4) : (f32) -> f32
  %9 = "arith.cmpf"(%8, %3) {predicate = 6 : i64} : (f32, f32) -> i1
  %10 = "arith.ori"(%5, %7) : (i1, i1) -> i1
  %11 = "arith.andi"(%10, %9) : (i1, i1) -> i1
  %12 = "arith.extui"(%11) : (i1) -> i8
  "xla_gpu.store"(%12, %1, %2) {alignment = 64 : i64} : (i8, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
