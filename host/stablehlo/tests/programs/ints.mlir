module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5xui8>) -> (tensor<5xui8> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<1> : tensor<ui8>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui8>) -> tensor<5xui8>
    %1 = stablehlo.shift_right_logical %arg0, %0 : tensor<5xui8>
    %c_0 = stablehlo.constant dense<3> : tensor<ui8>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<ui8>) -> tensor<5xui8>
    %3 = stablehlo.and %arg0, %2 : tensor<5xui8>
    %4 = stablehlo.or %1, %3 : tensor<5xui8>
    return %4 : tensor<5xui8>
  }
}
