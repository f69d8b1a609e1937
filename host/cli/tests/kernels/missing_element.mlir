// The last element of each block is left out.
// launch: 2 x 32, 0 shared
// in: f32[64]
// out: f32[64]
// says: element 31 of output 0 is never written
func.func @kernel(%in: tensor<64xf32>, %out: tensor<64xf32>) -> tensor<64xf32> {
  %thread = gpu.thread_id x
  %block = gpu.block_id x
  %c32 = arith.constant 32 : index
  %count = arith.constant 31 : index // broken
  %count = arith.constant 32 : index // correct
  %start = arith.muli %block, %c32 : index
  %mine = arith.addi %start, %thread : index
  %value = tensor.extract %in[%mine] : tensor<64xf32>
  %inside = arith.cmpi slt, %thread, %count : index
  %done = "xla_gpu.predicated_insert"(%inside, %value, %out, %mine) : (i1, f32, tensor<64xf32>, index) -> tensor<64xf32>
  return %done : tensor<64xf32>
}
