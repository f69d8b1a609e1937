module @jit_library attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1024xbf16>, %arg1: tensor<1024xbf16>) -> (tensor<1024xbf16> {jax.result_info = "result[0]"}, tensor<1024xbf16> {jax.result_info = "result[1]"}, tensor<1024xbf16> {jax.result_info = "result[2]"}, tensor<1024xbf16> {jax.result_info = "result[3]"}, tensor<1024xbf16> {jax.result_info = "result[4]"}, tensor<1024xbf16> {jax.result_info = "result[5]"}, tensor<1024xbf16> {jax.result_info = "result[6]"}, tensor<1024xbf16> {jax.result_info = "result[7]"}, tensor<1024xbf16> {jax.result_info = "result[8]"}, tensor<1024xbf16> {jax.result_info = "result[9]"}) {
    %0 = chlo.square %arg0 : tensor<1024xbf16> -> tensor<1024xbf16>
    %1 = chlo.atan %arg0 : tensor<1024xbf16> -> tensor<1024xbf16>
    %2 = chlo.erfc %arg0 : tensor<1024xbf16> -> tensor<1024xbf16>
    %3 = chlo.erf_inv %arg0 : tensor<1024xbf16> -> tensor<1024xbf16>
    %4 = chlo.lgamma %arg0 : tensor<1024xbf16> -> tensor<1024xbf16>
    %5 = chlo.digamma %arg0 : tensor<1024xbf16> -> tensor<1024xbf16>
    %6 = chlo.bessel_i1e %arg0 : tensor<1024xbf16> -> tensor<1024xbf16>
    %7 = chlo.zeta %arg0, %arg1 : tensor<1024xbf16>, tensor<1024xbf16> -> tensor<1024xbf16>
    %8 = chlo.polygamma %arg0, %arg1 : tensor<1024xbf16>, tensor<1024xbf16> -> tensor<1024xbf16>
    %9 = chlo.next_after %arg0, %arg1 : tensor<1024xbf16>, tensor<1024xbf16> -> tensor<1024xbf16>
    return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : tensor<1024xbf16>, tensor<1024xbf16>, tensor<1024xbf16>, tensor<1024xbf16>, tensor<1024xbf16>, tensor<1024xbf16>, tensor<1024xbf16>, tensor<1024xbf16>, tensor<1024xbf16>, tensor<1024xbf16>
  }
}
