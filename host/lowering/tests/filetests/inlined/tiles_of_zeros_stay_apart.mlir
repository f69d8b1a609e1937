// Each product has a register of its own to add to, so two tiles of zeros are not merged; equal products are.
// target: cpu
func.func @k(%a: tensor<32x32xbf16>, %out: tensor<32x16xf32>) -> tensor<32x16xf32> attributes {fusebox.entry} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %x = "xla_gpu.read_tile"(%a, %c0, %c0) : (tensor<32x32xbf16>, index, index) -> !amx.tile<16x32xbf16>
  %y = "xla_gpu.read_tile"(%a, %c16, %c0) : (tensor<32x32xbf16>, index, index) -> !amx.tile<16x32xbf16>
  %z = amx.tile_zero : !amx.tile<16x16xf32>
  %w = amx.tile_zero : !amx.tile<16x16xf32>
  %p = amx.tile_mulf %x, %y, %z : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  %q = amx.tile_mulf %y, %x, %w : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  %r = amx.tile_mulf %y, %x, %w : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  %s = amx.tile_mulf %x, %y, %r : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  %t = amx.tile_mulf %x, %y, %q : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  %o = "xla_gpu.write_tile"(%p, %out, %c0, %c0) : (!amx.tile<16x16xf32>, tensor<32x16xf32>, index, index) -> tensor<32x16xf32>
  %o1 = "xla_gpu.write_tile"(%s, %o, %c16, %c0) : (!amx.tile<16x16xf32>, tensor<32x16xf32>, index, index) -> tensor<32x16xf32>
  %o2 = "xla_gpu.write_tile"(%t, %o1, %c16, %c0) : (!amx.tile<16x16xf32>, tensor<32x16xf32>, index, index) -> tensor<32x16xf32>
  return %o2 : tensor<32x16xf32>
}

// -----
"func.func"() ({
^bb0(%0: tensor<32x32xbf16>, %1: tensor<32x16xf32>):
  %2 = "arith.constant"() {value = 0 : index} : () -> index
  %3 = "arith.constant"() {value = 16 : index} : () -> index
  %4 = "xla_gpu.read_tile"(%0, %2, %2) : (tensor<32x32xbf16>, index, index) -> !amx.tile<16x32xbf16>
  %5 = "xla_gpu.read_tile"(%0, %3, %2) : (tensor<32x32xbf16>, index, index) -> !amx.tile<16x32xbf16>
  %6 = "amx.tile_zero"() : () -> !amx.tile<16x16xf32>
  %7 = "amx.tile_zero"() : () -> !amx.tile<16x16xf32>
  %8 = "amx.tile_mulf"(%4, %5, %6) : (!amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>) -> !amx.tile<16x16xf32>
  %9 = "amx.tile_mulf"(%5, %4, %7) : (!amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>) -> !amx.tile<16x16xf32>
  %10 = "amx.tile_mulf"(%4, %5, %9) : (!amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>) -> !amx.tile<16x16xf32>
  %11 = "xla_gpu.write_tile"(%8, %1, %2, %2) : (!amx.tile<16x16xf32>, tensor<32x16xf32>, index, index) -> tensor<32x16xf32>
  %12 = "xla_gpu.write_tile"(%10, %11, %3, %2) : (!amx.tile<16x16xf32>, tensor<32x16xf32>, index, index) -> tensor<32x16xf32>
  %13 = "xla_gpu.write_tile"(%10, %12, %3, %2) : (!amx.tile<16x16xf32>, tensor<32x16xf32>, index, index) -> tensor<32x16xf32>
  "func.return"(%13) : (tensor<32x16xf32>) -> ()
}) {sym_name = "k", function_type = (tensor<32x32xbf16>, tensor<32x16xf32>) -> tensor<32x16xf32>, arg_attrs = [{fusebox.bytes = 2048 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 2048 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
