// The result is put into the input.
// launch: 1 x 32, 0 shared
// in: f32[32]
// out: f32[32]
// says: it writes a tensor that is read-only
func.func @kernel(%in: tensor<32xf32>, %out: tensor<32xf32>) -> tensor<32xf32> {
  %thread = gpu.thread_id x
  %value = tensor.extract %in[%thread] : tensor<32xf32>
  %negative = arith.negf %value : f32
  %done = tensor.insert %negative into %in[%thread] : tensor<32xf32> // broken
  %done = tensor.insert %negative into %out[%thread] : tensor<32xf32> // correct
  return %done : tensor<32xf32>
}
