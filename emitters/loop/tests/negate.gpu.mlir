"func.func"() ({
^bb0(%0: tensor<256x128xf32>, %1: tensor<256x128xf32>):
  %2 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %10 = "xla_gpu.loop"(%2, %3, %1) ({
  ^bb0(%4: index, %5: index, %6: index, %7: tensor<256x128xf32>):
    %8 = "xla_gpu.pure_call"(%0, %5, %6) {callee = @kernel.values.n} : (tensor<256x128xf32>, index, index) -> f32
    %9 = "tensor.insert"(%8, %7, %5, %6) : (f32, tensor<256x128xf32>, index, index) -> tensor<256x128xf32>
    "xla_gpu.yield"(%9) : (tensor<256x128xf32>) -> ()
  }) {map = "(th, bl)[lane] -> (bl * 4 + th floordiv 32, lane + (th mod 32) * 4), domain: th in [0, 127], bl in [0, 63], lane in [0, 3]", unroll = array<i64: 0>} : (index, index, tensor<256x128xf32>) -> tensor<256x128xf32>
  "func.return"(%10) : (tensor<256x128xf32>) -> ()
}) {sym_name = "kernel", function_type = (tensor<256x128xf32>, tensor<256x128xf32>) -> tensor<256x128xf32>, fusebox.entry} : () -> ()
