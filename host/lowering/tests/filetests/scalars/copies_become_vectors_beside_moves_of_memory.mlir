// The sums and the copy become vectors. The loop with a number of iterations that varies does not prevent this, because
// it copies memory and becomes a single operation of LLVM.
// target: cpu
func.func @k(%a: !llvm.ptr {llvm.noalias, llvm.readonly}, %out: !llvm.ptr {llvm.noalias}) attributes {fusebox.entry, fusebox.launch = array<i64: 4, 1>} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %id = gpu.block_id x
  %block = arith.index_cast %id : index to i64
  %tile = "xla_gpu.stack_memory"() {bytes = 64 : i64, alignment = 64 : i64} : () -> !llvm.ptr
  scf.for %row = %c0 to %c16 step %c1 : i64 {
    scf.for %lane = %c0 to %block step %c1 : i64 {
      %x = "xla_gpu.load"(%a, %lane) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
      "xla_gpu.store"(%x, %tile, %lane) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
      scf.yield
    }
    scf.yield
  }
  scf.for %lane = %c0 to %c16 step %c1 : i64 {
    %sum = "xla_gpu.load"(%tile, %lane) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    %x = "xla_gpu.load"(%a, %lane) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    %next = arith.addf %sum, %x fastmath<reassoc> : f32
    "xla_gpu.store"(%next, %tile, %lane) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    scf.yield
  }
  scf.for %lane = %c0 to %c16 step %c1 : i64 {
    %x = "xla_gpu.load"(%tile, %lane) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    "xla_gpu.store"(%x, %out, %lane) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    scf.yield
  }
  func.return
}

// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 1 : i64} : () -> i64
  %4 = "arith.constant"() {value = 16 : i64} : () -> i64
  %5 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %6 = "xla_gpu.stack_memory"() {alignment = 64 : i64, bytes = 64 : i64} : () -> !llvm.ptr
  %7 = "arith.index_cast"(%5) : (index) -> i64
  "scf.for"(%2, %4, %3) ({
  ^bb0(%8: i64):
    "scf.for"(%2, %7, %3) ({
    ^bb0(%9: i64):
      %10 = "xla_gpu.load"(%0, %9) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
      "xla_gpu.store"(%10, %6, %9) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
      "scf.yield"() : () -> ()
    }) : (i64, i64, i64) -> ()
    "scf.yield"() : () -> ()
  }) : (i64, i64, i64) -> ()
  %11 = "xla_gpu.load"(%6, %2) {alignment = 4 : i64} : (!llvm.ptr, i64) -> vector<16xf32>
  %12 = "xla_gpu.load"(%0, %2) {alignment = 4 : i64} : (!llvm.ptr, i64) -> vector<16xf32>
  %13 = "arith.addf"(%11, %12) {fastmath = #arith.fastmath<reassoc>} : (vector<16xf32>, vector<16xf32>) -> vector<16xf32>
  "xla_gpu.store"(%13, %6, %2) {alignment = 4 : i64} : (vector<16xf32>, !llvm.ptr, i64) -> ()
  %14 = "vector.shuffle"(%13, %13) {mask = array<i64: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>} : (vector<16xf32>, vector<16xf32>) -> vector<16xf32>
  "xla_gpu.store"(%14, %1, %2) {alignment = 4 : i64} : (vector<16xf32>, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.noalias, llvm.readonly}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 4, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
