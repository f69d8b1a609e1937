// A tile of 200 numbers is filled by a loop with two vectors of 32 lanes, and by a vector of 8 lanes.
// target: cpu
func.func @k(%x: !llvm.ptr {llvm.noalias, llvm.readonly}, %out: !llvm.ptr {llvm.noalias}) attributes {fusebox.entry, fusebox.launch = array<i64: 4, 1>} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c200 = arith.constant 200 : i64
  %tile = "xla_gpu.stack_memory"() {bytes = 800 : i64, alignment = 64 : i64} : () -> !llvm.ptr
  scf.for %lane = %c0 to %c200 step %c1 : i64 {
    %start = "xla_gpu.load"(%x, %c0) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    "xla_gpu.store"(%start, %tile, %lane) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    scf.yield
  }
  func.return
}

// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 1 : i64} : () -> i64
  %4 = "arith.constant"() {value = 200 : i64} : () -> i64
  %5 = "xla_gpu.stack_memory"() {alignment = 64 : i64, bytes = 800 : i64} : () -> !llvm.ptr
  %6 = "arith.constant"() {value = 192 : i64} : () -> i64
  %7 = "arith.constant"() {value = 64 : i64} : () -> i64
  "scf.for"(%2, %6, %7) ({
  ^bb0(%8: i64):
    %9 = "xla_gpu.load"(%0, %2) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    %10 = "vector.broadcast"(%9) : (f32) -> vector<32xf32>
    "xla_gpu.store"(%10, %5, %8) {alignment = 4 : i64} : (vector<32xf32>, !llvm.ptr, i64) -> ()
    "xla_gpu.store"(%10, %5, %8) {alignment = 4 : i64, offset = 32 : i64} : (vector<32xf32>, !llvm.ptr, i64) -> ()
    "scf.yield"() : () -> ()
  }) : (i64, i64, i64) -> ()
  %11 = "xla_gpu.load"(%0, %2) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
  %12 = "vector.broadcast"(%11) : (f32) -> vector<8xf32>
  "xla_gpu.store"(%12, %5, %2) {alignment = 4 : i64, offset = 192 : i64} : (vector<8xf32>, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.noalias, llvm.readonly}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 4, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
