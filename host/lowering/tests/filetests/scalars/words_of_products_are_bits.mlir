// Words of narrow floats are their bits; sums stay what they are.
// target: sm_80
func.func @k(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 32>} {
  %i = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> vector<2xbf16>
  %zero = arith.constant 0.0 : f32
  %sums:4 = "xla_gpu.mma"(%x, %x, %x, %x, %x, %x, %zero, %zero, %zero, %zero) {product = "m16n8k16.bf16", site = "k"} : (vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  "xla_gpu.store"(%sums#3, %out, %i) {alignment = 4 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 0x0 : f32} : () -> f32
  %4 = "xla_gpu.load"(%0, %2) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> vector<2xi16>
  %5, %6, %7, %8 = "xla_gpu.mma"(%4, %4, %4, %4, %4, %4, %3, %3, %3, %3) {product = "m16n8k16.bf16", site = "k"} : (vector<2xi16>, vector<2xi16>, vector<2xi16>, vector<2xi16>, vector<2xi16>, vector<2xi16>, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  "xla_gpu.store"(%8, %1, %2) {alignment = 4 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 32>, fusebox.shared_bytes = 49152 : i64} : () -> ()
