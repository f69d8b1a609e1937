// A float of eight bits is shifted in place and multiplied by a power of two, which makes of its small numbers what
// they are.
// target: sm_90
func.func @k(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr<1>, i64) -> f8E4M3FN
  %r = arith.extf %x : f8E4M3FN to f32
  "xla_gpu.store"(%r, %out, %c0) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 127 : i32} : () -> i32
  %4 = "arith.constant"() {value = 128 : i32} : () -> i32
  %5 = "arith.constant"() {value = 24 : i32} : () -> i32
  %6 = "arith.constant"() {value = 20 : i32} : () -> i32
  %7 = "arith.constant"() {value = 1006632960 : i32} : () -> i32
  %8 = "arith.constant"() {value = 0x3B000000 : f32} : () -> f32
  %9 = "arith.constant"() {value = 8 : i32} : () -> i32
  %10 = "arith.constant"() {value = 2143289344 : i32} : () -> i32
  %11 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr<1>, i64) -> i8
  %12 = "arith.extui"(%11) : (i8) -> i32
  %13 = "arith.andi"(%12, %3) : (i32, i32) -> i32
  %14 = "arith.andi"(%12, %4) : (i32, i32) -> i32
  %15 = "arith.shli"(%14, %5) : (i32, i32) -> i32
  %16 = "arith.shli"(%13, %6) : (i32, i32) -> i32
  %17 = "arith.addi"(%16, %7) : (i32, i32) -> i32
  %18 = "arith.uitofp"(%13) : (i32) -> f32
  %19 = "arith.mulf"(%18, %8) : (f32, f32) -> f32
  %20 = "arith.bitcast"(%19) : (f32) -> i32
  %21 = "arith.cmpi"(%13, %9) {predicate = 6 : i64} : (i32, i32) -> i1
  %22 = "arith.select"(%21, %20, %17) : (i1, i32, i32) -> i32
  %23 = "arith.cmpi"(%13, %3) {predicate = 0 : i64} : (i32, i32) -> i1
  %24 = "arith.select"(%23, %10, %22) : (i1, i32, i32) -> i32
  %25 = "arith.ori"(%24, %15) : (i32, i32) -> i32
  %26 = "arith.bitcast"(%25) : (i32) -> f32
  "xla_gpu.store"(%26, %1, %2) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
