// Where no other thread can be, an update is a read, the region, and a write.
// target: cpu
func.func @k(%a: tensor<128xi32>, %out: tensor<4xi32>) -> tensor<4xi32> attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %t = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %x = tensor.extract %a[%t] : tensor<128xi32>
  %done = "xla_gpu.atomic_rmw"(%out, %c0) ({
  ^bb0(%old: i32):
    %new = arith.addi %x, %old : i32
    "xla_gpu.yield"(%new) : (i32) -> ()
  }) : (tensor<4xi32>, index) -> tensor<4xi32>
  func.return %done : tensor<4xi32>
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : index} : () -> index
  %3 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %4 = "xla_gpu.load"(%0, %3) {alignment = 64 : i64} : (!llvm.ptr, index) -> i32
  %5 = "xla_gpu.load"(%1, %2) {alignment = 64 : i64} : (!llvm.ptr, index) -> i32
  %6 = "arith.addi"(%4, %5) : (i32, i32) -> i32
  "xla_gpu.store"(%6, %1, %2) {alignment = 64 : i64} : (i32, !llvm.ptr, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 512 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 512 : i64, llvm.noalias, llvm.readonly}, {fusebox.bytes = 16 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 16 : i64, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
