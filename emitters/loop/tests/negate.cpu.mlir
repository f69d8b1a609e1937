"func.func"() ({
^bb0(%0: tensor<256x128xf32>, %1: tensor<256x128xf32>):
  %2 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %4 = "arith.constant"() {value = 0 : index} : () -> index
  %5 = "arith.constant"() {value = 1 : index} : () -> index
  %6 = "arith.constant"() {value = 128 : index} : () -> index
  %7 = "arith.constant"() {value = 256 : index} : () -> index
  %8 = "arith.constant"() {value = 128 : index} : () -> index
  %9 = "arith.muli"(%3, %6) : (index, index) -> index
  %10 = "arith.addi"(%9, %6) : (index, index) -> index
  %11 = "arith.minsi"(%10, %7) : (index, index) -> index
  %21 = "scf.for"(%9, %11, %5, %1) ({
  ^bb0(%12: index, %13: tensor<256x128xf32>):
    %14 = "arith.constant"() {value = 1 : index} : () -> index
    %15 = "xla_gpu.apply_indexing"(%12) {map = "(d0) -> (d0), domain: d0 in [0, 255]"} : (index) -> index
    %20 = "scf.for"(%4, %8, %14, %13) ({
    ^bb0(%16: index, %17: tensor<256x128xf32>):
      %18 = "xla_gpu.pure_call"(%0, %15, %16) {callee = @kernel.values.n} : (tensor<256x128xf32>, index, index) -> f32
      %19 = "tensor.insert"(%18, %17, %15, %16) : (f32, tensor<256x128xf32>, index, index) -> tensor<256x128xf32>
      "scf.yield"(%19) : (tensor<256x128xf32>) -> ()
    }) : (index, index, index, tensor<256x128xf32>) -> tensor<256x128xf32>
    "scf.yield"(%20) : (tensor<256x128xf32>) -> ()
  }) : (index, index, index, tensor<256x128xf32>) -> tensor<256x128xf32>
  "func.return"(%21) : (tensor<256x128xf32>) -> ()
}) {sym_name = "kernel", function_type = (tensor<256x128xf32>, tensor<256x128xf32>) -> tensor<256x128xf32>, fusebox.entry} : () -> ()
