// 100 elements and 128 threads.
// launch: 2 x 64, 0 shared
// in: f32[100]
// out: f32[100]
// says: out of bounds of dimension 0 (size 100) of parameter 0, by thread
// says: of block 1: kernel: tensor.extract
func.func @kernel(%in: tensor<100xf32>, %out: tensor<100xf32>) -> tensor<100xf32> {
  %thread = gpu.thread_id x
  %block = gpu.block_id x
  %c64 = arith.constant 64 : index
  %c100 = arith.constant 100 : index // correct
  %start = arith.muli %block, %c64 : index
  %mine = arith.addi %start, %thread : index
  %inside = arith.cmpi slt, %mine, %c100 : index // correct
  %inside = arith.constant true // broken
  %done = scf.if %inside -> tensor<100xf32> {
    %value = tensor.extract %in[%mine] : tensor<100xf32>
    %o = tensor.insert %value into %out[%mine] : tensor<100xf32>
    scf.yield %o : tensor<100xf32>
  } else {
    scf.yield %out : tensor<100xf32>
  }
  return %done : tensor<100xf32>
}
