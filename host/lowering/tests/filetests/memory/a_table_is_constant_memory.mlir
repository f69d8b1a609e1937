// A constant tensor of different elements is memory that nobody writes, made at the beginning of the function.
// target: sm_90
func.func @k(%out: tensor<4xi32>) -> tensor<4xi32> attributes {fusebox.entry, fusebox.launch = array<i64: 1, 4>} {
  %t = gpu.thread_id x
  %table = arith.constant dense<[3, 1, 4, 1]> : tensor<4xi32>
  %x = tensor.extract %table[%t] : tensor<4xi32>
  %done = tensor.insert %x into %out[%t] : tensor<4xi32>
  func.return %done : tensor<4xi32>
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>):
  %1 = "xla_gpu.constant_memory"() {value = dense<"0x03000000010000000400000001000000"> : tensor<4xi32>} : () -> !llvm.ptr<1>
  %2 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "xla_gpu.load"(%1, %2) {alignment = 64 : i64, invariant} : (!llvm.ptr<1>, index) -> i32
  "xla_gpu.store"(%3, %0, %2) {alignment = 64 : i64} : (i32, !llvm.ptr<1>, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 16 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 16 : i64, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 1, 4>, fusebox.shared_bytes = 49152 : i64} : () -> ()
