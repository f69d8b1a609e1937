// The rows of a tile register are as far apart in memory as those of the tensor.
// target: cpu
func.func @k(%a: tensor<4x40x48xi8>, %out: tensor<32x20xi32>) -> tensor<32x20xi32> attributes {fusebox.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = "xla_gpu.read_tile"(%a, %c1, %c8, %c0) : (tensor<4x40x48xi8>, index, index, index) -> !amx.tile<16x32xi8>
  %y = "xla_gpu.read_tile"(%a, %c1, %c0, %c8) : (tensor<4x40x48xi8>, index, index, index) -> !amx.tile<8x40xi8>
  %z = amx.tile_zero : !amx.tile<16x10xi32>
  %p = amx.tile_muli %x zext, %y, %z : !amx.tile<16x32xi8>, !amx.tile<8x40xi8>, !amx.tile<16x10xi32>
  %o = "xla_gpu.write_tile"(%p, %out, %c0, %c8) : (!amx.tile<16x10xi32>, tensor<32x20xi32>, index, index) -> tensor<32x20xi32>
  return %o : tensor<32x20xi32>
}

// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : index} : () -> index
  %3 = "arith.constant"() {value = 1 : index} : () -> index
  %4 = "arith.constant"() {value = 8 : index} : () -> index
  %5 = "arith.constant"() {value = 40 : index} : () -> index
  %6 = "arith.constant"() {value = 48 : index} : () -> index
  %7 = "arith.constant"() {value = 20 : index} : () -> index
  %8 = "arith.muli"(%3, %5) : (index, index) -> index
  %9 = "arith.addi"(%8, %4) : (index, index) -> index
  %10 = "arith.muli"(%9, %6) : (index, index) -> index
  %11 = "arith.addi"(%10, %2) : (index, index) -> index
  %12 = "xla_gpu.load"(%0, %11) {alignment = 64 : i64, stride = 48 : i64} : (!llvm.ptr, index) -> !amx.tile<16x32xi8>
  %13 = "arith.muli"(%3, %5) : (index, index) -> index
  %14 = "arith.addi"(%13, %2) : (index, index) -> index
  %15 = "arith.muli"(%14, %6) : (index, index) -> index
  %16 = "arith.addi"(%15, %4) : (index, index) -> index
  %17 = "xla_gpu.load"(%0, %16) {alignment = 64 : i64, stride = 48 : i64} : (!llvm.ptr, index) -> !amx.tile<8x40xi8>
  %18 = "amx.tile_zero"() : () -> !amx.tile<16x10xi32>
  %19 = "amx.tile_muli"(%12, %17, %18) {isZextLhs} : (!amx.tile<16x32xi8>, !amx.tile<8x40xi8>, !amx.tile<16x10xi32>) -> !amx.tile<16x10xi32>
  %20 = "arith.muli"(%2, %7) : (index, index) -> index
  %21 = "arith.addi"(%20, %4) : (index, index) -> index
  "xla_gpu.store"(%19, %1, %21) {alignment = 64 : i64, stride = 20 : i64} : (!amx.tile<16x10xi32>, !llvm.ptr, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 7680 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 7680 : i64, llvm.noalias, llvm.readonly}, {fusebox.bytes = 2560 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 2560 : i64, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
