// Every thread writes one element further than its own.
// launch: 1 x 64, 0 shared
// in: f32[64]
// out: f32[64]
// says: index 64 out of bounds of dimension 0 (size 64) of output 0, by thread 63 of block 0: kernel: tensor.insert
func.func @kernel(%in: tensor<64xf32>, %out: tensor<64xf32>) -> tensor<64xf32> {
  %thread = gpu.thread_id x
  %shift = arith.constant 0 : index // correct
  %shift = arith.constant 1 : index // broken
  %value = tensor.extract %in[%thread] : tensor<64xf32>
  %place = arith.addi %thread, %shift : index
  %done = tensor.insert %value into %out[%place] : tensor<64xf32>
  return %done : tensor<64xf32>
}
