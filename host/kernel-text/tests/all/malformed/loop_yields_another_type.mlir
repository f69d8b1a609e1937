"func.func"() ({
^bb0(%x: f32, %i: index, %n: i32, %c: i1, %t: tensor<4xf32>, %v: vector<4xf32>, %z: complex<f32>):
  %r = "xla_gpu.loop"(%t) ({
  ^bb0(%a: index, %b: index, %s: tensor<4xf32>):
    "xla_gpu.yield"(%x) : (f32) -> ()
  }) {map = "()[s0] -> (s0), domain: s0 in [0, 3]"} : (tensor<4xf32>) -> tensor<4xf32>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (f32, index, i32, i1, tensor<4xf32>, vector<4xf32>, complex<f32>) -> ()} : () -> ()
