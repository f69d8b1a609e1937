// Reverses a block's elements through a tile: every thread reads what another wrote.
// launch: 2 x 64, 256 shared
// in: f32[128]
// out: f32[128]
// says: data race on element
// says: of shared tile 0
// says: read by thread
// says: write by thread
// says: no barrier separates them
// says: tensor.insert at kernel
func.func @kernel(%in: tensor<128xf32>, %out: tensor<128xf32>) -> tensor<128xf32> {
  %thread = gpu.thread_id x
  %block = gpu.block_id x
  %c64 = arith.constant 64 : index
  %c63 = arith.constant 63 : index
  %start = arith.muli %block, %c64 : index
  %mine = arith.addi %start, %thread : index
  %value = tensor.extract %in[%mine] : tensor<128xf32>
  %empty = "xla_gpu.allocate_shared"() : () -> tensor<64xf32>
  %tile = tensor.insert %value into %empty[%thread] : tensor<64xf32>
  %other = arith.subi %c63, %thread : index
  %full = "xla_gpu.sync_threads"(%tile) : (tensor<64xf32>) -> tensor<64xf32> // correct
  %read = tensor.extract %full[%other] : tensor<64xf32> // correct
  %read = tensor.extract %tile[%other] : tensor<64xf32> // broken
  %done = tensor.insert %read into %out[%mine] : tensor<128xf32>
  return %done : tensor<128xf32>
}
