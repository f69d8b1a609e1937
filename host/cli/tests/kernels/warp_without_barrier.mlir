// A reduction's last steps within one warp: without barriers, as if lanes ran in lock step.
// launch: 1 x 32, 128 shared
// in: f32[32]
// out: f32[1]
// says: data race on element
// says: of shared tile 0
func.func @kernel(%in: tensor<32xf32>, %out: tensor<1xf32>) -> tensor<1xf32> {
  %thread = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %value = tensor.extract %in[%thread] : tensor<32xf32>
  %empty = "xla_gpu.allocate_shared"() : () -> tensor<32xf32>
  %first = tensor.insert %value into %empty[%thread] : tensor<32xf32>
  %full = "xla_gpu.sync_threads"(%first) : (tensor<32xf32>) -> tensor<32xf32>
  %lower = arith.cmpi slt, %thread, %c16 : index
  %folded = scf.if %lower -> tensor<32xf32> {
    %above = arith.addi %thread, %c16 : index
    %a = tensor.extract %full[%thread] : tensor<32xf32>
    %b = tensor.extract %full[%above] : tensor<32xf32>
    %sum = arith.addf %a, %b : f32
    %t = tensor.insert %sum into %full[%thread] : tensor<32xf32>
    scf.yield %t : tensor<32xf32>
  } else {
    scf.yield %full : tensor<32xf32>
  }
  %seen = "xla_gpu.sync_threads"(%folded) : (tensor<32xf32>) -> tensor<32xf32> // correct
  %is0 = arith.cmpi eq, %thread, %c0 : index
  %done = scf.if %is0 -> tensor<1xf32> {
    %c1 = arith.constant 1 : index
    %x = tensor.extract %seen[%c1] : tensor<32xf32> // correct
    %x = tensor.extract %folded[%c1] : tensor<32xf32> // broken
    %o = tensor.insert %x into %out[%c0] : tensor<1xf32>
    scf.yield %o : tensor<1xf32>
  } else {
    scf.yield %out : tensor<1xf32>
  }
  return %done : tensor<1xf32>
}
