// Neighbours of an in-place output are read while their threads replace them.
// launch: 1 x 64, 256 shared
// in_place: f32[64]
// says: data race on element
// says: of output 0
// says: no barrier separates them
func.func @kernel(%out: tensor<64xf32>) -> tensor<64xf32> {
  %thread = gpu.thread_id x
  %c63 = arith.constant 63 : index
  %other = arith.subi %c63, %thread : index
  %value = tensor.extract %out[%other] : tensor<64xf32>
  %ready = "xla_gpu.sync_threads"(%out) : (tensor<64xf32>) -> tensor<64xf32> // correct
  %done = tensor.insert %value into %ready[%thread] : tensor<64xf32> // correct
  %done = tensor.insert %value into %out[%thread] : tensor<64xf32> // broken
  return %done : tensor<64xf32>
}
