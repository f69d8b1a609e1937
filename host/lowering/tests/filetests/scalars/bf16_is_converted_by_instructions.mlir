// Where the GPU has instructions for it, only what is in between is bits.
// target: sm_90
func.func @k(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr<1>, i64) -> bf16
  %wide = arith.extf %x : bf16 to f32
  %product = arith.mulf %wide, %wide : f32
  %r = arith.truncf %product : f32 to bf16
  "xla_gpu.store"(%r, %out, %c0) {alignment = 64 : i64} : (bf16, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 16 : i32} : () -> i32
  %4 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr<1>, i64) -> i16
  %5 = "arith.extui"(%4) : (i16) -> i32
  %6 = "arith.shli"(%5, %3) : (i32, i32) -> i32
  %7 = "arith.bitcast"(%6) : (i32) -> f32
  %8 = "arith.mulf"(%7, %7) : (f32, f32) -> f32
  %9 = "arith.truncf"(%8) : (f32) -> bf16
  %10 = "arith.bitcast"(%9) : (bf16) -> i16
  "xla_gpu.store"(%10, %1, %2) {alignment = 64 : i64} : (i16, !llvm.ptr<1>, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
