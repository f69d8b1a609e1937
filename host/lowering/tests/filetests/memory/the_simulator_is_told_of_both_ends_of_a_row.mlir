// Of a row the first and the last index are reported, and all its bytes as one access.
// target: simt
func.func @k(%a: tensor<8x128xf32>, %out: tensor<8x128xf32>) -> tensor<8x128xf32> attributes {fusebox.entry, fusebox.launch = array<i64: 8, 1>} {
  %b = gpu.block_id x
  %i = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %v = vector.transfer_read %a[%b, %i], %zero {in_bounds = [true]} : tensor<8x128xf32>, vector<8xf32>
  %done = vector.transfer_write %v, %out[%b, %i] {in_bounds = [true]} : vector<8xf32>, tensor<8x128xf32>
  func.return %done : tensor<8x128xf32>
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 16 : index} : () -> index
  %3 = "arith.constant"() {value = 7 : index} : () -> index
  %4 = "arith.constant"() {value = 128 : index} : () -> index
  %5 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %6 = "arith.addi"(%2, %3) : (index, index) -> index
  "xla_gpu.report_index"(%0, %5) {dimension = 0 : i64, size = 8 : i64, site = "k: vector.transfer_read at the_simulator_is_told_of_both_ends_of_a_row.mlir:7:8"} : (!llvm.ptr, index) -> ()
  "xla_gpu.report_index"(%0, %2) {dimension = 1 : i64, size = 128 : i64, site = "k: vector.transfer_read at the_simulator_is_told_of_both_ends_of_a_row.mlir:7:8"} : (!llvm.ptr, index) -> ()
  "xla_gpu.report_index"(%0, %6) {dimension = 1 : i64, size = 128 : i64, site = "k: vector.transfer_read at the_simulator_is_told_of_both_ends_of_a_row.mlir:7:8"} : (!llvm.ptr, index) -> ()
  %7 = "arith.muli"(%5, %4) : (index, index) -> index
  %8 = "arith.addi"(%7, %2) : (index, index) -> index
  "xla_gpu.report_access"(%0, %8) {alignment = 64 : i64, element_bytes = 4 : i64, bytes = 32 : i64, kind = 0 : i64, site = "k: vector.transfer_read at the_simulator_is_told_of_both_ends_of_a_row.mlir:7:8"} : (!llvm.ptr, index) -> ()
  %9 = "xla_gpu.load"(%0, %8) {alignment = 64 : i64} : (!llvm.ptr, index) -> vector<8xf32>
  %10 = "arith.addi"(%2, %3) : (index, index) -> index
  "xla_gpu.report_index"(%1, %5) {dimension = 0 : i64, size = 8 : i64, site = "k: vector.transfer_write at the_simulator_is_told_of_both_ends_of_a_row.mlir:8:11"} : (!llvm.ptr, index) -> ()
  "xla_gpu.report_index"(%1, %2) {dimension = 1 : i64, size = 128 : i64, site = "k: vector.transfer_write at the_simulator_is_told_of_both_ends_of_a_row.mlir:8:11"} : (!llvm.ptr, index) -> ()
  "xla_gpu.report_index"(%1, %10) {dimension = 1 : i64, size = 128 : i64, site = "k: vector.transfer_write at the_simulator_is_told_of_both_ends_of_a_row.mlir:8:11"} : (!llvm.ptr, index) -> ()
  %11 = "arith.muli"(%5, %4) : (index, index) -> index
  %12 = "arith.addi"(%11, %2) : (index, index) -> index
  "xla_gpu.report_access"(%1, %12) {alignment = 64 : i64, element_bytes = 4 : i64, bytes = 32 : i64, kind = 1 : i64, site = "k: vector.transfer_write at the_simulator_is_told_of_both_ends_of_a_row.mlir:8:11"} : (!llvm.ptr, index) -> ()
  "xla_gpu.store"(%9, %1, %12) {alignment = 64 : i64} : (vector<8xf32>, !llvm.ptr, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 4096 : i64, llvm.noalias, llvm.readonly}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 4096 : i64, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 8, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
