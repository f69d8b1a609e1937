// Two tiles where the plan has room for one.
// launch: 1 x 32, 256 shared
// in: f32[32]
// out: f32[32]
// says: 384 bytes of shared memory, the plan asks for 256
func.func @kernel(%in: tensor<32xf32>, %out: tensor<32xf32>) -> tensor<32xf32> {
  %thread = gpu.thread_id x
  %c31 = arith.constant 31 : index
  %other = arith.subi %c31, %thread : index
  %value = tensor.extract %in[%thread] : tensor<32xf32>
  %first = "xla_gpu.allocate_shared"() : () -> tensor<32xf32>
  %second = "xla_gpu.allocate_shared"() : () -> tensor<32xf32> // correct
  %written = tensor.insert %value into %second[%thread] : tensor<32xf32> // correct
  %full = "xla_gpu.sync_threads"(%written) : (tensor<32xf32>) -> tensor<32xf32> // correct
  %read = tensor.extract %full[%other] : tensor<32xf32> // correct
  %second = "xla_gpu.allocate_shared"() : () -> tensor<64xf32> // broken
  %written = tensor.insert %value into %second[%thread] : tensor<64xf32> // broken
  %full = "xla_gpu.sync_threads"(%written) : (tensor<64xf32>) -> tensor<64xf32> // broken
  %read = tensor.extract %full[%other] : tensor<64xf32> // broken
  %double = arith.addf %read, %value : f32
  %kept = tensor.insert %double into %first[%thread] : tensor<32xf32>
  %again = tensor.extract %kept[%thread] : tensor<32xf32>
  %done = tensor.insert %again into %out[%thread] : tensor<32xf32>
  return %done : tensor<32xf32>
}
