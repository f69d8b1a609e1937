// On a GPU, loads of what nobody writes are marked, for the read-only cache; buffers are in the global address space.
// target: sm_90
func.func @k(%a: tensor<8x128xf32>, %out: tensor<8x128xf32>) -> tensor<8x128xf32> attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %b = gpu.block_id x
  %t = gpu.thread_id x
  %x = tensor.extract %a[%b, %t] : tensor<8x128xf32>
  %done = tensor.insert %x into %out[%b, %t] : tensor<8x128xf32>
  func.return %done : tensor<8x128xf32>
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 128 : index} : () -> index
  %3 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %4 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %5 = "arith.muli"(%3, %2) : (index, index) -> index
  %6 = "arith.addi"(%5, %4) : (index, index) -> index
  %7 = "xla_gpu.load"(%0, %6) {alignment = 64 : i64, invariant} : (!llvm.ptr<1>, index) -> f32
  %8 = "arith.muli"(%3, %2) : (index, index) -> index
  %9 = "arith.addi"(%8, %4) : (index, index) -> index
  "xla_gpu.store"(%7, %1, %9) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 4096 : i64, llvm.noalias, llvm.readonly}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 4096 : i64, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 8, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
