module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x5xf32>) -> (tensor<4x4xbf16> {jax.result_info = "result"}) {
    %0 = stablehlo.convert %arg0 : (tensor<4x5xf32>) -> tensor<4x5xbf16>
    %1 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<4x5xf32>) -> tensor<5x4xf32>
    %2 = stablehlo.convert %1 : (tensor<5x4xf32>) -> tensor<5x4xbf16>
    %3 = stablehlo.dot_general %0, %2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x5xbf16>, tensor<5x4xbf16>) -> tensor<4x4xbf16>
    return %3 : tensor<4x4xbf16>
  }
}
