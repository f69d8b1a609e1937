// A function that is no instruction is one of the math library, whose body stands below.
// target: sm_90
func.func @k(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr<1>, i64) -> f32
  %r = math.rsqrt %x : f32
  "xla_gpu.store"(%r, %out, %c0) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr<1>, i64) -> f32
  %4 = "func.call"(%3) {callee = @fusebox_rsqrt_f32} : (f32) -> f32
  "xla_gpu.store"(%4, %1, %2) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
"func.func"() ({
^bb0(%0: f32):
  %1 = "arith.constant"() {value = 0x800000 : f32} : () -> f32
  %2 = "arith.constant"() {value = 0x4B800000 : f32} : () -> f32
  %3 = "arith.constant"() {value = 1 : i32} : () -> i32
  %4 = "arith.constant"() {value = 1597463174 : i32} : () -> i32
  %5 = "arith.constant"() {value = 0x3F800000 : f32} : () -> f32
  %6 = "arith.constant"() {value = 0x3EC00000 : f32} : () -> f32
  %7 = "arith.constant"() {value = 0x3F000000 : f32} : () -> f32
  %8 = "arith.constant"() {value = 0x45800000 : f32} : () -> f32
  %9 = "arith.constant"() {value = 0x7F800000 : f32} : () -> f32
  %10 = "arith.constant"() {value = 0x0 : f32} : () -> f32
  %11 = "arith.constant"() {value = 0x7FC00000 : f32} : () -> f32
  %12 = "arith.cmpf"(%0, %1) {predicate = 4 : i64} : (f32, f32) -> i1
  %13 = "arith.mulf"(%0, %2) : (f32, f32) -> f32
  %14 = "arith.select"(%12, %13, %0) : (i1, f32, f32) -> f32
  %15 = "arith.bitcast"(%14) : (f32) -> i32
  %16 = "arith.shrui"(%15, %3) : (i32, i32) -> i32
  %17 = "arith.subi"(%4, %16) : (i32, i32) -> i32
  %18 = "arith.bitcast"(%17) : (i32) -> f32
  %19 = "arith.mulf"(%14, %18) : (f32, f32) -> f32
  %20 = "arith.negf"(%19) : (f32) -> f32
  %21 = "math.fma"(%20, %18, %5) : (f32, f32, f32) -> f32
  %22 = "math.fma"(%21, %6, %7) : (f32, f32, f32) -> f32
  %23 = "arith.mulf"(%21, %22) : (f32, f32) -> f32
  %24 = "math.fma"(%18, %23, %18) : (f32, f32, f32) -> f32
  %25 = "arith.mulf"(%14, %24) : (f32, f32) -> f32
  %26 = "arith.negf"(%25) : (f32) -> f32
  %27 = "math.fma"(%14, %24, %26) : (f32, f32, f32) -> f32
  %28 = "arith.negf"(%27) : (f32) -> f32
  %29 = "arith.negf"(%25) : (f32) -> f32
  %30 = "math.fma"(%29, %24, %5) : (f32, f32, f32) -> f32
  %31 = "math.fma"(%28, %24, %30) : (f32, f32, f32) -> f32
  %32 = "math.fma"(%31, %6, %7) : (f32, f32, f32) -> f32
  %33 = "arith.mulf"(%31, %32) : (f32, f32) -> f32
  %34 = "math.fma"(%24, %33, %24) : (f32, f32, f32) -> f32
  %35 = "arith.mulf"(%34, %8) : (f32, f32) -> f32
  %36 = "arith.select"(%12, %35, %34) : (i1, f32, f32) -> f32
  %37 = "math.copysign"(%9, %0) : (f32, f32) -> f32
  %38 = "arith.cmpf"(%0, %10) {predicate = 1 : i64} : (f32, f32) -> i1
  %39 = "arith.cmpf"(%0, %10) {predicate = 2 : i64} : (f32, f32) -> i1
  %40 = "arith.select"(%39, %10, %11) : (i1, f32, f32) -> f32
  %41 = "arith.select"(%38, %37, %40) : (i1, f32, f32) -> f32
  %42 = "arith.cmpf"(%0, %10) {predicate = 2 : i64} : (f32, f32) -> i1
  %43 = "arith.cmpf"(%0, %9) {predicate = 4 : i64} : (f32, f32) -> i1
  %44 = "arith.andi"(%42, %43) : (i1, i1) -> i1
  %45 = "arith.select"(%44, %36, %41) : (i1, f32, f32) -> f32
  "func.return"(%45) : (f32) -> ()
}) {sym_name = "fusebox_rsqrt_f32", function_type = (f32) -> f32, sym_visibility = "private"} : () -> ()
