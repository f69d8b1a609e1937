// How often this loop turns the thread decides: no more than four times, but it cannot be unrolled.
// target: sm_90
func.func @k(%a: !llvm.ptr<1> {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr<1> {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %t = gpu.thread_id x
  %hi = arith.constant 300 : index
  %step = arith.constant 128 : index
  scf.for %i = %t to %hi step %step {
    %x = "xla_gpu.load"(%a, %i) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
    "xla_gpu.store"(%x, %out, %i) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
  }
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "arith.index_cast"(%2) : (index) -> i32
  %4 = "arith.constant"() {value = 300 : i32} : () -> i32
  %5 = "arith.constant"() {value = 128 : i32} : () -> i32
  "scf.for"(%3, %4, %5) ({
  ^bb0(%6: i32):
    %7 = "arith.extui"(%6) {nonNeg} : (i32) -> i64
    %8 = "xla_gpu.load"(%0, %7) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> f32
    "xla_gpu.store"(%8, %1, %7) {alignment = 4 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
    "scf.yield"() : () -> ()
  }) : (i32, i32, i32) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 8, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
