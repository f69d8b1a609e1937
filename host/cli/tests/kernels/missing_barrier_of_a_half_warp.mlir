// The same where the last warp of the block is shorter than the others: nobody runs twice.
// launch: 2 x 48, 256 shared
// in: f32[96]
// out: f32[96]
// says: data race on element
// says: of shared tile 0
// says: read by thread
// says: write by thread
// says: no barrier separates them
// says: tensor.insert at kernel
func.func @kernel(%in: tensor<96xf32>, %out: tensor<96xf32>) -> tensor<96xf32> {
  %thread = gpu.thread_id x
  %block = gpu.block_id x
  %c48 = arith.constant 48 : index
  %c47 = arith.constant 47 : index
  %start = arith.muli %block, %c48 : index
  %mine = arith.addi %start, %thread : index
  %value = tensor.extract %in[%mine] : tensor<96xf32>
  %empty = "xla_gpu.allocate_shared"() : () -> tensor<48xf32>
  %tile = tensor.insert %value into %empty[%thread] : tensor<48xf32>
  %other = arith.subi %c47, %thread : index
  %full = "xla_gpu.sync_threads"(%tile) : (tensor<48xf32>) -> tensor<48xf32> // correct
  %read = tensor.extract %full[%other] : tensor<48xf32> // correct
  %read = tensor.extract %tile[%other] : tensor<48xf32> // broken
  %done = tensor.insert %read into %out[%mine] : tensor<96xf32>
  return %done : tensor<96xf32>
}
