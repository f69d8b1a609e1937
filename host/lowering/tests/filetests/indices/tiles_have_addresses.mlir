// Positions of tiles are counted in their elements, like those of vectors.
// target: cpu
"func.func"() ({
^bb0(%a: !llvm.ptr):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c64 = arith.constant 64 : index
  %z = amx.tile_zero : !amx.tile<16x16xi32>
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%sum = %z) -> (!amx.tile<16x16xi32>) {
    %at = arith.muli %i, %c64 : index
    %next = arith.addi %at, %c64 : index
    %x = "xla_gpu.load"(%a, %at) {alignment = 64 : i64, stride = 512 : i64} : (!llvm.ptr, index) -> !amx.tile<16x64xi8>
    %y = "xla_gpu.load"(%a, %next) {alignment = 64 : i64, stride = 512 : i64} : (!llvm.ptr, index) -> !amx.tile<16x64xi8>
    %p = amx.tile_muli %x, %y zext, %sum : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
    scf.yield %p : !amx.tile<16x16xi32>
  }
  "xla_gpu.store"(%r, %a, %c64) {alignment = 64 : i64, stride = 16 : i64} : (!amx.tile<16x16xi32>, !llvm.ptr, index) -> ()
  func.return
}) {sym_name = "k", function_type = (!llvm.ptr) -> (), fusebox.entry} : () -> ()

// -----
"func.func"() ({
^bb0(%0: !llvm.ptr):
  %1 = "arith.constant"() {value = 0 : i64} : () -> i64
  %2 = "arith.constant"() {value = 5 : i64} : () -> i64
  %3 = "arith.constant"() {value = 1 : i64} : () -> i64
  %4 = "arith.constant"() {value = 64 : i64} : () -> i64
  %5 = "amx.tile_zero"() : () -> !amx.tile<16x16xi32>
  %12 = "scf.for"(%1, %2, %3, %5) ({
  ^bb0(%6: i64, %7: !amx.tile<16x16xi32>):
    %8 = "arith.muli"(%6, %4) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
    %9 = "xla_gpu.load"(%0, %8) {stride = 512 : i64, alignment = 64 : i64} : (!llvm.ptr, i64) -> !amx.tile<16x64xi8>
    %10 = "xla_gpu.load"(%0, %8) {stride = 512 : i64, alignment = 64 : i64, offset = 64 : i64} : (!llvm.ptr, i64) -> !amx.tile<16x64xi8>
    %11 = "amx.tile_muli"(%9, %10, %7) {isZextRhs} : (!amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>) -> !amx.tile<16x16xi32>
    "scf.yield"(%11) : (!amx.tile<16x16xi32>) -> ()
  }) : (i64, i64, i64, !amx.tile<16x16xi32>) -> !amx.tile<16x16xi32>
  "xla_gpu.store"(%12, %0, %1) {stride = 16 : i64, alignment = 64 : i64, offset = 64 : i64} : (!amx.tile<16x16xi32>, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 1, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
