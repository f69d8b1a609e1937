// Iteration values go from copy to copy; where nothing is done they are what they were.
// target: sm_90
func.func @k(%a: !llvm.ptr<1> {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr<1> {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 128>} {
  %t = gpu.thread_id x
  %zero = arith.constant 0.0 : f32
  %sum = "xla_gpu.loop"(%t, %zero) ({
  ^bb0(%i: index, %at: index, %now: f32):
    %x = "xla_gpu.load"(%a, %at) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
    %next = arith.addf %now, %x : f32
    "xla_gpu.yield"(%next) : (f32) -> ()
  }) {map = "(th)[s0] -> (th * 2 + s0), domain: th in [0, 127], s0 in [0, 1], th * 2 + s0 in [0, 199]", unroll = array<i64: 0>} : (index, f32) -> f32
  "xla_gpu.store"(%sum, %out, %t) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 0x0 : f32} : () -> f32
  %3 = "arith.constant"() {value = 198 : index} : () -> index
  %4 = "arith.constant"() {value = 0 : index} : () -> index
  %5 = "arith.constant"() {value = 1 : index} : () -> index
  %6 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %7 = "xla_gpu.apply_indexing"(%6) {map = "(d0) -> (d0 * 2), domain: d0 in [0, 127]"} : (index) -> index
  %8 = "arith.cmpi"(%7, %3) {predicate = 3 : i64} : (index, index) -> i1
  %15 = "scf.if"(%8) ({
    %9 = "xla_gpu.apply_indexing"(%6, %4) {map = "(th)[s0] -> (th * 2 + s0), domain: th in [0, 127], s0 in [0, 1]"} : (index, index) -> index
    %10 = "xla_gpu.load"(%0, %9) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
    %11 = "arith.addf"(%2, %10) : (f32, f32) -> f32
    %12 = "xla_gpu.apply_indexing"(%6, %5) {map = "(th)[s0] -> (th * 2 + s0), domain: th in [0, 127], s0 in [0, 1]"} : (index, index) -> index
    %13 = "xla_gpu.load"(%0, %12) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
    %14 = "arith.addf"(%11, %13) : (f32, f32) -> f32
    "scf.yield"(%14) : (f32) -> ()
  }, {
    "scf.yield"(%2) : (f32) -> ()
  }) : (i1) -> f32
  "xla_gpu.store"(%15, %1, %6) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 1, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
