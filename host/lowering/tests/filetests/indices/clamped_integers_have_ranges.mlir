// An index that comes from data is in the range that its clamp says, and needs no further tests.
// target: cpu
func.func @k(%a: !llvm.ptr {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : index
  %low = arith.constant 0 : i32
  %high = arith.constant 7 : i32
  %raw = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr, index) -> i32
  %above = arith.maxsi %raw, %low : i32
  %clamped = arith.minsi %above, %high : i32
  %i = arith.index_cast %clamped : i32 to index
  %bounded = arith.minsi %i, %c7 : index
  %x = "xla_gpu.load"(%a, %bounded) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
  "xla_gpu.store"(%x, %out, %i) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : i32} : () -> i32
  %3 = "arith.constant"() {value = 7 : i32} : () -> i32
  %4 = "arith.constant"() {value = 0 : i64} : () -> i64
  %5 = "xla_gpu.load"(%0, %4) {alignment = 64 : i64} : (!llvm.ptr, i64) -> i32
  %6 = "arith.maxsi"(%5, %2) : (i32, i32) -> i32
  %7 = "arith.minsi"(%6, %3) : (i32, i32) -> i32
  %8 = "arith.extsi"(%7) : (i32) -> i64
  %9 = "xla_gpu.load"(%0, %8) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
  "xla_gpu.store"(%9, %1, %8) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
