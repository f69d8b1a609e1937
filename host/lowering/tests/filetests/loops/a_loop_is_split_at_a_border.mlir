// A condition on the variable splits the loop where its answer changes: in each part the answer is known, and no
// branch is left.
// target: cpu
func.func @k(%a: !llvm.ptr {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c40 = arith.constant 40 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c40 step %c1 {
    %beyond = arith.cmpi sge, %i, %c3 : index
    %x = scf.if %beyond -> f32 {
      %at = arith.subi %i, %c3 : index
      %read = "xla_gpu.load"(%a, %at) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
      scf.yield %read : f32
    } else {
      scf.yield %zero : f32
    }
    "xla_gpu.store"(%x, %out, %i) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
  }
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : index} : () -> index
  %3 = "arith.constant"() {value = 1 : index} : () -> index
  %4 = "arith.constant"() {value = 3 : index} : () -> index
  %5 = "arith.constant"() {value = 40 : index} : () -> index
  %6 = "arith.constant"() {value = 0x0 : f32} : () -> f32
  "scf.for"(%2, %4, %3) ({
  ^bb0(%7: index):
    "xla_gpu.store"(%6, %1, %7) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
    "scf.yield"() : () -> ()
  }) : (index, index, index) -> ()
  "scf.for"(%4, %5, %3) ({
  ^bb0(%8: index):
    %9 = "arith.subi"(%8, %4) : (index, index) -> index
    %10 = "xla_gpu.load"(%0, %9) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
    "xla_gpu.store"(%10, %1, %8) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
    "scf.yield"() : () -> ()
  }) : (index, index, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
