// The imaginary part lies behind the real one, and is aligned to its own size at most.
// target: cpu
func.func @k(%a: !llvm.ptr {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 1>} {
  %b = gpu.block_id x
  %t = gpu.thread_id x
  %re = "xla_gpu.load"(%a, %b) {alignment = 64 : i64, complex_part = 0 : i64} : (!llvm.ptr, index) -> f32
  %im = "xla_gpu.load"(%a, %b) {alignment = 64 : i64, complex_part = 1 : i64} : (!llvm.ptr, index) -> f32
  %s = arith.addf %re, %im : f32
  "xla_gpu.store"(%s, %out, %b) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "arith.index_cast"(%2) : (index) -> i64
  %4 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %5 = "arith.index_cast"(%4) : (index) -> i64
  %6 = "xla_gpu.load"(%0, %3) {complex_part = 0 : i64, alignment = 8 : i64} : (!llvm.ptr, i64) -> f32
  %7 = "xla_gpu.load"(%0, %3) {complex_part = 1 : i64, alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
  %8 = "arith.addf"(%6, %7) : (f32, f32) -> f32
  "xla_gpu.store"(%8, %1, %3) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 8, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
