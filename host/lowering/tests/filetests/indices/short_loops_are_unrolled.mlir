// A loop of at most four turns is written turn by turn.
// target: sm_90
func.func @k(%a: !llvm.ptr<1> {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr<1> {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %lo = arith.constant 0 : index
  %hi = arith.constant 3 : index
  %step = arith.constant 1 : index
  scf.for %i = %lo to %hi step %step {
    %x = "xla_gpu.load"(%a, %i) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
    "xla_gpu.store"(%x, %out, %i) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
  }
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr<1>, i64) -> f32
  "xla_gpu.store"(%3, %1, %2) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  %4 = "xla_gpu.load"(%0, %2) {alignment = 4 : i64, offset = 1 : i64} : (!llvm.ptr<1>, i64) -> f32
  "xla_gpu.store"(%4, %1, %2) {alignment = 4 : i64, offset = 1 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  %5 = "xla_gpu.load"(%0, %2) {alignment = 8 : i64, offset = 2 : i64} : (!llvm.ptr<1>, i64) -> f32
  "xla_gpu.store"(%5, %1, %2) {alignment = 8 : i64, offset = 2 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 8, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
