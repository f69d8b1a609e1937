// The lanes of the simulator exchange 64 bits at once.
// target: simt
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 32>} {
  %c0 = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr, i64) -> f64
  %r = "xla_gpu.shuffle_down"(%x) {distance = 4 : i64, lanes = 32 : i64, site = "k"} : (f64) -> f64
  "xla_gpu.store"(%r, %out, %c0) {alignment = 64 : i64} : (f64, !llvm.ptr, i64) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr, i64) -> f64
  %4 = "arith.bitcast"(%3) : (f64) -> i64
  %5 = "xla_gpu.shuffle_down"(%4) {distance = 4 : i64, lanes = 32 : i64, site = "k"} : (i64) -> i64
  %6 = "arith.bitcast"(%5) : (i64) -> f64
  "xla_gpu.store"(%6, %1, %2) {alignment = 64 : i64} : (f64, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 32>, fusebox.shared_bytes = 49152 : i64} : () -> ()
