// A function that is called with tensors of which different things are known is written once for each: here of the
// input and of the result.
// target: sm_90
func.func @k(%a: tensor<128xf32>, %out: tensor<128xf32>) -> tensor<128xf32> attributes {fusebox.entry, fusebox.launch = array<i64: 1, 128>} {
  %t = gpu.thread_id x
  %x = "xla_gpu.pure_call"(%a, %t) {callee = @k.twice} : (tensor<128xf32>, index) -> f32
  %first = tensor.insert %x into %out[%t] : tensor<128xf32>
  %y = "xla_gpu.pure_call"(%first, %t) {callee = @k.twice} : (tensor<128xf32>, index) -> f32
  %z = "xla_gpu.pure_call"(%a, %t) {callee = @k.twice} : (tensor<128xf32>, index) -> f32
  %sum = arith.addf %y, %z : f32
  %done = tensor.insert %sum into %first[%t] : tensor<128xf32>
  func.return %done : tensor<128xf32>
}

func.func private @k.twice(%a: tensor<128xf32>, %i: index) -> f32 {
  %x = tensor.extract %a[%i] : tensor<128xf32>
  %r = arith.addf %x, %x : f32
  func.return %r : f32
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "xla_gpu.pure_call"(%0, %2) {callee = @k.twice} : (!llvm.ptr<1>, index) -> f32
  "xla_gpu.store"(%3, %1, %2) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
  %4 = "xla_gpu.pure_call"(%1, %2) {callee = @k.twice.1} : (!llvm.ptr<1>, index) -> f32
  %5 = "xla_gpu.pure_call"(%0, %2) {callee = @k.twice} : (!llvm.ptr<1>, index) -> f32
  %6 = "arith.addf"(%4, %5) : (f32, f32) -> f32
  "xla_gpu.store"(%6, %1, %2) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 512 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 512 : i64, llvm.noalias, llvm.readonly}, {fusebox.bytes = 512 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 512 : i64, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 1, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: index):
  %2 = "xla_gpu.load"(%0, %1) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> f32
  %3 = "arith.addf"(%2, %2) : (f32, f32) -> f32
  "func.return"(%3) : (f32) -> ()
}) {sym_name = "k.twice.1", function_type = (!llvm.ptr<1>, index) -> f32, sym_visibility = "private"} : () -> ()
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: index):
  %2 = "xla_gpu.load"(%0, %1) {alignment = 64 : i64, invariant} : (!llvm.ptr<1>, index) -> f32
  %3 = "arith.addf"(%2, %2) : (f32, f32) -> f32
  "func.return"(%3) : (f32) -> ()
}) {sym_name = "k.twice", function_type = (!llvm.ptr<1>, index) -> f32, sym_visibility = "private"} : () -> ()
