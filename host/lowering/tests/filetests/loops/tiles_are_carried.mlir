// Tiles go from turn to turn like any value.
// target: cpu
"func.func"() ({
^bb0(%a: !llvm.ptr):
  %c0 = arith.constant 0 : index
  %z = amx.tile_zero : !amx.tile<16x16xf32>
  %r = "xla_gpu.loop"(%c0, %z) ({
  ^bb1(%i: index, %at: index, %sum: !amx.tile<16x16xf32>):
    %x = "xla_gpu.load"(%a, %at) {alignment = 64 : i64, stride = 128 : i64} : (!llvm.ptr, index) -> !amx.tile<16x32xbf16>
    %p = amx.tile_mulf %x, %x, %sum : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
    "xla_gpu.yield"(%p) : (!amx.tile<16x16xf32>) -> ()
  }) {map = "(d0)[s0] -> (s0 * 32), domain: d0 in [0, 0], s0 in [0, 3]"} : (index, !amx.tile<16x16xf32>) -> !amx.tile<16x16xf32>
  "xla_gpu.store"(%r, %a, %c0) {alignment = 64 : i64, stride = 16 : i64} : (!amx.tile<16x16xf32>, !llvm.ptr, index) -> ()
  func.return
}) {sym_name = "k", function_type = (!llvm.ptr) -> (), fusebox.entry} : () -> ()

// -----
"func.func"() ({
^bb0(%0: !llvm.ptr):
  %1 = "arith.constant"() {value = 0 : index} : () -> index
  %2 = "arith.constant"() {value = 4 : index} : () -> index
  %3 = "arith.constant"() {value = 1 : index} : () -> index
  %4 = "amx.tile_zero"() : () -> !amx.tile<16x16xf32>
  %10 = "scf.for"(%1, %2, %3, %4) ({
  ^bb0(%5: index, %6: !amx.tile<16x16xf32>):
    %7 = "xla_gpu.apply_indexing"(%1, %5) {map = "(d0)[s0] -> (s0 * 32), domain: d0 in [0, 0], s0 in [0, 3]"} : (index, index) -> index
    %8 = "xla_gpu.load"(%0, %7) {alignment = 64 : i64, stride = 128 : i64} : (!llvm.ptr, index) -> !amx.tile<16x32xbf16>
    %9 = "amx.tile_mulf"(%8, %8, %6) : (!amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>) -> !amx.tile<16x16xf32>
    "scf.yield"(%9) : (!amx.tile<16x16xf32>) -> ()
  }) : (index, index, index, !amx.tile<16x16xf32>) -> !amx.tile<16x16xf32>
  "xla_gpu.store"(%10, %0, %1) {alignment = 64 : i64, stride = 16 : i64} : (!amx.tile<16x16xf32>, !llvm.ptr, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
