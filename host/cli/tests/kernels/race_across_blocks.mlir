// Every block reads an element of an in-place output that another block replaces.
// launch: 2 x 32, 0 shared
// in_place: f32[64]
// says: data race on element
// says: of output 0
// says: of block 0
// says: of block 1
// says: blocks run in no fixed order
func.func @kernel(%out: tensor<64xf32>) -> tensor<64xf32> {
  %thread = gpu.thread_id x
  %block = gpu.block_id x
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %start = arith.muli %block, %c32 : index
  %mine = arith.addi %start, %thread : index
  %far = arith.addi %mine, %c32 : index
  %other = arith.remui %far, %c64 : index
  %value = tensor.extract %out[%other] : tensor<64xf32> // broken
  %value = tensor.extract %out[%mine] : tensor<64xf32> // correct
  %negative = arith.negf %value : f32
  %done = tensor.insert %negative into %out[%mine] : tensor<64xf32>
  return %done : tensor<64xf32>
}
