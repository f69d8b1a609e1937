// All threads add atomically, but one resets the sum with a plain write.
// launch: 1 x 32, 0 shared
// in: s32[32]
// update: s32[1]
// says: data race on element 0 of output 0
// says: atomic update by thread
// says: write by thread 7 of block 0
func.func @kernel(%in: tensor<32xi32>, %out: tensor<1xi32>) -> tensor<1xi32> {
  %thread = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : index
  %zero = arith.constant 0 : i32
  %value = tensor.extract %in[%thread] : tensor<32xi32>
  %resets = arith.cmpi eq, %thread, %c7 : index
  %cleared = "xla_gpu.predicated_insert"(%resets, %zero, %out, %c0) : (i1, i32, tensor<1xi32>, index) -> tensor<1xi32>
  %ready = "xla_gpu.sync_threads"(%cleared) : (tensor<1xi32>) -> tensor<1xi32> // correct
  %done = "xla_gpu.atomic_rmw"(%ready, %c0) ({ // correct
  %done = "xla_gpu.atomic_rmw"(%cleared, %c0) ({ // broken
    ^bb0(%old: i32):
      %new = arith.addi %old, %value : i32
      "xla_gpu.yield"(%new) : (i32) -> ()
  }) : (tensor<1xi32>, index) -> tensor<1xi32>
  return %done : tensor<1xi32>
}
