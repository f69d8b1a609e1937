// Sixteen threads add to each element: read, add, write, without being alone.
// launch: 2 x 32, 0 shared
// in: s32[64]
// update: s32[4]
// says: data race on element
// says: of output 0
func.func @kernel(%in: tensor<64xi32>, %out: tensor<4xi32>) -> tensor<4xi32> {
  %thread = gpu.thread_id x
  %block = gpu.block_id x
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %start = arith.muli %block, %c32 : index
  %mine = arith.addi %start, %thread : index
  %place = arith.remui %mine, %c4 : index
  %value = tensor.extract %in[%mine] : tensor<64xi32>
  %old = tensor.extract %out[%place] : tensor<4xi32> // broken
  %new = arith.addi %old, %value : i32 // broken
  %done = tensor.insert %new into %out[%place] : tensor<4xi32> // broken
  %done = "xla_gpu.atomic_rmw"(%out, %place) ({ // correct
    ^bb0(%old: i32): // correct
      %new = arith.addi %old, %value : i32 // correct
      "xla_gpu.yield"(%new) : (i32) -> () // correct
  }) : (tensor<4xi32>, index) -> tensor<4xi32> // correct
  return %done : tensor<4xi32>
}
