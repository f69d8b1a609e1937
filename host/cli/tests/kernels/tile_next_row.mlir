// A tile of 8 by 8 read one column too far: the element is there, in the next row.
// launch: 1 x 64, 256 shared
// in: f32[64]
// out: f32[64]
// says: index 8 out of bounds of dimension 1 (size 8) of shared tile 0
func.func @kernel(%in: tensor<64xf32>, %out: tensor<64xf32>) -> tensor<64xf32> {
  %thread = gpu.thread_id x
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %row = arith.divui %thread, %c8 : index
  %column = arith.remui %thread, %c8 : index
  %value = tensor.extract %in[%thread] : tensor<64xf32>
  %empty = "xla_gpu.allocate_shared"() : () -> tensor<8x8xf32>
  %tile = tensor.insert %value into %empty[%row, %column] : tensor<8x8xf32>
  %full = "xla_gpu.sync_threads"(%tile) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %next = arith.addi %column, %c1 : index
  %wrapped = arith.remui %next, %c8 : index
  %read = tensor.extract %full[%row, %wrapped] : tensor<8x8xf32> // correct
  %read = tensor.extract %full[%row, %next] : tensor<8x8xf32> // broken
  %done = tensor.insert %read into %out[%thread] : tensor<64xf32>
  return %done : tensor<64xf32>
}
