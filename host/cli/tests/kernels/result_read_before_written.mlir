// A sum that starts from what the output holds: nothing yet.
// launch: 1 x 32, 0 shared
// in: f32[32]
// out: f32[32]
// says: of output 0, which has not been written, by thread
func.func @kernel(%in: tensor<32xf32>, %out: tensor<32xf32>) -> tensor<32xf32> {
  %thread = gpu.thread_id x
  %value = tensor.extract %in[%thread] : tensor<32xf32>
  %old = tensor.extract %out[%thread] : tensor<32xf32> // broken
  %old = arith.constant 0.0 : f32 // correct
  %sum = arith.addf %old, %value : f32
  %done = tensor.insert %sum into %out[%thread] : tensor<32xf32>
  return %done : tensor<32xf32>
}
