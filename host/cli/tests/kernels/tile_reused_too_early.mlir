// Two rounds through one tile: the second overwrites what threads of the first still read.
// launch: 1 x 64, 256 shared
// in: f32[128]
// out: f32[128]
// says: data race on element
// says: write by thread
// says: read by thread
// says: of shared tile 0
func.func @kernel(%in: tensor<128xf32>, %out: tensor<128xf32>) -> tensor<128xf32> {
  %thread = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c63 = arith.constant 63 : index
  %other = arith.subi %c63, %thread : index
  %empty = "xla_gpu.allocate_shared"() : () -> tensor<64xf32>
  %done, %tile = scf.for %round = %c0 to %c2 step %c1 iter_args(%o = %out, %t = %empty)
      -> (tensor<128xf32>, tensor<64xf32>) {
    %start = arith.muli %round, %c64 : index
    %mine = arith.addi %start, %thread : index
    %value = tensor.extract %in[%mine] : tensor<128xf32>
    %written = tensor.insert %value into %t[%thread] : tensor<64xf32>
    %full = "xla_gpu.sync_threads"(%written) : (tensor<64xf32>) -> tensor<64xf32>
    %read = tensor.extract %full[%other] : tensor<64xf32>
    %free = "xla_gpu.sync_threads"(%full) : (tensor<64xf32>) -> tensor<64xf32> // correct
    %next = tensor.insert %read into %o[%mine] : tensor<128xf32>
    scf.yield %next, %free : tensor<128xf32>, tensor<64xf32> // correct
    scf.yield %next, %full : tensor<128xf32>, tensor<64xf32> // broken
  }
  return %done : tensor<128xf32>
}
