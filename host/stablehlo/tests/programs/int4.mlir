module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5xi8>) -> (tensor<5xi8> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<[-3, 7, 0, 1, 2]> : tensor<5xi4>
    %0 = stablehlo.convert %arg0 : (tensor<5xi8>) -> tensor<5xi4>
    %1 = stablehlo.add %0, %c : tensor<5xi4>
    %2 = stablehlo.convert %1 : (tensor<5xi4>) -> tensor<5xi8>
    return %2 : tensor<5xi8>
  }
}
