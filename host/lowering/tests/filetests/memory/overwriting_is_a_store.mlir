// An update that does not ask what was there is a store that no other thread sees half of.
// target: sm_90
func.func @k(%a: tensor<128xf32>, %out: tensor<4xf32>) -> tensor<4xf32> attributes {fusebox.entry, fusebox.launch = array<i64: 1, 128>} {
  %t = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %x = tensor.extract %a[%t] : tensor<128xf32>
  %done = "xla_gpu.atomic_rmw"(%out, %c0) ({
  ^bb0(%old: f32):
    %new = arith.mulf %x, %x : f32
    "xla_gpu.yield"(%new) : (f32) -> ()
  }) : (tensor<4xf32>, index) -> tensor<4xf32>
  func.return %done : tensor<4xf32>
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 0 : index} : () -> index
  %3 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %4 = "xla_gpu.load"(%0, %3) {alignment = 64 : i64, invariant} : (!llvm.ptr<1>, index) -> f32
  %5 = "arith.mulf"(%4, %4) : (f32, f32) -> f32
  %6 = "arith.bitcast"(%5) : (f32) -> i32
  "xla_gpu.atomic_store"(%6, %1, %2) {alignment = 64 : i64, threads = "device"} : (i32, !llvm.ptr<1>, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 512 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 512 : i64, llvm.noalias, llvm.readonly}, {fusebox.bytes = 16 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 16 : i64, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 1, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
