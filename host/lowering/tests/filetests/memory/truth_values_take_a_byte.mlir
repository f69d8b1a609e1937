// In memory an i1 is a byte: anything but zero is true, and true is written as one.
// target: cpu
func.func @k(%a: tensor<8xi1>, %out: tensor<8xi1>) -> tensor<8xi1> attributes {fusebox.entry, fusebox.launch = array<i64: 8, 1>} {
  %b = gpu.block_id x
  %x = tensor.extract %a[%b] : tensor<8xi1>
  %true = arith.constant true
  %y = arith.xori %x, %true : i1
  %done = tensor.insert %y into %out[%b] : tensor<8xi1>
  func.return %done : tensor<8xi1>
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : i8} : () -> i8
  %3 = "arith.constant"() {value = true} : () -> i1
  %4 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %5 = "xla_gpu.load"(%0, %4) {alignment = 64 : i64} : (!llvm.ptr, index) -> i8
  %6 = "arith.cmpi"(%5, %2) {predicate = 1 : i64} : (i8, i8) -> i1
  %7 = "arith.xori"(%6, %3) : (i1, i1) -> i1
  %8 = "arith.extui"(%7) : (i1) -> i8
  "xla_gpu.store"(%8, %1, %4) {alignment = 64 : i64} : (i8, !llvm.ptr, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 8 : i64, llvm.noalias, llvm.readonly}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 8 : i64, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 8, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
