// A barrier in a loop that some threads leave one turn earlier.
// launch: 1 x 64, 256 shared
// in: f32[64]
// out: f32[64]
// says: divergent barrier: thread
// says: has finished
func.func @kernel(%in: tensor<64xf32>, %out: tensor<64xf32>) -> tensor<64xf32> {
  %thread = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c63 = arith.constant 63 : index
  %c60 = arith.constant 60 : index
  %other = arith.subi %c63, %thread : index
  %value = tensor.extract %in[%thread] : tensor<64xf32>
  %empty = "xla_gpu.allocate_shared"() : () -> tensor<64xf32>
  %late = arith.cmpi slt, %thread, %c60 : index // broken
  %c2 = arith.constant 2 : index // broken
  %turns = arith.select %late, %c3, %c2 : index // broken
  %turns = arith.constant 3 : index // correct
  %last, %tile = scf.for %turn = %c0 to %turns step %c1 iter_args(%v = %value, %t = %empty)
      -> (f32, tensor<64xf32>) {
    %written = tensor.insert %v into %t[%thread] : tensor<64xf32>
    %full = "xla_gpu.sync_threads"(%written) : (tensor<64xf32>) -> tensor<64xf32>
    %read = tensor.extract %full[%other] : tensor<64xf32>
    %free = "xla_gpu.sync_threads"(%full) : (tensor<64xf32>) -> tensor<64xf32>
    scf.yield %read, %free : f32, tensor<64xf32>
  }
  %done = tensor.insert %last into %out[%thread] : tensor<64xf32>
  return %done : tensor<64xf32>
}
