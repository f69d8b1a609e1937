// Only half of a tile is written before all of it is read.
// launch: 2 x 64, 256 shared
// in: f32[128]
// out: f32[128]
// says: of shared tile 0, which has not been written, by thread
// says: tensor.extract at kernel
func.func @kernel(%in: tensor<128xf32>, %out: tensor<128xf32>) -> tensor<128xf32> {
  %thread = gpu.thread_id x
  %block = gpu.block_id x
  %c32 = arith.constant 32 : index // broken
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %start = arith.muli %block, %c64 : index
  %mine = arith.addi %start, %thread : index
  %value = tensor.extract %in[%mine] : tensor<128xf32>
  %empty = "xla_gpu.allocate_shared"() : () -> tensor<64xf32>
  %lower = arith.cmpi slt, %thread, %c32 : index // broken
  %lower = arith.constant true // correct
  %tile = "xla_gpu.predicated_insert"(%lower, %value, %empty, %thread) : (i1, f32, tensor<64xf32>, index) -> tensor<64xf32>
  %full = "xla_gpu.sync_threads"(%tile) : (tensor<64xf32>) -> tensor<64xf32>
  %other = arith.subi %c63, %thread : index
  %read = tensor.extract %full[%other] : tensor<64xf32>
  %done = tensor.insert %read into %out[%mine] : tensor<128xf32>
  return %done : tensor<128xf32>
}
