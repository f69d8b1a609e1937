// On the cpu the loop of three turns is unrolled and the one around it is not: of the innermost there would be twelve.
// target: cpu
func.func @k(%a: !llvm.ptr {fusebox.bytes = 12288 : i64, fusebox.read_only}, %out: !llvm.ptr {fusebox.bytes = 12288 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c32 = arith.constant 32 : index
  %c1024 = arith.constant 1024 : index
  scf.for %tile = %c0 to %c1024 step %c32 {
    scf.for %d = %c0 to %c3 step %c1 {
      %from = arith.muli %d, %c1024 : index
      %first = arith.addi %from, %tile : index
      scf.for %j = %c0 to %c32 step %c1 {
        %at = arith.addi %first, %j : index
        %x = "xla_gpu.load"(%a, %at) {alignment = 4 : i64} : (!llvm.ptr, index) -> f32
        "xla_gpu.store"(%x, %out, %at) {alignment = 4 : i64} : (f32, !llvm.ptr, index) -> ()
      }
    }
  }
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 1024 : i64} : () -> i64
  %4 = "arith.constant"() {value = 32 : i64} : () -> i64
  %5 = "arith.constant"() {value = 1 : i64} : () -> i64
  "scf.for"(%2, %3, %4) ({
  ^bb0(%6: i64):
    "scf.for"(%2, %4, %5) ({
    ^bb0(%7: i64):
      %8 = "arith.addi"(%6, %7) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
      %9 = "xla_gpu.load"(%0, %8) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
      "xla_gpu.store"(%9, %1, %8) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
      "scf.yield"() : () -> ()
    }) : (i64, i64, i64) -> ()
    "scf.for"(%2, %4, %5) ({
    ^bb0(%10: i64):
      %11 = "arith.addi"(%6, %10) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
      %12 = "xla_gpu.load"(%0, %11) {alignment = 4 : i64, offset = 1024 : i64} : (!llvm.ptr, i64) -> f32
      "xla_gpu.store"(%12, %1, %11) {alignment = 4 : i64, offset = 1024 : i64} : (f32, !llvm.ptr, i64) -> ()
      "scf.yield"() : () -> ()
    }) : (i64, i64, i64) -> ()
    "scf.for"(%2, %4, %5) ({
    ^bb0(%13: i64):
      %14 = "arith.addi"(%6, %13) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
      %15 = "xla_gpu.load"(%0, %14) {alignment = 4 : i64, offset = 2048 : i64} : (!llvm.ptr, i64) -> f32
      "xla_gpu.store"(%15, %1, %14) {alignment = 4 : i64, offset = 2048 : i64} : (f32, !llvm.ptr, i64) -> ()
      "scf.yield"() : () -> ()
    }) : (i64, i64, i64) -> ()
    "scf.yield"() : () -> ()
  }) : (i64, i64, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 12288 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 12288 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
