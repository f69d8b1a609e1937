// A reduction over lanes is one exchange per halved distance, each with the combiner's body behind it.
// target: sm_90
func.func @k(%a: tensor<128xf32>, %out: tensor<128xf32>) -> tensor<128xf32> attributes {fusebox.entry, fusebox.launch = array<i64: 1, 128>} {
  %t = gpu.thread_id x
  %x = tensor.extract %a[%t] : tensor<128xf32>
  %y = "xla_gpu.shuffle_reduce"(%x) {callee = @k.larger, max_distance = 2 : i64} : (f32) -> f32
  %done = tensor.insert %y into %out[%t] : tensor<128xf32>
  func.return %done : tensor<128xf32>
}

func.func private @k.larger(%x: f32, %y: f32) -> f32 {
  %r = arith.maximumf %x, %y : f32
  func.return %r : f32
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64, invariant} : (!llvm.ptr<1>, index) -> f32
  %4 = "xla_gpu.shuffle_down"(%3) {distance = 2 : i64, lanes = 32 : i64, site = "k: xla_gpu.shuffle_reduce at lanes_are_reduced_in_steps.mlir:6:8"} : (f32) -> f32
  %5 = "arith.maximumf"(%3, %4) : (f32, f32) -> f32
  %6 = "xla_gpu.shuffle_down"(%5) {distance = 1 : i64, lanes = 32 : i64, site = "k: xla_gpu.shuffle_reduce at lanes_are_reduced_in_steps.mlir:6:8"} : (f32) -> f32
  %7 = "arith.maximumf"(%5, %6) : (f32, f32) -> f32
  "xla_gpu.store"(%7, %1, %2) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 512 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 512 : i64, llvm.noalias, llvm.readonly}, {fusebox.bytes = 512 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 512 : i64, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 1, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
