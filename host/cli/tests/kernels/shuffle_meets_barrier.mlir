// Some lanes of a warp shuffle while the others wait at a barrier.
// launch: 1 x 32, 128 shared
// in: f32[32]
// out: f32[32]
// says: divergent shuffle over 16 lanes, by thread
// says: waits for a barrier: kernel: xla_gpu.sync_threads
func.func private @add(%a: f32, %b: f32) -> f32 {
  %sum = arith.addf %a, %b : f32
  return %sum : f32
}
func.func @kernel(%in: tensor<32xf32>, %out: tensor<32xf32>) -> tensor<32xf32> {
  %thread = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %value = tensor.extract %in[%thread] : tensor<32xf32>
  %tile = "xla_gpu.allocate_shared"() : () -> tensor<1xf32>
  %few = arith.cmpi slt, %thread, %c5 : index
  %is0 = arith.cmpi eq, %thread, %c0 : index
  %sum = scf.if %few -> f32 { // broken
    %s = "xla_gpu.shuffle_reduce"(%value) {callee = @add, max_distance = 16 : i64} : (f32) -> f32 // broken
    scf.yield %s : f32 // broken
  } else { // broken
    scf.yield %value : f32 // broken
  } // broken
  %sum = "xla_gpu.shuffle_reduce"(%value) {callee = @add, max_distance = 16 : i64} : (f32) -> f32 // correct
  %written = "xla_gpu.predicated_insert"(%is0, %sum, %tile, %c0) : (i1, f32, tensor<1xf32>, index) -> tensor<1xf32>
  %full = "xla_gpu.sync_threads"(%written) : (tensor<1xf32>) -> tensor<1xf32>
  %read = tensor.extract %full[%c0] : tensor<1xf32>
  %done = tensor.insert %read into %out[%thread] : tensor<32xf32>
  return %done : tensor<32xf32>
}
