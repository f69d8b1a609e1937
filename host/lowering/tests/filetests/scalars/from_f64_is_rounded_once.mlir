// From f64 to a narrow float by way of f32: that is rounded to odd, so that rounding twice gives what rounding once
// does.
// target: sm_90
func.func @k(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr<1>, i64) -> f64
  %r = arith.truncf %x : f64 to bf16
  "xla_gpu.store"(%r, %out, %c0) {alignment = 64 : i64} : (bf16, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr<1>, i64) -> f64
  %4 = "arith.truncf"(%3) : (f64) -> f32
  %5 = "arith.extf"(%4) : (f32) -> f64
  %6 = "math.absf"(%5) : (f64) -> f64
  %7 = "math.absf"(%3) : (f64) -> f64
  %8 = "arith.cmpf"(%6, %7) {predicate = 2 : i64} : (f64, f64) -> i1
  %9 = "arith.cmpf"(%5, %3) {predicate = 13 : i64} : (f64, f64) -> i1
  %10 = "arith.bitcast"(%4) : (f32) -> i32
  %11 = "arith.extui"(%8) : (i1) -> i32
  %12 = "arith.subi"(%10, %11) : (i32, i32) -> i32
  %13 = "arith.extui"(%9) : (i1) -> i32
  %14 = "arith.ori"(%12, %13) : (i32, i32) -> i32
  %15 = "arith.bitcast"(%14) : (i32) -> f32
  %16 = "arith.truncf"(%15) : (f32) -> bf16
  %17 = "arith.bitcast"(%16) : (bf16) -> i16
  "xla_gpu.store"(%17, %1, %2) {alignment = 64 : i64} : (i16, !llvm.ptr<1>, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
