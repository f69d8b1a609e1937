// The sums become vectors. The copy stays a loop, because the last loop stays one: its number of iterations varies.
// target: cpu
func.func @k(%a: !llvm.ptr {llvm.noalias, llvm.readonly}, %out: !llvm.ptr {llvm.noalias}) attributes {fusebox.entry, fusebox.launch = array<i64: 4, 1>} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %id = gpu.block_id x
  %block = arith.index_cast %id : index to i64
  %tile = "xla_gpu.stack_memory"() {bytes = 64 : i64, alignment = 64 : i64} : () -> !llvm.ptr
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
  scf.for %lane = %c0 to %block step %c1 : i64 {
    %x = "xla_gpu.load"(%a, %lane) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    "xla_gpu.store"(%x, %out, %lane) {alignment = 4 : i64, offset = 16 : i64} : (f32, !llvm.ptr, i64) -> ()
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
  %8 = "xla_gpu.load"(%6, %2) {alignment = 4 : i64} : (!llvm.ptr, i64) -> vector<16xf32>
  %9 = "xla_gpu.load"(%0, %2) {alignment = 4 : i64} : (!llvm.ptr, i64) -> vector<16xf32>
  %10 = "arith.addf"(%8, %9) {fastmath = #arith.fastmath<reassoc>} : (vector<16xf32>, vector<16xf32>) -> vector<16xf32>
  "xla_gpu.store"(%10, %6, %2) {alignment = 4 : i64} : (vector<16xf32>, !llvm.ptr, i64) -> ()
  "scf.for"(%2, %4, %3) ({
  ^bb0(%11: i64):
    %12 = "xla_gpu.load"(%6, %11) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    "xla_gpu.store"(%12, %1, %11) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    "scf.yield"() : () -> ()
  }) : (i64, i64, i64) -> ()
  "scf.for"(%2, %7, %3) ({
  ^bb0(%13: i64):
    %14 = "xla_gpu.load"(%0, %13) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    "xla_gpu.store"(%14, %1, %13) {alignment = 4 : i64, offset = 16 : i64} : (f32, !llvm.ptr, i64) -> ()
    "scf.yield"() : () -> ()
  }) : (i64, i64, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.noalias, llvm.readonly}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 4, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
