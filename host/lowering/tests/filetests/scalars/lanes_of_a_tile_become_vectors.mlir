// A loop that adds a row of 45 numbers to a tile becomes vectors of 32, 8 and 4 lanes, and a number.
// target: cpu
func.func @k(%a: !llvm.ptr {llvm.noalias, llvm.readonly}, %out: !llvm.ptr {llvm.noalias}) attributes {fusebox.entry, fusebox.launch = array<i64: 4, 1>} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c4 = arith.constant 4 : i64
  %c45 = arith.constant 45 : i64
  %id = gpu.block_id x
  %block = arith.index_cast %id : index to i64
  %tile = "xla_gpu.stack_memory"() {bytes = 512 : i64, alignment = 64 : i64} : () -> !llvm.ptr
  scf.for %row = %c0 to %c4 step %c1 : i64 {
    scf.for %lane = %c0 to %c45 step %c1 : i64 {
      %sum = "xla_gpu.load"(%tile, %lane) {alignment = 4 : i64, offset = 64 : i64} : (!llvm.ptr, i64) -> f32
      %first = arith.muli %row, %c45 overflow<nsw> : i64
      %at = arith.addi %first, %lane overflow<nsw> : i64
      %x = "xla_gpu.load"(%a, %at) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
      %next = arith.addf %sum, %x fastmath<reassoc> : f32
      "xla_gpu.store"(%next, %tile, %lane) {alignment = 4 : i64, offset = 64 : i64} : (f32, !llvm.ptr, i64) -> ()
      scf.yield
    }
    scf.yield
  }
  func.return
}

// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 1 : i64} : () -> i64
  %4 = "arith.constant"() {value = 4 : i64} : () -> i64
  %5 = "arith.constant"() {value = 45 : i64} : () -> i64
  %6 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %7 = "xla_gpu.stack_memory"() {alignment = 64 : i64, bytes = 512 : i64} : () -> !llvm.ptr
  %8 = "arith.index_cast"(%6) : (index) -> i64
  "scf.for"(%2, %4, %3) ({
  ^bb0(%9: i64):
    %10 = "arith.muli"(%9, %5) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
    %11 = "arith.addi"(%10, %2) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
    %12 = "xla_gpu.load"(%7, %2) {alignment = 4 : i64, offset = 64 : i64} : (!llvm.ptr, i64) -> vector<32xf32>
    %13 = "xla_gpu.load"(%0, %11) {alignment = 4 : i64} : (!llvm.ptr, i64) -> vector<32xf32>
    %14 = "arith.addf"(%12, %13) {fastmath = #arith.fastmath<reassoc>} : (vector<32xf32>, vector<32xf32>) -> vector<32xf32>
    "xla_gpu.store"(%14, %7, %2) {alignment = 4 : i64, offset = 64 : i64} : (vector<32xf32>, !llvm.ptr, i64) -> ()
    %15 = "xla_gpu.load"(%7, %2) {alignment = 4 : i64, offset = 96 : i64} : (!llvm.ptr, i64) -> vector<8xf32>
    %16 = "xla_gpu.load"(%0, %11) {alignment = 4 : i64, offset = 32 : i64} : (!llvm.ptr, i64) -> vector<8xf32>
    %17 = "arith.addf"(%15, %16) {fastmath = #arith.fastmath<reassoc>} : (vector<8xf32>, vector<8xf32>) -> vector<8xf32>
    "xla_gpu.store"(%17, %7, %2) {alignment = 4 : i64, offset = 96 : i64} : (vector<8xf32>, !llvm.ptr, i64) -> ()
    %18 = "xla_gpu.load"(%7, %2) {alignment = 4 : i64, offset = 104 : i64} : (!llvm.ptr, i64) -> vector<4xf32>
    %19 = "xla_gpu.load"(%0, %11) {alignment = 4 : i64, offset = 40 : i64} : (!llvm.ptr, i64) -> vector<4xf32>
    %20 = "arith.addf"(%18, %19) {fastmath = #arith.fastmath<reassoc>} : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
    "xla_gpu.store"(%20, %7, %2) {alignment = 4 : i64, offset = 104 : i64} : (vector<4xf32>, !llvm.ptr, i64) -> ()
    %21 = "xla_gpu.load"(%7, %2) {alignment = 4 : i64, offset = 108 : i64} : (!llvm.ptr, i64) -> f32
    %22 = "xla_gpu.load"(%0, %11) {alignment = 4 : i64, offset = 44 : i64} : (!llvm.ptr, i64) -> f32
    %23 = "arith.addf"(%21, %22) {fastmath = #arith.fastmath<reassoc>} : (f32, f32) -> f32
    "xla_gpu.store"(%23, %7, %2) {alignment = 4 : i64, offset = 108 : i64} : (f32, !llvm.ptr, i64) -> ()
    "scf.yield"() : () -> ()
  }) : (i64, i64, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.noalias, llvm.readonly}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 4, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
