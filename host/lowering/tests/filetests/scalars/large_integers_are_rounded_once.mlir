// An integer of 64 bits has more than an f64 holds: the bits below decide about rounding alone, and are joined in one.
// target: sm_90
func.func @k(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr<1>, i64) -> i64
  %r = arith.sitofp %x : i64 to f16
  "xla_gpu.store"(%r, %out, %c0) {alignment = 64 : i64} : (f16, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 4095 : i64} : () -> i64
  %4 = "arith.constant"() {value = 11 : i64} : () -> i64
  %5 = "arith.constant"() {value = -4096 : i64} : () -> i64
  %6 = "arith.constant"() {value = 4503599627370496 : i64} : () -> i64
  %7 = "arith.constant"() {value = 9007199254740992 : i64} : () -> i64
  %8 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr<1>, i64) -> i64
  %9 = "arith.andi"(%8, %3) : (i64, i64) -> i64
  %10 = "arith.cmpi"(%9, %2) {predicate = 1 : i64} : (i64, i64) -> i1
  %11 = "arith.extui"(%10) : (i1) -> i64
  %12 = "arith.shli"(%11, %4) : (i64, i64) -> i64
  %13 = "arith.andi"(%8, %5) : (i64, i64) -> i64
  %14 = "arith.ori"(%13, %12) : (i64, i64) -> i64
  %15 = "arith.addi"(%8, %6) : (i64, i64) -> i64
  %16 = "arith.cmpi"(%15, %7) {predicate = 6 : i64} : (i64, i64) -> i1
  %17 = "arith.select"(%16, %8, %14) : (i1, i64, i64) -> i64
  %18 = "arith.sitofp"(%17) : (i64) -> f64
  %19 = "arith.truncf"(%18) : (f64) -> f32
  %20 = "arith.extf"(%19) : (f32) -> f64
  %21 = "math.absf"(%20) : (f64) -> f64
  %22 = "math.absf"(%18) : (f64) -> f64
  %23 = "arith.cmpf"(%21, %22) {predicate = 2 : i64} : (f64, f64) -> i1
  %24 = "arith.cmpf"(%20, %18) {predicate = 13 : i64} : (f64, f64) -> i1
  %25 = "arith.bitcast"(%19) : (f32) -> i32
  %26 = "arith.extui"(%23) : (i1) -> i32
  %27 = "arith.subi"(%25, %26) : (i32, i32) -> i32
  %28 = "arith.extui"(%24) : (i1) -> i32
  %29 = "arith.ori"(%27, %28) : (i32, i32) -> i32
  %30 = "arith.bitcast"(%29) : (i32) -> f32
  %31 = "arith.truncf"(%30) : (f32) -> f16
  %32 = "arith.bitcast"(%31) : (f16) -> i16
  "xla_gpu.store"(%32, %1, %2) {alignment = 64 : i64} : (i16, !llvm.ptr<1>, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
