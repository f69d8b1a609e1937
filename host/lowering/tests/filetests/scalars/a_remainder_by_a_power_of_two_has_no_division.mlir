// The remainder by a power of two is exact in a few instructions.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %eight = arith.constant 8.0 : f32
  %x = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr, i64) -> f32
  %r = arith.remf %x, %eight : f32
  "xla_gpu.store"(%r, %out, %c0) {alignment = 64 : i64} : (f32, !llvm.ptr, i64) -> ()
  func.return
}


// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 0x3E000000 : f32} : () -> f32
  %4 = "arith.constant"() {value = 0x41000000 : f32} : () -> f32
  %5 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr, i64) -> f32
  %6 = "arith.mulf"(%5, %3) : (f32, f32) -> f32
  %7 = "math.trunc"(%6) : (f32) -> f32
  %8 = "arith.mulf"(%7, %4) : (f32, f32) -> f32
  %9 = "arith.subf"(%5, %8) : (f32, f32) -> f32
  %10 = "math.copysign"(%9, %5) : (f32, f32) -> f32
  "xla_gpu.store"(%10, %1, %2) {alignment = 64 : i64} : (f32, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
