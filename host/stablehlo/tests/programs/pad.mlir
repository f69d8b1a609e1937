module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x5xf32>) -> (tensor<10x1xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.slice %arg0 [0:4, 1:4:2] : (tensor<4x5xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.reverse %0, dims = [0] : tensor<4x2xf32>
    %cst = stablehlo.constant dense<7.000000e+00> : tensor<f32>
    %2 = stablehlo.pad %1, %cst, low = [1, -1], high = [2, 0], interior = [1, 0] : (tensor<4x2xf32>, tensor<f32>) -> tensor<10x1xf32>
    return %2 : tensor<10x1xf32>
  }
}
