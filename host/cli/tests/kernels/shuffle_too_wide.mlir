// A block of 16 threads reduces over distance 16: lanes that it does not have.
// launch: 1 x 16, 0 shared
// in: f32[16]
// out: f32[1]
// says: a distance of 16 reaches over more than the 16 lanes of a warp
// says: xla_gpu.shuffle_reduce
func.func private @add(%a: f32, %b: f32) -> f32 {
  %sum = arith.addf %a, %b : f32
  return %sum : f32
}
func.func @kernel(%in: tensor<16xf32>, %out: tensor<1xf32>) -> tensor<1xf32> {
  %thread = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %value = tensor.extract %in[%thread] : tensor<16xf32>
  %sum = "xla_gpu.shuffle_reduce"(%value) {callee = @add, max_distance = 8 : i64} : (f32) -> f32 // correct
  %sum = "xla_gpu.shuffle_reduce"(%value) {callee = @add, max_distance = 16 : i64} : (f32) -> f32 // broken
  %is0 = arith.cmpi eq, %thread, %c0 : index
  %done = "xla_gpu.predicated_insert"(%is0, %sum, %out, %c0) : (i1, f32, tensor<1xf32>, index) -> tensor<1xf32>
  return %done : tensor<1xf32>
}
