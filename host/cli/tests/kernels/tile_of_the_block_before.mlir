// A tile that only the first block fills: every block has one of its own.
// launch: 2 x 32, 128 shared
// in: f32[64]
// out: f32[64]
// says: of shared tile 0, which has not been written, by thread
// says: of block 1
func.func @kernel(%in: tensor<64xf32>, %out: tensor<64xf32>) -> tensor<64xf32> {
  %thread = gpu.thread_id x
  %block = gpu.block_id x
  %c0 = arith.constant 0 : index
  %c31 = arith.constant 31 : index
  %c32 = arith.constant 32 : index
  %start = arith.muli %block, %c32 : index
  %mine = arith.addi %start, %thread : index
  %value = tensor.extract %in[%thread] : tensor<64xf32>
  %empty = "xla_gpu.allocate_shared"() : () -> tensor<32xf32>
  %first = arith.cmpi eq, %block, %c0 : index // broken
  %first = arith.constant true // correct
  %tile = "xla_gpu.predicated_insert"(%first, %value, %empty, %thread) : (i1, f32, tensor<32xf32>, index) -> tensor<32xf32>
  %full = "xla_gpu.sync_threads"(%tile) : (tensor<32xf32>) -> tensor<32xf32>
  %other = arith.subi %c31, %thread : index
  %read = tensor.extract %full[%other] : tensor<32xf32>
  %done = tensor.insert %read into %out[%mine] : tensor<64xf32>
  return %done : tensor<64xf32>
}
