// The sum of complex numbers is one of each part: no one reads the number before the kernel ends.
// target: gfx942
func.func @k(%a: tensor<128xcomplex<f32>>, %out: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> attributes {fusebox.entry, fusebox.launch = array<i64: 1, 128>} {
  %t = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %x = tensor.extract %a[%t] : tensor<128xcomplex<f32>>
  %done = "xla_gpu.atomic_rmw"(%out, %c0) ({
  ^bb0(%old: complex<f32>):
    %re = complex.re %old : complex<f32>
    %im = complex.im %old : complex<f32>
    %own_re = complex.re %x : complex<f32>
    %own_im = complex.im %x : complex<f32>
    %sum_re = arith.addf %re, %own_re : f32
    %sum_im = arith.addf %im, %own_im : f32
    %new = complex.create %sum_re, %sum_im : complex<f32>
    "xla_gpu.yield"(%new) : (complex<f32>) -> ()
  }) : (tensor<4xcomplex<f32>>, index) -> tensor<4xcomplex<f32>>
  func.return %done : tensor<4xcomplex<f32>>
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 0 : index} : () -> index
  %3 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %4 = "xla_gpu.load"(%0, %3) {alignment = 64 : i64, complex_part = 0 : i64, invariant} : (!llvm.ptr<1>, index) -> f32
  %5 = "xla_gpu.load"(%0, %3) {alignment = 64 : i64, complex_part = 1 : i64, invariant} : (!llvm.ptr<1>, index) -> f32
  %6 = "complex.create"(%4, %5) : (f32, f32) -> complex<f32>
  %7 = "complex.re"(%6) : (complex<f32>) -> f32
  %8 = "complex.im"(%6) : (complex<f32>) -> f32
  "xla_gpu.atomic_combine"(%7, %1, %2) {alignment = 64 : i64, complex_part = 0 : i64, threads = "agent", by = "arith.addf", element = f32} : (f32, !llvm.ptr<1>, index) -> ()
  "xla_gpu.atomic_combine"(%8, %1, %2) {alignment = 64 : i64, complex_part = 1 : i64, threads = "agent", by = "arith.addf", element = f32} : (f32, !llvm.ptr<1>, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 1024 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 1024 : i64, llvm.noalias, llvm.readonly}, {fusebox.bytes = 32 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 32 : i64, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 1, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
