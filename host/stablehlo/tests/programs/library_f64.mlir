module @jit_library attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1024xf64>, %arg1: tensor<1024xf64>) -> (tensor<1024xf64> {jax.result_info = "result[0]"}, tensor<1024xf64> {jax.result_info = "result[1]"}, tensor<1024xf64> {jax.result_info = "result[2]"}, tensor<1024xf64> {jax.result_info = "result[3]"}, tensor<1024xf64> {jax.result_info = "result[4]"}, tensor<1024xf64> {jax.result_info = "result[5]"}, tensor<1024xf64> {jax.result_info = "result[6]"}, tensor<1024xf64> {jax.result_info = "result[7]"}, tensor<1024xf64> {jax.result_info = "result[8]"}, tensor<1024xf64> {jax.result_info = "result[9]"}) {
    %0 = chlo.square %arg0 : tensor<1024xf64> -> tensor<1024xf64>
    %1 = chlo.atan %arg0 : tensor<1024xf64> -> tensor<1024xf64>
    %2 = chlo.erfc %arg0 : tensor<1024xf64> -> tensor<1024xf64>
    %3 = chlo.erf_inv %arg0 : tensor<1024xf64> -> tensor<1024xf64>
    %4 = chlo.lgamma %arg0 : tensor<1024xf64> -> tensor<1024xf64>
    %5 = chlo.digamma %arg0 : tensor<1024xf64> -> tensor<1024xf64>
    %6 = chlo.bessel_i1e %arg0 : tensor<1024xf64> -> tensor<1024xf64>
    %7 = chlo.zeta %arg0, %arg1 : tensor<1024xf64>, tensor<1024xf64> -> tensor<1024xf64>
    %8 = chlo.polygamma %arg0, %arg1 : tensor<1024xf64>, tensor<1024xf64> -> tensor<1024xf64>
    %9 = chlo.next_after %arg0, %arg1 : tensor<1024xf64>, tensor<1024xf64> -> tensor<1024xf64>
    return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : tensor<1024xf64>, tensor<1024xf64>, tensor<1024xf64>, tensor<1024xf64>, tensor<1024xf64>, tensor<1024xf64>, tensor<1024xf64>, tensor<1024xf64>, tensor<1024xf64>, tensor<1024xf64>
  }
}
