// A constant tensor whose elements are all the same is not in memory: reading it is the constant.
// target: cpu
func.func @k(%out: tensor<8xf32>) -> tensor<8xf32> attributes {fusebox.entry, fusebox.launch = array<i64: 4, 1>} {
  %b = gpu.block_id x
  %table = arith.constant dense<2.5> : tensor<4x4xf32>
  %x = tensor.extract %table[%b, %b] : tensor<4x4xf32>
  %done = tensor.insert %x into %out[%b] : tensor<8xf32>
  func.return %done : tensor<8xf32>
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr):
  %1 = "arith.constant"() {value = 0x40200000 : f32} : () -> f32
  %2 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  "xla_gpu.store"(%1, %0, %2) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 32 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 32 : i64, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 4, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
