// Two updates of an in-place output that overlap.
// launch: 1 x 32, 0 shared
// in: f32[32]
// in_place: f32[64]
// says: second write to element
// says: of output 0
func.func @kernel(%in: tensor<32xf32>, %out: tensor<64xf32>) -> tensor<64xf32> {
  %thread = gpu.thread_id x
  %far = arith.constant 32 : index // correct
  %far = arith.constant 24 : index // broken
  %value = tensor.extract %in[%thread] : tensor<32xf32>
  %first = tensor.insert %value into %out[%thread] : tensor<64xf32>
  %second = arith.addi %thread, %far : index
  %done = tensor.insert %value into %first[%second] : tensor<64xf32>
  return %done : tensor<64xf32>
}
