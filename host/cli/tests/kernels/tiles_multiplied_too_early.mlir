// Each thread writes a row of a square and an element of the other tile; all of them are multiplied.
// launch: 1 x 128, 2304 shared
// in: f32[128]
// out: f32[512]
// says: data race on element
// says: no barrier separates them
// says: xla_gpu.wgmma at kernel
func.func @kernel(%in: tensor<128xf32>, %out: tensor<512xf32>) -> tensor<512xf32> attributes {fusebox.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %left = "xla_gpu.allocate_shared"() : () -> tensor<1x2x8x8x8xbf16>
  %right = "xla_gpu.allocate_shared"() : () -> tensor<1x2x1x8x8xbf16>
  %t = gpu.thread_id x
  %x = tensor.extract %in[%t] : tensor<128xf32>
  %element = arith.truncf %x : f32 to bf16
  %squares = arith.divsi %t, %c64 : index
  %rest = arith.remsi %t, %c64 : index
  %lines = arith.divsi %rest, %c8 : index
  %line = arith.remsi %rest, %c8 : index
  %filled = scf.for %i = %c0 to %c8 step %c1 iter_args(%tile = %left) -> (tensor<1x2x8x8x8xbf16>) {
    %next = tensor.insert %element into %tile[%c0, %squares, %lines, %line, %i] : tensor<1x2x8x8x8xbf16>
    scf.yield %next : tensor<1x2x8x8x8xbf16>
  }
  %other = tensor.insert %element into %right[%c0, %squares, %c0, %lines, %line] : tensor<1x2x1x8x8xbf16>
  %ready:2 = "xla_gpu.sync_threads"(%filled, %other) : (tensor<1x2x8x8x8xbf16>, tensor<1x2x1x8x8xbf16>) -> (tensor<1x2x8x8x8xbf16>, tensor<1x2x1x8x8xbf16>) // correct
  %sums:4 = "xla_gpu.wgmma"(%filled, %c0, %c0, %c0, %c0, %c0, %other, %c0, %c0, %c0, %c0, %c0, %zero, %zero, %zero, %zero) {along_steps = array<i64: 1, 0>} : (tensor<1x2x8x8x8xbf16>, index, index, index, index, index, tensor<1x2x1x8x8xbf16>, index, index, index, index, index, f32, f32, f32, f32) -> (f32, f32, f32, f32) // broken
  %sums:4 = "xla_gpu.wgmma"(%ready#0, %c0, %c0, %c0, %c0, %c0, %ready#1, %c0, %c0, %c0, %c0, %c0, %zero, %zero, %zero, %zero) {along_steps = array<i64: 1, 0>} : (tensor<1x2x8x8x8xbf16>, index, index, index, index, index, tensor<1x2x1x8x8xbf16>, index, index, index, index, index, f32, f32, f32, f32) -> (f32, f32, f32, f32) // correct
  %i0 = arith.muli %t, %c4 : index
  %i1 = arith.addi %i0, %c1 : index
  %i2 = arith.addi %i0, %c2 : index
  %i3 = arith.addi %i0, %c3 : index
  %o0 = tensor.insert %sums#0 into %out[%i0] : tensor<512xf32>
  %o1 = tensor.insert %sums#1 into %o0[%i1] : tensor<512xf32>
  %o2 = tensor.insert %sums#2 into %o1[%i2] : tensor<512xf32>
  %o3 = tensor.insert %sums#3 into %o2[%i3] : tensor<512xf32>
  func.return %o3 : tensor<512xf32>
}
