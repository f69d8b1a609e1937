// A complex number is two floats, also where a loop passes it.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr, i64) -> f32
  %zero = arith.constant 0.0 : f32
  %start = complex.create %x, %zero : complex<f32>
  %c1 = arith.constant 1 : i64
  %c9 = arith.constant 9 : i64
  %all = scf.for %i = %c0 to %c9 step %c1 iter_args(%now = %start) -> (complex<f32>) : i64 {
    %re = complex.re %now : complex<f32>
    %im = complex.im %now : complex<f32>
    %next = complex.create %im, %re : complex<f32>
    scf.yield %next : complex<f32>
  }
  %r = complex.im %all : complex<f32>
  "xla_gpu.store"(%r, %out, %c0) {alignment = 64 : i64} : (f32, !llvm.ptr, i64) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 0x0 : f32} : () -> f32
  %4 = "arith.constant"() {value = 1 : i64} : () -> i64
  %5 = "arith.constant"() {value = 9 : i64} : () -> i64
  %6 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr, i64) -> f32
  %10, %11 = "scf.for"(%2, %5, %4, %6, %3) ({
  ^bb0(%7: i64, %8: f32, %9: f32):
    "scf.yield"(%9, %8) : (f32, f32) -> ()
  }) : (i64, i64, i64, f32, f32) -> (f32, f32)
  "xla_gpu.store"(%11, %1, %2) {alignment = 64 : i64} : (f32, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
