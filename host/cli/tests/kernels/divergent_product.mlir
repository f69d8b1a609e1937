// Lanes 8 and up leave before the warp multiplies, or all lanes take part.
// launch: 1 x 32, 0 shared
// in: f32[32]
// out: f32[64]
// says: divergent product m8n8k4.f64
// says: has finished
func.func @kernel(%in: tensor<32xf32>, %out: tensor<64xf32>) -> tensor<64xf32> attributes {fusebox.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index // broken
  %c8 = arith.constant 32 : index // correct
  %zero = arith.constant 0.0 : f64
  %t = gpu.thread_id x
  %takes_part = arith.cmpi slt, %t, %c8 : index
  %done = scf.if %takes_part -> tensor<64xf32> {
    %narrow = tensor.extract %in[%t] : tensor<32xf32>
    %x = arith.extf %narrow : f32 to f64
    %sum:2 = "xla_gpu.mma"(%x, %x, %zero, %zero) {product = "m8n8k4.f64"} : (f64, f64, f64, f64) -> (f64, f64)
    %first = arith.muli %t, %c2 : index
    %second = arith.addi %first, %c1 : index
    %even = arith.truncf %sum#0 : f64 to f32
    %odd = arith.truncf %sum#1 : f64 to f32
    %a = tensor.insert %even into %out[%first] : tensor<64xf32>
    %b = tensor.insert %odd into %a[%second] : tensor<64xf32>
    scf.yield %b : tensor<64xf32>
  } else {
    scf.yield %out : tensor<64xf32>
  }
  func.return %done : tensor<64xf32>
}
