// Dividing by zero, or the lowest number by minus one, stops a processor: the simulator is told before.
// target: simt
func.func @k(%a: !llvm.ptr {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : index
  %x = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr, index) -> i32
  %q = arith.divsi %x, %x : i32
  "xla_gpu.store"(%q, %out, %c0) {alignment = 64 : i64} : (i32, !llvm.ptr, index) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 0 : i32} : () -> i32
  %4 = "arith.constant"() {value = -2147483648 : i32} : () -> i32
  %5 = "arith.constant"() {value = -1 : i32} : () -> i32
  %6 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr, i64) -> i32
  %7 = "arith.cmpi"(%6, %3) {predicate = 0 : i64} : (i32, i32) -> i1
  %8 = "arith.cmpi"(%6, %4) {predicate = 0 : i64} : (i32, i32) -> i1
  %9 = "arith.cmpi"(%6, %5) {predicate = 0 : i64} : (i32, i32) -> i1
  %10 = "arith.andi"(%8, %9) : (i1, i1) -> i1
  %11 = "arith.ori"(%7, %10) : (i1, i1) -> i1
  "scf.if"(%11) ({
    "xla_gpu.report_division"() {site = "k: arith.divsi at the_simulator_is_told_of_impossible_divisions.mlir:6:8"} : () -> ()
    "scf.yield"() : () -> ()
  }, {
  }) : (i1) -> ()
  %12 = "arith.divsi"(%6, %6) : (i32, i32) -> i32
  "xla_gpu.store"(%12, %1, %2) {alignment = 64 : i64} : (i32, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
