// The neighbour below the first element.
// launch: 1 x 64, 0 shared
// in: s32[64]
// out: s32[64]
// says: index -1 out of bounds of dimension 0 (size 64) of parameter 0, by thread 0 of block 0
func.func @kernel(%in: tensor<64xi32>, %out: tensor<64xi32>) -> tensor<64xi32> {
  %thread = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %below = arith.subi %thread, %c1 : index
  %value = tensor.extract %in[%below] : tensor<64xi32> // broken
  %inside = arith.cmpi sgt, %thread, %c0 : index // correct
  %value = "xla_gpu.predicated_extract"(%inside, %zero, %in, %below) : (i1, i32, tensor<64xi32>, index) -> i32 // correct
  %done = tensor.insert %value into %out[%thread] : tensor<64xi32>
  return %done : tensor<64xi32>
}
