// A divisor that is zero for one thread.
// launch: 1 x 32, 0 shared
// in: s32[32]
// out: s32[32]
// says: division by zero, or of the lowest number by -1, by thread
func.func @kernel(%in: tensor<32xi32>, %out: tensor<32xi32>) -> tensor<32xi32> {
  %thread = gpu.thread_id x
  %hundred = arith.constant 100 : i32
  %shift = arith.constant 0 : i32 // broken
  %shift = arith.constant 1 : i32 // correct
  %x = tensor.extract %in[%thread] : tensor<32xi32>
  %divisor = arith.addi %x, %shift : i32
  %quotient = arith.divsi %hundred, %divisor : i32
  %done = tensor.insert %quotient into %out[%thread] : tensor<32xi32>
  return %done : tensor<32xi32>
}
