// A loop of at most four turns asks LLVM to unroll it.
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
  %2 = "arith.constant"() {value = 0 : i32} : () -> i32
  %3 = "arith.constant"() {value = 3 : i32} : () -> i32
  %4 = "arith.constant"() {value = 1 : i32} : () -> i32
  "scf.for"(%2, %3, %4) ({
  ^bb0(%5: i32):
    %6 = "arith.extui"(%5) {nonNeg} : (i32) -> i64
    %7 = "xla_gpu.load"(%0, %6) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> f32
    "xla_gpu.store"(%7, %1, %6) {alignment = 4 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
    "scf.yield"() : () -> ()
  }) {fusebox.unroll = "full"} : (i32, i32, i32) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 8, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
