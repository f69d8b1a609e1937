// A row that nobody reads soon is written past the caches, if the kernel says so.
// target: cpu
func.func @k(%a: tensor<8x128xf32>, %out: tensor<8x128xf32>) -> tensor<8x128xf32> attributes {fusebox.entry, fusebox.launch = array<i64: 8, 1>} {
  %b = gpu.block_id x
  %i = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %v = vector.transfer_read %a[%b, %i], %zero {in_bounds = [true]} : tensor<8x128xf32>, vector<8xf32>
  %done = vector.transfer_write %v, %out[%b, %i] {fusebox.past_caches, in_bounds = [true]} : vector<8xf32>, tensor<8x128xf32>
  func.return %done : tensor<8x128xf32>
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 16 : index} : () -> index
  %3 = "arith.constant"() {value = 128 : index} : () -> index
  %4 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %5 = "arith.muli"(%4, %3) : (index, index) -> index
  %6 = "arith.addi"(%5, %2) : (index, index) -> index
  %7 = "xla_gpu.load"(%0, %6) {alignment = 64 : i64} : (!llvm.ptr, index) -> vector<8xf32>
  %8 = "arith.muli"(%4, %3) : (index, index) -> index
  %9 = "arith.addi"(%8, %2) : (index, index) -> index
  "xla_gpu.store"(%7, %1, %9) {alignment = 64 : i64, past_caches} : (vector<8xf32>, !llvm.ptr, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 4096 : i64, llvm.noalias, llvm.readonly}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 4096 : i64, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 8, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
