// Integers of fewer bits than a byte lie in bytes of their own; so do their vectors. The upper bits are zero when
// written and ignored when read.
// target: cpu
func.func @k(%a: tensor<8xi4>, %out: tensor<8xi4>) -> tensor<8xi4> attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i4
  %x = tensor.extract %a[%c0] : tensor<8xi4>
  %v = vector.transfer_read %a[%c0], %zero {in_bounds = [true]} : tensor<8xi4>, vector<8xi4>
  %all = vector.broadcast %x : i4 to vector<8xi4>
  %sum = arith.addi %v, %all : vector<8xi4>
  %done = vector.transfer_write %sum, %out[%c0] {in_bounds = [true]} : vector<8xi4>, tensor<8xi4>
  func.return %done : tensor<8xi4>
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : index} : () -> index
  %3 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr, index) -> i8
  %4 = "arith.trunci"(%3) : (i8) -> i4
  %5 = "xla_gpu.load"(%0, %2) {alignment = 64 : i64} : (!llvm.ptr, index) -> vector<8xi8>
  %6 = "arith.trunci"(%5) : (vector<8xi8>) -> vector<8xi4>
  %7 = "vector.broadcast"(%4) : (i4) -> vector<8xi4>
  %8 = "arith.addi"(%6, %7) : (vector<8xi4>, vector<8xi4>) -> vector<8xi4>
  %9 = "arith.extui"(%8) : (vector<8xi4>) -> vector<8xi8>
  "xla_gpu.store"(%9, %1, %2) {alignment = 64 : i64} : (vector<8xi8>, !llvm.ptr, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 8 : i64, llvm.noalias, llvm.readonly}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 8 : i64, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
