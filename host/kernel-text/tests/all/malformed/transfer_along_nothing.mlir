"func.func"() ({
^bb0(%x: f32, %i: index, %n: i32, %c: i1, %t: tensor<4xf32>, %v: vector<4xf32>, %z: complex<f32>):
  %r = "vector.transfer_write"(%v, %t, %i) {in_bounds = [true], operandSegmentSizes = array<i32: 1, 1, 1, 0>, permutation_map = affine_map<(d0) -> (0)>} : (vector<4xf32>, tensor<4xf32>, index) -> tensor<4xf32>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (f32, index, i32, i1, tensor<4xf32>, vector<4xf32>, complex<f32>) -> ()} : () -> ()
