// A thread is below the number of threads, and so is what is computed from it: such a condition is known.
// target: sm_90
func.func @k(%a: !llvm.ptr<1> {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr<1> {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 128>} {
  %t = gpu.thread_id x
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %half = arith.divui %t, %c2 : index
  %always = arith.cmpi slt, %half, %c64 : index
  %sometimes = arith.cmpi slt, %t, %c64 : index
  %both = arith.andi %always, %sometimes : i1
  scf.if %both {
    %x = "xla_gpu.load"(%a, %t) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
    "xla_gpu.store"(%x, %out, %t) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
  }
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 2 : index} : () -> index
  %3 = "arith.constant"() {value = 64 : index} : () -> index
  %4 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %5 = "arith.divui"(%4, %2) : (index, index) -> index
  %6 = "arith.cmpi"(%4, %3) {predicate = 2 : i64} : (index, index) -> i1
  "scf.if"(%6) ({
    %7 = "xla_gpu.load"(%0, %4) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
    "xla_gpu.store"(%7, %1, %4) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
    "scf.yield"() : () -> ()
  }, {
  }) : (i1) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 1, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
