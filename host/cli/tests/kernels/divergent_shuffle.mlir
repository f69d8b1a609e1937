// Half of a warp reduces; a shuffle needs all of its lanes.
// launch: 1 x 32, 0 shared
// in: f32[32]
// out: f32[1]
// says: divergent shuffle over 8 lanes, by thread
// says: has finished
// says: xla_gpu.shuffle_reduce at kernel
func.func private @add(%a: f32, %b: f32) -> f32 {
  %sum = arith.addf %a, %b : f32
  return %sum : f32
}
func.func @kernel(%in: tensor<32xf32>, %out: tensor<1xf32>) -> tensor<1xf32> {
  %thread = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %value = tensor.extract %in[%thread] : tensor<32xf32>
  %sum = "xla_gpu.shuffle_reduce"(%value) {callee = @add, max_distance = 8 : i64} : (f32) -> f32 // correct
  %lower = arith.cmpi slt, %thread, %c16 : index
  %done = scf.if %lower -> tensor<1xf32> {
    %sum = "xla_gpu.shuffle_reduce"(%value) {callee = @add, max_distance = 8 : i64} : (f32) -> f32 // broken
    %is0 = arith.cmpi eq, %thread, %c0 : index
    %o = "xla_gpu.predicated_insert"(%is0, %sum, %out, %c0) : (i1, f32, tensor<1xf32>, index) -> tensor<1xf32>
    scf.yield %o : tensor<1xf32>
  } else {
    scf.yield %out : tensor<1xf32>
  }
  return %done : tensor<1xf32>
}
