// A tensor of the thread's own is memory on its stack, however often it is passed round a loop: loops pass no tensors.
// target: cpu
func.func @k(%out: tensor<8xf32>) -> tensor<8xf32> attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1.0 : f32
  %own = tensor.empty() : tensor<8xf32>
  %full = scf.for %i = %c0 to %c8 step %c1 iter_args(%now = %own) -> (tensor<8xf32>) {
    %next = tensor.insert %one into %now[%i] : tensor<8xf32>
    scf.yield %next : tensor<8xf32>
  }
  %x = tensor.extract %full[%c1] : tensor<8xf32>
  %done = tensor.insert %x into %out[%c0] : tensor<8xf32>
  func.return %done : tensor<8xf32>
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr):
  %1 = "arith.constant"() {value = 0 : index} : () -> index
  %2 = "arith.constant"() {value = 1 : index} : () -> index
  %3 = "arith.constant"() {value = 8 : index} : () -> index
  %4 = "arith.constant"() {value = 0x3F800000 : f32} : () -> f32
  %5 = "xla_gpu.stack_memory"() {bytes = 32 : i64, alignment = 64 : i64} : () -> !llvm.ptr
  "scf.for"(%1, %3, %2) ({
  ^bb0(%6: index):
    "xla_gpu.store"(%4, %5, %6) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
    "scf.yield"() : () -> ()
  }) : (index, index, index) -> ()
  %7 = "xla_gpu.load"(%5, %2) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
  "xla_gpu.store"(%7, %0, %1) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 32 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 32 : i64, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
