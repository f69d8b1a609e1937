// For the simulator every access is reported before it happens, and every index beside its limit: an index too large
// in one dimension may be an element of the next row.
// target: simt
func.func @k(%a: tensor<8x128xf32>, %out: tensor<8x128xf32>) -> tensor<8x128xf32> attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %b = gpu.block_id x
  %t = gpu.thread_id x
  %x = tensor.extract %a[%b, %t] : tensor<8x128xf32>
  %done = tensor.insert %x into %out[%b, %t] : tensor<8x128xf32>
  func.return %done : tensor<8x128xf32>
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 128 : index} : () -> index
  %3 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %4 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  "xla_gpu.report_index"(%0, %3) {dimension = 0 : i64, size = 8 : i64, site = "k: tensor.extract at the_simulator_is_told_of_accesses.mlir:7:8"} : (!llvm.ptr, index) -> ()
  "xla_gpu.report_index"(%0, %4) {dimension = 1 : i64, size = 128 : i64, site = "k: tensor.extract at the_simulator_is_told_of_accesses.mlir:7:8"} : (!llvm.ptr, index) -> ()
  %5 = "arith.muli"(%3, %2) : (index, index) -> index
  %6 = "arith.addi"(%5, %4) : (index, index) -> index
  "xla_gpu.report_access"(%0, %6) {alignment = 64 : i64, element_bytes = 4 : i64, bytes = 4 : i64, kind = 0 : i64, site = "k: tensor.extract at the_simulator_is_told_of_accesses.mlir:7:8"} : (!llvm.ptr, index) -> ()
  %7 = "xla_gpu.load"(%0, %6) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
  "xla_gpu.report_index"(%1, %3) {dimension = 0 : i64, size = 8 : i64, site = "k: tensor.insert at the_simulator_is_told_of_accesses.mlir:8:11"} : (!llvm.ptr, index) -> ()
  "xla_gpu.report_index"(%1, %4) {dimension = 1 : i64, size = 128 : i64, site = "k: tensor.insert at the_simulator_is_told_of_accesses.mlir:8:11"} : (!llvm.ptr, index) -> ()
  %8 = "arith.muli"(%3, %2) : (index, index) -> index
  %9 = "arith.addi"(%8, %4) : (index, index) -> index
  "xla_gpu.report_access"(%1, %9) {alignment = 64 : i64, element_bytes = 4 : i64, bytes = 4 : i64, kind = 1 : i64, site = "k: tensor.insert at the_simulator_is_told_of_accesses.mlir:8:11"} : (!llvm.ptr, index) -> ()
  "xla_gpu.store"(%7, %1, %9) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 4096 : i64, llvm.noalias, llvm.readonly}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 4096 : i64, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 8, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
