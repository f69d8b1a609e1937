// Half of the block waits at a barrier that the others never reach.
// launch: 1 x 64, 256 shared
// in: f32[64]
// out: f32[64]
// says: divergent barrier: thread
// says: has finished
// says: xla_gpu.sync_threads at kernel
func.func @kernel(%in: tensor<64xf32>, %out: tensor<64xf32>) -> tensor<64xf32> {
  %thread = gpu.thread_id x
  %c32 = arith.constant 32 : index
  %value = tensor.extract %in[%thread] : tensor<64xf32>
  %empty = "xla_gpu.allocate_shared"() : () -> tensor<64xf32>
  %tile = tensor.insert %value into %empty[%thread] : tensor<64xf32>
  %full = "xla_gpu.sync_threads"(%tile) : (tensor<64xf32>) -> tensor<64xf32> // correct
  %lower = arith.cmpi slt, %thread, %c32 : index
  %read = scf.if %lower -> f32 {
    %full = "xla_gpu.sync_threads"(%tile) : (tensor<64xf32>) -> tensor<64xf32> // broken
    %above = arith.addi %thread, %c32 : index
    %x = tensor.extract %full[%above] : tensor<64xf32>
    scf.yield %x : f32
  } else {
    scf.yield %value : f32
  }
  %done = tensor.insert %read into %out[%thread] : tensor<64xf32>
  return %done : tensor<64xf32>
}
