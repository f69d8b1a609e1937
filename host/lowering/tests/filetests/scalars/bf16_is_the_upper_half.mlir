// A bf16 is the upper half of an f32, kept as 16 bits: widening shifts, narrowing rounds to nearest even and keeps NaN
// a NaN.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr, i64) -> bf16
  %wide = arith.extf %x : bf16 to f32
  %c = arith.constant 1.0e-3 : f32
  %sum = arith.addf %wide, %c : f32
  %r = arith.truncf %sum : f32 to bf16
  "xla_gpu.store"(%r, %out, %c0) {alignment = 64 : i64} : (bf16, !llvm.ptr, i64) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 16 : i32} : () -> i32
  %4 = "arith.constant"() {value = 0x3A83126F : f32} : () -> f32
  %5 = "arith.constant"() {value = 1 : i32} : () -> i32
  %6 = "arith.constant"() {value = 32767 : i32} : () -> i32
  %7 = "arith.constant"() {value = 4194304 : i32} : () -> i32
  %8 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr, i64) -> i16
  %9 = "arith.extui"(%8) : (i16) -> i32
  %10 = "arith.shli"(%9, %3) : (i32, i32) -> i32
  %11 = "arith.bitcast"(%10) : (i32) -> f32
  %12 = "arith.addf"(%11, %4) : (f32, f32) -> f32
  %13 = "arith.bitcast"(%12) : (f32) -> i32
  %14 = "arith.shrui"(%13, %3) : (i32, i32) -> i32
  %15 = "arith.andi"(%14, %5) : (i32, i32) -> i32
  %16 = "arith.addi"(%13, %15) : (i32, i32) -> i32
  %17 = "arith.addi"(%16, %6) : (i32, i32) -> i32
  %18 = "arith.cmpf"(%12, %12) {predicate = 14 : i64} : (f32, f32) -> i1
  %19 = "arith.ori"(%13, %7) : (i32, i32) -> i32
  %20 = "arith.select"(%18, %19, %17) : (i1, i32, i32) -> i32
  %21 = "arith.shrui"(%20, %3) : (i32, i32) -> i32
  %22 = "arith.trunci"(%21) : (i32) -> i16
  "xla_gpu.store"(%22, %1, %2) {alignment = 64 : i64} : (i16, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
