"func.func"() ({
^bb0(%i: index, %n: i32, %t: tensor<64x64xbf16>, %s: tensor<64x64xf32>, %a: !amx.tile<16x32xbf16>, %b: !amx.tile<16x64xi8>, %c: !amx.tile<16x16xf32>, %d: !amx.tile<16x16xi32>):
  %r = "xla_gpu.read_tile"(%s, %i, %i) : (tensor<64x64xf32>, index, index) -> !amx.tile<16x32xbf16>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (index, i32, tensor<64x64xbf16>, tensor<64x64xf32>, !amx.tile<16x32xbf16>, !amx.tile<16x64xi8>, !amx.tile<16x16xf32>, !amx.tile<16x16xi32>) -> ()} : () -> ()
