"func.func"() ({
^bb0(%x: f32, %i: index, %n: i32, %c: i1, %t: tensor<4xf32>, %v: vector<4xf32>, %z: complex<f32>):
  "xla_gpu.loop"() ({
  ^bb0(%a: index, %b: index):
    "xla_gpu.yield"() : () -> ()
  }) {map = "()[s0] -> (s0), domain: s0 in [0, 1000000000]", unroll = array<i64: 0>} : () -> ()
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (f32, index, i32, i1, tensor<4xf32>, vector<4xf32>, complex<f32>) -> ()} : () -> ()
