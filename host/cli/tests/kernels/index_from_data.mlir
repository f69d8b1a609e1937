// A gather that trusts its indices: the input holds 0 to 63, the table 32 elements.
// launch: 1 x 64, 0 shared
// in: s32[64]
// in: f32[32]
// out: f32[64]
// says: tensor.extract at gather.7
// says: out of bounds of dimension 0 (size 32) of parameter 1, by thread
func.func @kernel(%indices: tensor<64xi32>, %table: tensor<32xf32>, %out: tensor<64xf32>) -> tensor<64xf32> {
  %thread = gpu.thread_id x
  %c31 = arith.constant 31 : index
  %index = tensor.extract %indices[%thread] : tensor<64xi32>
  %row = arith.index_cast %index : i32 to index
  %kept = arith.minsi %row, %c31 : index // correct
  %value = tensor.extract %table[%kept] : tensor<32xf32> // correct
  %value = tensor.extract %table[%row] : tensor<32xf32> loc("gather.7") // broken
  %done = tensor.insert %value into %out[%thread] : tensor<64xf32>
  return %done : tensor<64xf32>
}
