// A product of matrices takes no tensors; the simulator is told where it comes from.
// target: sm_80
func.func @k(%a: tensor<32xf64>, %out: tensor<32xf64>) -> tensor<32xf64> attributes {fusebox.entry, fusebox.launch = array<i64: 1, 32>} {
  %t = gpu.thread_id x
  %x = tensor.extract %a[%t] : tensor<32xf64>
  %y:2 = "xla_gpu.mma"(%x, %x, %x, %x) {product = "m8n8k4.f64"} : (f64, f64, f64, f64) -> (f64, f64)
  %done = tensor.insert %y#1 into %out[%t] : tensor<32xf64>
  func.return %done : tensor<32xf64>
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64, invariant} : (!llvm.ptr<1>, index) -> f64
  %4, %5 = "xla_gpu.mma"(%3, %3, %3, %3) {product = "m8n8k4.f64", site = "k: xla_gpu.mma at products_of_matrices_have_a_place.mlir:6:10"} : (f64, f64, f64, f64) -> (f64, f64)
  "xla_gpu.store"(%5, %1, %2) {alignment = 64 : i64} : (f64, !llvm.ptr<1>, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 256 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 256 : i64, llvm.noalias, llvm.readonly}, {fusebox.bytes = 256 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 256 : i64, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 1, 32>, fusebox.shared_bytes = 49152 : i64} : () -> ()
