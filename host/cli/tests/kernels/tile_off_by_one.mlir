// Differences of neighbours through a tile that lacks the last neighbour.
// launch: 1 x 64, 260 shared
// in: f32[65]
// out: f32[64]
// says: index 64 out of bounds of dimension 0 (size 64) of shared tile 0, by thread 63 of block 0
func.func @kernel(%in: tensor<65xf32>, %out: tensor<64xf32>) -> tensor<64xf32> {
  %thread = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %value = tensor.extract %in[%thread] : tensor<65xf32>
  %empty = "xla_gpu.allocate_shared"() : () -> tensor<64xf32> // broken
  %tile = tensor.insert %value into %empty[%thread] : tensor<64xf32> // broken
  %full = "xla_gpu.sync_threads"(%tile) : (tensor<64xf32>) -> tensor<64xf32> // broken
  %empty = "xla_gpu.allocate_shared"() : () -> tensor<65xf32> // correct
  %most = tensor.insert %value into %empty[%thread] : tensor<65xf32> // correct
  %is0 = arith.cmpi eq, %thread, %c0 : index // correct
  %last = tensor.extract %in[%c64] : tensor<65xf32> // correct
  %tile = "xla_gpu.predicated_insert"(%is0, %last, %most, %c64) : (i1, f32, tensor<65xf32>, index) -> tensor<65xf32> // correct
  %full = "xla_gpu.sync_threads"(%tile) : (tensor<65xf32>) -> tensor<65xf32> // correct
  %above = arith.addi %thread, %c1 : index
  %next = tensor.extract %full[%above] : tensor<64xf32> // broken
  %next = tensor.extract %full[%above] : tensor<65xf32> // correct
  %difference = arith.subf %next, %value : f32
  %done = tensor.insert %difference into %out[%thread] : tensor<64xf32>
  return %done : tensor<64xf32>
}
