// Four elements at a time from rows of 12, one column too far: the last four reach into the next row.
// launch: 1 x 12, 0 shared
// in: f32[4,12]
// out: f32[4,12]
// says: index 12 out of bounds of dimension 1 (size 12) of parameter 0
// says: vector.transfer_read at kernel
func.func @kernel(%in: tensor<4x12xf32>, %out: tensor<4x12xf32>) -> tensor<4x12xf32> {
  %thread = gpu.thread_id x
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index // broken
  %pad = arith.constant 0.0 : f32
  %row = arith.divui %thread, %c3 : index
  %group = arith.remui %thread, %c3 : index
  %start = arith.muli %group, %c4 : index
  %column = arith.addi %start, %c1 : index // broken
  %four = vector.transfer_read %in[%row, %column], %pad {in_bounds = [true]} : tensor<4x12xf32>, vector<4xf32> // broken
  %four = vector.transfer_read %in[%row, %start], %pad {in_bounds = [true]} : tensor<4x12xf32>, vector<4xf32> // correct
  %done = vector.transfer_write %four, %out[%row, %start] {in_bounds = [true]} : vector<4xf32>, tensor<4x12xf32>
  return %done : tensor<4x12xf32>
}
