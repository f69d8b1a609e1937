// A loop whose counter stands still.
// launch: 1 x 32, 0 shared
// in: f32[32]
// out: f32[32]
// says: a loop does not end in thread
func.func @kernel(%in: tensor<32xf32>, %out: tensor<32xf32>) -> tensor<32xf32> {
  %thread = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c10 = arith.constant 10 : index
  %step = arith.constant 0 : index // broken
  %step = arith.constant 1 : index // correct
  %zero = arith.constant 0.0 : f32
  %count, %sum = scf.while (%i = %c0, %s = %zero) : (index, f32) -> (index, f32) {
    %more = arith.cmpi slt, %i, %c10 : index
    scf.condition(%more) %i, %s : index, f32
  } do {
  ^bb0(%i: index, %s: f32):
    %x = tensor.extract %in[%thread] : tensor<32xf32>
    %t = arith.addf %s, %x : f32
    %j = arith.addi %i, %step : index
    scf.yield %j, %t : index, f32
  }
  %done = tensor.insert %sum into %out[%thread] : tensor<32xf32>
  return %done : tensor<32xf32>
}
