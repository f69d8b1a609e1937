module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x5xf32>) -> (tensor<4x5xi1> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<[true, false, true, true, false]> : tensor<5xi1>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x5xf32>
    %1 = stablehlo.compare GT, %arg0, %0, FLOAT : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xi1>
    %2 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<5xi1>) -> tensor<1x5xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<1x5xi1>) -> tensor<4x5xi1>
    %4 = stablehlo.and %1, %3 : tensor<4x5xi1>
    return %4 : tensor<4x5xi1>
  }
}
