// A condition on the variables of two loops splits the outer one where the inner one does not matter any more, and in
// between the inner one.
// target: cpu
func.func @k(%a: !llvm.ptr {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c40 = arith.constant 40 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  scf.for %i = %c0 to %c40 step %c1 {
    scf.for %j = %c0 to %c9 step %c1 {
      %sum = arith.addi %i, %j : index
      %below = arith.cmpi slt, %sum, %c40 : index
      %x = arith.select %below, %one, %zero : f32
      "xla_gpu.store"(%x, %out, %j) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
    }
  }
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : index} : () -> index
  %3 = "arith.constant"() {value = 1 : index} : () -> index
  %4 = "arith.constant"() {value = 9 : index} : () -> index
  %5 = "arith.constant"() {value = 40 : index} : () -> index
  %6 = "arith.constant"() {value = 0x0 : f32} : () -> f32
  %7 = "arith.constant"() {value = 0x3F800000 : f32} : () -> f32
  %8 = "arith.constant"() {value = 32 : index} : () -> index
  "scf.for"(%2, %8, %3) ({
  ^bb0(%9: index):
    "scf.for"(%2, %4, %3) ({
    ^bb0(%10: index):
      %11 = "arith.addi"(%9, %10) : (index, index) -> index
      "xla_gpu.store"(%7, %1, %10) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
      "scf.yield"() : () -> ()
    }) : (index, index, index) -> ()
    "scf.yield"() : () -> ()
  }) : (index, index, index) -> ()
  "scf.for"(%8, %5, %3) ({
  ^bb0(%12: index):
    %13 = "xla_gpu.apply_indexing"(%12) {map = "(d0) -> (d0 * -1 + 40), domain: d0 in [32, 39]"} : (index) -> index
    "scf.for"(%2, %13, %3) ({
    ^bb0(%14: index):
      %15 = "arith.addi"(%12, %14) : (index, index) -> index
      "xla_gpu.store"(%7, %1, %14) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
      "scf.yield"() : () -> ()
    }) : (index, index, index) -> ()
    "scf.for"(%13, %4, %3) ({
    ^bb0(%16: index):
      %17 = "arith.addi"(%12, %16) : (index, index) -> index
      "xla_gpu.store"(%6, %1, %16) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
      "scf.yield"() : () -> ()
    }) : (index, index, index) -> ()
    "scf.yield"() : () -> ()
  }) : (index, index, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
