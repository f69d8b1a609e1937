"func.func"() ({
^bb0(%x: f32, %i: index, %n: i32, %c: i1, %t: tensor<4xf32>, %v: vector<4xf32>, %z: complex<f32>):
  "xla_gpu.loop"() ({
  ^bb0(%a: index):
    "xla_gpu.yield"() : () -> ()
  }) {map = "(d0) -> (d0), domain: d0 in [0, 3]"} : () -> ()
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (f32, index, i32, i1, tensor<4xf32>, vector<4xf32>, complex<f32>) -> ()} : () -> ()
