// Both branches have a barrier, but not the same one.
// launch: 1 x 64, 256 shared
// in: f32[64]
// out: f32[64]
// says: divergent barrier: thread
// says: waits for a barrier
func.func @kernel(%in: tensor<64xf32>, %out: tensor<64xf32>) -> tensor<64xf32> {
  %thread = gpu.thread_id x
  %c32 = arith.constant 32 : index
  %c63 = arith.constant 63 : index
  %value = tensor.extract %in[%thread] : tensor<64xf32>
  %empty = "xla_gpu.allocate_shared"() : () -> tensor<64xf32>
  %lower = arith.cmpi slt, %thread, %c32 : index
  %tile = scf.if %lower -> tensor<64xf32> {
    %negative = arith.negf %value : f32
    %t = tensor.insert %negative into %empty[%thread] : tensor<64xf32>
    %u = "xla_gpu.sync_threads"(%t) : (tensor<64xf32>) -> tensor<64xf32> // broken
    scf.yield %u : tensor<64xf32> // broken
    scf.yield %t : tensor<64xf32> // correct
  } else {
    %t = tensor.insert %value into %empty[%thread] : tensor<64xf32>
    %u = "xla_gpu.sync_threads"(%t) : (tensor<64xf32>) -> tensor<64xf32> // broken
    scf.yield %u : tensor<64xf32> // broken
    scf.yield %t : tensor<64xf32> // correct
  }
  %full = "xla_gpu.sync_threads"(%tile) : (tensor<64xf32>) -> tensor<64xf32> // correct
  %other = arith.subi %c63, %thread : index
  %read = tensor.extract %full[%other] : tensor<64xf32> // correct
  %read = tensor.extract %tile[%other] : tensor<64xf32> // broken
  %done = tensor.insert %read into %out[%thread] : tensor<64xf32>
  return %done : tensor<64xf32>
}
