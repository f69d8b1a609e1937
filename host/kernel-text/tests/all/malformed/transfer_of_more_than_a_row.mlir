"func.func"() ({
^bb0(%x: f32, %i: index, %n: i32, %c: i1, %t: tensor<4xf32>, %v: vector<4xf32>, %z: complex<f32>):
  %r = "vector.transfer_read"(%t, %i, %x) {in_bounds = [true], operandSegmentSizes = array<i32: 1, 1, 1, 0>, permutation_map = affine_map<(d0) -> (d0)>} : (tensor<4xf32>, index, f32) -> vector<8xf32>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (f32, index, i32, i1, tensor<4xf32>, vector<4xf32>, complex<f32>) -> ()} : () -> ()
