// Of loops within each other the outer ones are unrolled as long as there are no more than eight copies on a GPU.
// target: sm_90
func.func @k(%a: !llvm.ptr<1> {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr<1> {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %at = arith.addi %i, %j : index
      %x = "xla_gpu.load"(%a, %at) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
      "xla_gpu.store"(%x, %out, %at) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
    }
  }
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 0 : i32} : () -> i32
  %3 = "arith.constant"() {value = 4 : i32} : () -> i32
  %4 = "arith.constant"() {value = 1 : i32} : () -> i32
  "scf.for"(%2, %3, %4) ({
  ^bb0(%5: i32):
    %6 = "arith.extui"(%5) {nonNeg} : (i32) -> i64
    %7 = "xla_gpu.load"(%0, %6) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> f32
    "xla_gpu.store"(%7, %1, %6) {alignment = 4 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
    "scf.yield"() : () -> ()
  }) {fusebox.unroll = "never"} : (i32, i32, i32) -> ()
  "scf.for"(%2, %3, %4) ({
  ^bb0(%8: i32):
    %9 = "arith.extui"(%8) {nonNeg} : (i32) -> i64
    %10 = "xla_gpu.load"(%0, %9) {alignment = 4 : i64, offset = 1 : i64} : (!llvm.ptr<1>, i64) -> f32
    "xla_gpu.store"(%10, %1, %9) {alignment = 4 : i64, offset = 1 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
    "scf.yield"() : () -> ()
  }) {fusebox.unroll = "never"} : (i32, i32, i32) -> ()
  "scf.for"(%2, %3, %4) ({
  ^bb0(%11: i32):
    %12 = "arith.extui"(%11) {nonNeg} : (i32) -> i64
    %13 = "xla_gpu.load"(%0, %12) {alignment = 4 : i64, offset = 2 : i64} : (!llvm.ptr<1>, i64) -> f32
    "xla_gpu.store"(%13, %1, %12) {alignment = 4 : i64, offset = 2 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
    "scf.yield"() : () -> ()
  }) {fusebox.unroll = "never"} : (i32, i32, i32) -> ()
  "scf.for"(%2, %3, %4) ({
  ^bb0(%14: i32):
    %15 = "arith.extui"(%14) {nonNeg} : (i32) -> i64
    %16 = "xla_gpu.load"(%0, %15) {alignment = 4 : i64, offset = 3 : i64} : (!llvm.ptr<1>, i64) -> f32
    "xla_gpu.store"(%16, %1, %15) {alignment = 4 : i64, offset = 3 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
    "scf.yield"() : () -> ()
  }) {fusebox.unroll = "never"} : (i32, i32, i32) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 8, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
