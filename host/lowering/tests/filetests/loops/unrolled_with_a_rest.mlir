// Of 402 elements one thread has two: it runs a loop, the others the unrolled copies.
// target: sm_90
func.func @k(%a: !llvm.ptr<1> {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr<1> {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 128>} {
  %t = gpu.thread_id x
  "xla_gpu.loop"(%t) ({
  ^bb0(%i: index, %at: index):
    %x = "xla_gpu.load"(%a, %at) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
    "xla_gpu.store"(%x, %out, %at) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
    "xla_gpu.yield"() : () -> ()
  }) {map = "(th)[s0] -> (th * 4 + s0), domain: th in [0, 127], s0 in [0, 3], th * 4 + s0 in [0, 401]", unroll = array<i64: 0>} : (index) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 398 : index} : () -> index
  %3 = "arith.constant"() {value = 0 : index} : () -> index
  %4 = "arith.constant"() {value = 1 : index} : () -> index
  %5 = "arith.constant"() {value = 2 : index} : () -> index
  %6 = "arith.constant"() {value = 3 : index} : () -> index
  %7 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %8 = "xla_gpu.apply_indexing"(%7) {map = "(d0) -> (d0 * 4), domain: d0 in [0, 127]"} : (index) -> index
  %9 = "arith.cmpi"(%8, %2) {predicate = 3 : i64} : (index, index) -> i1
  "scf.if"(%9) ({
    %10 = "xla_gpu.apply_indexing"(%7, %3) {map = "(th)[s0] -> (th * 4 + s0), domain: th in [0, 127], s0 in [0, 3]"} : (index, index) -> index
    %11 = "xla_gpu.load"(%0, %10) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
    "xla_gpu.store"(%11, %1, %10) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
    %12 = "xla_gpu.apply_indexing"(%7, %4) {map = "(th)[s0] -> (th * 4 + s0), domain: th in [0, 127], s0 in [0, 3]"} : (index, index) -> index
    %13 = "xla_gpu.load"(%0, %12) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
    "xla_gpu.store"(%13, %1, %12) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
    %14 = "xla_gpu.apply_indexing"(%7, %5) {map = "(th)[s0] -> (th * 4 + s0), domain: th in [0, 127], s0 in [0, 3]"} : (index, index) -> index
    %15 = "xla_gpu.load"(%0, %14) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
    "xla_gpu.store"(%15, %1, %14) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
    %16 = "xla_gpu.apply_indexing"(%7, %6) {map = "(th)[s0] -> (th * 4 + s0), domain: th in [0, 127], s0 in [0, 3]"} : (index, index) -> index
    %17 = "xla_gpu.load"(%0, %16) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
    "xla_gpu.store"(%17, %1, %16) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
    "scf.yield"() : () -> ()
  }, {
    %18 = "xla_gpu.apply_indexing"(%7) {map = "(d0) -> (min(4, d0 * -4 + 402)), domain: d0 in [0, 127]"} : (index) -> index
    "scf.for"(%3, %18, %4) ({
    ^bb0(%19: index):
      %20 = "xla_gpu.apply_indexing"(%7, %19) {map = "(th)[s0] -> (th * 4 + s0), domain: th in [0, 127], s0 in [0, 3]"} : (index, index) -> index
      %21 = "xla_gpu.load"(%0, %20) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
      "xla_gpu.store"(%21, %1, %20) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
      "scf.yield"() : () -> ()
    }) : (index, index, index) -> ()
    "scf.yield"() : () -> ()
  }) : (i1) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 1, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
