// On a GPU the threads take turns in step, and the loop stays one.
// target: sm_90
func.func @k(%a: !llvm.ptr<1> {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr<1> {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 128>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c40 = arith.constant 40 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c40 step %c1 {
    %beyond = arith.cmpi sge, %i, %c3 : index
    %x = scf.if %beyond -> f32 {
      %at = arith.subi %i, %c3 : index
      %read = "xla_gpu.load"(%a, %at) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
      scf.yield %read : f32
    } else {
      scf.yield %zero : f32
    }
    "xla_gpu.store"(%x, %out, %i) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
  }
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 0 : index} : () -> index
  %3 = "arith.constant"() {value = 1 : index} : () -> index
  %4 = "arith.constant"() {value = 3 : index} : () -> index
  %5 = "arith.constant"() {value = 40 : index} : () -> index
  %6 = "arith.constant"() {value = 0x0 : f32} : () -> f32
  "scf.for"(%2, %5, %3) ({
  ^bb0(%7: index):
    %8 = "arith.cmpi"(%7, %4) {predicate = 5 : i64} : (index, index) -> i1
    %11 = "scf.if"(%8) ({
      %9 = "arith.subi"(%7, %4) : (index, index) -> index
      %10 = "xla_gpu.load"(%0, %9) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
      "scf.yield"(%10) : (f32) -> ()
    }, {
      "scf.yield"(%6) : (f32) -> ()
    }) : (i1) -> f32
    "xla_gpu.store"(%11, %1, %7) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
    "scf.yield"() : () -> ()
  }) : (index, index, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 1, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
