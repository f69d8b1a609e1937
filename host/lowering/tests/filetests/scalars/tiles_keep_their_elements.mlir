// What a tile register is multiplied as is part of its type: bf16 stays, where vectors of it are integers.
// target: cpu
"func.func"() ({
^bb0(%a: !llvm.ptr):
  %c0 = arith.constant 0 : i64
  %v = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64} : (!llvm.ptr, i64) -> vector<32xbf16>
  "xla_gpu.store"(%v, %a, %c0) {alignment = 64 : i64, offset = 32 : i64} : (vector<32xbf16>, !llvm.ptr, i64) -> ()
  %z = amx.tile_zero : !amx.tile<16x16xf32>
  %x = "xla_gpu.load"(%a, %c0) {alignment = 64 : i64, stride = 64 : i64} : (!llvm.ptr, i64) -> !amx.tile<16x32xbf16>
  %p = amx.tile_mulf %x, %x, %z : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  "xla_gpu.store"(%p, %a, %c0) {alignment = 64 : i64, stride = 16 : i64} : (!amx.tile<16x16xf32>, !llvm.ptr, i64) -> ()
  func.return
}) {sym_name = "k", function_type = (!llvm.ptr) -> (), fusebox.entry} : () -> ()

// -----
"func.func"() ({
^bb0(%0: !llvm.ptr):
  %1 = "arith.constant"() {value = 0 : i64} : () -> i64
  %2 = "xla_gpu.load"(%0, %1) {alignment = 64 : i64} : (!llvm.ptr, i64) -> vector<32xi16>
  "xla_gpu.store"(%2, %0, %1) {alignment = 64 : i64, offset = 32 : i64} : (vector<32xi16>, !llvm.ptr, i64) -> ()
  %3 = "amx.tile_zero"() : () -> !amx.tile<16x16xf32>
  %4 = "xla_gpu.load"(%0, %1) {alignment = 64 : i64, stride = 64 : i64} : (!llvm.ptr, i64) -> !amx.tile<16x32xbf16>
  %5 = "amx.tile_mulf"(%4, %4, %3) : (!amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>) -> !amx.tile<16x16xf32>
  "xla_gpu.store"(%5, %0, %1) {alignment = 64 : i64, stride = 16 : i64} : (!amx.tile<16x16xf32>, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
