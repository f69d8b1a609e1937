// A complex number is two floats in memory, of which each is read and written by itself.
// target: cpu
func.func @k(%a: tensor<8xcomplex<f32>>, %out: tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>> attributes {fusebox.entry, fusebox.launch = array<i64: 8, 1>} {
  %b = gpu.block_id x
  %x = tensor.extract %a[%b] : tensor<8xcomplex<f32>>
  %done = tensor.insert %x into %out[%b] : tensor<8xcomplex<f32>>
  func.return %done : tensor<8xcomplex<f32>>
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64, complex_part = 0 : i64} : (!llvm.ptr, index) -> f32
  %4 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64, complex_part = 1 : i64} : (!llvm.ptr, index) -> f32
  %5 = "complex.create"(%3, %4) : (f32, f32) -> complex<f32>
  %6 = "complex.re"(%5) : (complex<f32>) -> f32
  "xla_gpu.store"(%6, %1, %2) {alignment = 64 : i64, complex_part = 0 : i64} : (f32, !llvm.ptr, index) -> ()
  %7 = "complex.im"(%5) : (complex<f32>) -> f32
  "xla_gpu.store"(%7, %1, %2) {alignment = 64 : i64, complex_part = 1 : i64} : (f32, !llvm.ptr, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 64 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 64 : i64, llvm.noalias, llvm.readonly}, {fusebox.bytes = 64 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 64 : i64, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 8, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
