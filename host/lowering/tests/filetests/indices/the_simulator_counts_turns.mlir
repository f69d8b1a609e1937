// Long loops tell the simulator of each turn, so that it can stop one without end.
// target: simt
func.func @k(%a: !llvm.ptr {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %lo = arith.constant 0 : index
  %hi = arith.constant 300 : index
  %step = arith.constant 1 : index
  scf.for %i = %lo to %hi step %step {
    %x = "xla_gpu.load"(%a, %i) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
    "xla_gpu.store"(%x, %out, %i) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
  }
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 300 : i64} : () -> i64
  %4 = "arith.constant"() {value = 1 : i64} : () -> i64
  "scf.for"(%2, %3, %4) ({
  ^bb0(%5: i64):
    "xla_gpu.report_turn"() {site = "k: scf.for at the_simulator_counts_turns.mlir:7:3"} : () -> ()
    %6 = "xla_gpu.load"(%0, %5) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    "xla_gpu.store"(%6, %1, %5) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    "scf.yield"() : () -> ()
  }) : (i64, i64, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
