// f8E8M0FNU is an exponent alone.
// target: sm_90
func.func @k(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr<1>, i64) -> f8E8M0FNU
  %r = arith.extf %x : f8E8M0FNU to f32
  "xla_gpu.store"(%r, %out, %c0) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 23 : i32} : () -> i32
  %4 = "arith.constant"() {value = 0 : i32} : () -> i32
  %5 = "arith.constant"() {value = 255 : i32} : () -> i32
  %6 = "arith.constant"() {value = 4194304 : i32} : () -> i32
  %7 = "arith.constant"() {value = 2143289344 : i32} : () -> i32
  %8 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr<1>, i64) -> i8
  %9 = "arith.extui"(%8) : (i8) -> i32
  %10 = "arith.shli"(%9, %3) : (i32, i32) -> i32
  %11 = "arith.cmpi"(%9, %4) {predicate = 0 : i64} : (i32, i32) -> i1
  %12 = "arith.cmpi"(%9, %5) {predicate = 0 : i64} : (i32, i32) -> i1
  %13 = "arith.select"(%11, %6, %10) : (i1, i32, i32) -> i32
  %14 = "arith.select"(%12, %7, %13) : (i1, i32, i32) -> i32
  %15 = "arith.bitcast"(%14) : (i32) -> f32
  "xla_gpu.store"(%15, %1, %2) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
