// Two threads write each element.
// launch: 1 x 64, 0 shared
// in: f32[64]
// out: f32[64]
// says: second write to element
// says: of output 0
// says: the first by thread
// says: element 32 of output 0 is never written
func.func @kernel(%in: tensor<64xf32>, %out: tensor<64xf32>) -> tensor<64xf32> {
  %thread = gpu.thread_id x
  %c2 = arith.constant 2 : index
  %value = tensor.extract %in[%thread] : tensor<64xf32>
  %half = arith.divui %thread, %c2 : index
  %done = tensor.insert %value into %out[%half] : tensor<64xf32> // broken
  %done = tensor.insert %value into %out[%thread] : tensor<64xf32> // correct
  return %done : tensor<64xf32>
}
