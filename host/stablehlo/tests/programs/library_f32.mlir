module @jit_library attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1024xf32>, %arg1: tensor<1024xf32>) -> (tensor<1024xf32> {jax.result_info = "result[0]"}, tensor<1024xf32> {jax.result_info = "result[1]"}, tensor<1024xf32> {jax.result_info = "result[2]"}, tensor<1024xf32> {jax.result_info = "result[3]"}, tensor<1024xf32> {jax.result_info = "result[4]"}, tensor<1024xf32> {jax.result_info = "result[5]"}, tensor<1024xf32> {jax.result_info = "result[6]"}, tensor<1024xf32> {jax.result_info = "result[7]"}, tensor<1024xf32> {jax.result_info = "result[8]"}, tensor<1024xf32> {jax.result_info = "result[9]"}) {
    %0 = chlo.square %arg0 : tensor<1024xf32> -> tensor<1024xf32>
    %1 = chlo.atan %arg0 : tensor<1024xf32> -> tensor<1024xf32>
    %2 = chlo.erfc %arg0 : tensor<1024xf32> -> tensor<1024xf32>
    %3 = chlo.erf_inv %arg0 : tensor<1024xf32> -> tensor<1024xf32>
    %4 = chlo.lgamma %arg0 : tensor<1024xf32> -> tensor<1024xf32>
    %5 = chlo.digamma %arg0 : tensor<1024xf32> -> tensor<1024xf32>
    %6 = chlo.bessel_i1e %arg0 : tensor<1024xf32> -> tensor<1024xf32>
    %7 = chlo.zeta %arg0, %arg1 : tensor<1024xf32>, tensor<1024xf32> -> tensor<1024xf32>
    %8 = chlo.polygamma %arg0, %arg1 : tensor<1024xf32>, tensor<1024xf32> -> tensor<1024xf32>
    %9 = chlo.next_after %arg0, %arg1 : tensor<1024xf32>, tensor<1024xf32> -> tensor<1024xf32>
    return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>
  }
}
