// f16 has instructions on every GPU.
// target: sm_80
func.func @k(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr<1>, i64) -> f16
  %wide = arith.extf %x : f16 to f32
  %root = math.sqrt %wide : f32
  %r = arith.truncf %root : f32 to f16
  "xla_gpu.store"(%r, %out, %c0) {alignment = 64 : i64} : (f16, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr<1>, i64) -> i16
  %4 = "arith.bitcast"(%3) : (i16) -> f16
  %5 = "arith.extf"(%4) : (f16) -> f32
  %6 = "math.sqrt"(%5) : (f32) -> f32
  %7 = "arith.truncf"(%6) : (f32) -> f16
  %8 = "arith.bitcast"(%7) : (f16) -> i16
  "xla_gpu.store"(%8, %1, %2) {alignment = 64 : i64} : (i16, !llvm.ptr<1>, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
