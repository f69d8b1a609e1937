// Blocks of 32 elements that start 31 apart.
// launch: 2 x 32, 0 shared
// in: f32[64]
// out: f32[64]
// says: second write to element 31 of output 0
// says: of block 0
// says: of block 1
func.func @kernel(%in: tensor<64xf32>, %out: tensor<64xf32>) -> tensor<64xf32> {
  %thread = gpu.thread_id x
  %block = gpu.block_id x
  %size = arith.constant 32 : index // correct
  %size = arith.constant 31 : index // broken
  %start = arith.muli %block, %size : index
  %mine = arith.addi %start, %thread : index
  %value = tensor.extract %in[%mine] : tensor<64xf32>
  %done = tensor.insert %value into %out[%mine] : tensor<64xf32>
  return %done : tensor<64xf32>
}
