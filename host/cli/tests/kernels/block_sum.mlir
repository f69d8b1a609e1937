// Sums of 1024 blocks of 1024 elements: warps by shuffles, the block through a tile.
// launch: 1024 x 1024, 128 shared
// in: s32[1048576]
// out: s32[1024]
// says: data race on element
// says: of shared tile 0
// says: read by thread
func.func private @add(%a: i32, %b: i32) -> i32 {
  %sum = arith.addi %a, %b : i32
  return %sum : i32
}
func.func @kernel(%in: tensor<1048576xi32>, %out: tensor<1024xi32>) -> tensor<1024xi32> {
  %thread = gpu.thread_id x
  %block = gpu.block_id x
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c1024 = arith.constant 1024 : index
  %start = arith.muli %block, %c1024 : index
  %mine = arith.addi %start, %thread : index
  %value = tensor.extract %in[%mine] : tensor<1048576xi32>
  %of_warp = "xla_gpu.shuffle_reduce"(%value) {callee = @add, max_distance = 16 : i64} : (i32) -> i32
  %empty = "xla_gpu.allocate_shared"() : () -> tensor<32xi32>
  %warp = arith.divui %thread, %c32 : index
  %lane = arith.remui %thread, %c32 : index
  %leads = arith.cmpi eq, %lane, %c0 : index
  %tile = "xla_gpu.predicated_insert"(%leads, %of_warp, %empty, %warp) : (i1, i32, tensor<32xi32>, index) -> tensor<32xi32>
  %full = "xla_gpu.sync_threads"(%tile) : (tensor<32xi32>) -> tensor<32xi32> // correct
  %first = arith.cmpi slt, %thread, %c32 : index
  %done = scf.if %first -> tensor<1024xi32> {
    %part = tensor.extract %full[%thread] : tensor<32xi32> // correct
    %part = tensor.extract %tile[%thread] : tensor<32xi32> // broken
    %sum = "xla_gpu.shuffle_reduce"(%part) {callee = @add, max_distance = 16 : i64} : (i32) -> i32
    %is0 = arith.cmpi eq, %thread, %c0 : index
    %o = "xla_gpu.predicated_insert"(%is0, %sum, %out, %block) : (i1, i32, tensor<1024xi32>, index) -> tensor<1024xi32>
    scf.yield %o : tensor<1024xi32>
  } else {
    scf.yield %out : tensor<1024xi32>
  }
  return %done : tensor<1024xi32>
}
