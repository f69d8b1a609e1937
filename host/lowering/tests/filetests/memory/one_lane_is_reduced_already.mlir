// On the cpu a warp is one lane, which has the result already.
// target: cpu
func.func @k(%a: tensor<128xf32>, %out: tensor<128xf32>) -> tensor<128xf32> attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
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
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
  "xla_gpu.store"(%3, %1, %2) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 512 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 512 : i64, llvm.noalias, llvm.readonly}, {fusebox.bytes = 512 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 512 : i64, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
