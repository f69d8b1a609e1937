// The number of columns of a block is a variable, because the last block has fewer. Every number of
// columns is a multiple of eight, so loops over vectors of eight lanes replace the loop. If the
// number is a multiple of two only, the loop stays as it is.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 1>} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c128 = arith.constant 128 : i64
  %c1000 = arith.constant 1000 : i64
  %c1002 = arith.constant 1002 : i64
  %tile = "xla_gpu.stack_memory"() {bytes = 512 : i64, alignment = 64 : i64} : () -> !llvm.ptr
  %block = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %number = arith.index_cast %block : index to i64
  %first = arith.muli %number, %c128 overflow<nsw> : i64
  %left = arith.subi %c1000, %first overflow<nsw> : i64
  %count = arith.minsi %left, %c128 : i64
  scf.for %i = %c0 to %count step %c1 : i64 {
    %sum = "xla_gpu.load"(%tile, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    %at = arith.addi %first, %i overflow<nsw> : i64
    %x = "xla_gpu.load"(%a, %at) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    %next = arith.addf %sum, %x : f32
    "xla_gpu.store"(%next, %tile, %i) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    scf.yield
  }
  %odd_left = arith.subi %c1002, %first overflow<nsw> : i64
  %odd_count = arith.minsi %odd_left, %c128 : i64
  scf.for %i = %c0 to %odd_count step %c1 : i64 {
    %sum = "xla_gpu.load"(%tile, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    %at = arith.addi %first, %i overflow<nsw> : i64
    %x = "xla_gpu.load"(%a, %at) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    %next = arith.addf %sum, %x : f32
    "xla_gpu.store"(%next, %tile, %i) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    scf.yield
  }
  func.return
}

// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 1 : i64} : () -> i64
  %4 = "arith.constant"() {value = 128 : i64} : () -> i64
  %5 = "arith.constant"() {value = 1000 : i64} : () -> i64
  %6 = "arith.constant"() {value = 1002 : i64} : () -> i64
  %7 = "xla_gpu.stack_memory"() {alignment = 64 : i64, bytes = 512 : i64} : () -> !llvm.ptr
  %8 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %9 = "arith.index_cast"(%8) : (index) -> i64
  %10 = "arith.muli"(%9, %4) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %11 = "arith.subi"(%5, %10) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %12 = "arith.minsi"(%11, %4) : (i64, i64) -> i64
  %13 = "arith.constant"() {value = 0 : i64} : () -> i64
  %14 = "arith.constant"() {value = -32 : i64} : () -> i64
  %15 = "arith.maxsi"(%12, %13) : (i64, i64) -> i64
  %16 = "arith.andi"(%15, %14) : (i64, i64) -> i64
  %17 = "arith.constant"() {value = 32 : i64} : () -> i64
  "scf.for"(%2, %16, %17) ({
  ^bb0(%18: i64):
    %19 = "arith.addi"(%10, %18) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
    %20 = "xla_gpu.load"(%7, %18) {alignment = 4 : i64} : (!llvm.ptr, i64) -> vector<8xf32>
    %21 = "xla_gpu.load"(%0, %19) {alignment = 4 : i64} : (!llvm.ptr, i64) -> vector<8xf32>
    %22 = "arith.addf"(%20, %21) : (vector<8xf32>, vector<8xf32>) -> vector<8xf32>
    "xla_gpu.store"(%22, %7, %18) {alignment = 4 : i64} : (vector<8xf32>, !llvm.ptr, i64) -> ()
    %23 = "xla_gpu.load"(%7, %18) {alignment = 4 : i64, offset = 8 : i64} : (!llvm.ptr, i64) -> vector<8xf32>
    %24 = "xla_gpu.load"(%0, %19) {alignment = 4 : i64, offset = 8 : i64} : (!llvm.ptr, i64) -> vector<8xf32>
    %25 = "arith.addf"(%23, %24) : (vector<8xf32>, vector<8xf32>) -> vector<8xf32>
    "xla_gpu.store"(%25, %7, %18) {alignment = 4 : i64, offset = 8 : i64} : (vector<8xf32>, !llvm.ptr, i64) -> ()
    %26 = "xla_gpu.load"(%7, %18) {alignment = 4 : i64, offset = 16 : i64} : (!llvm.ptr, i64) -> vector<8xf32>
    %27 = "xla_gpu.load"(%0, %19) {alignment = 4 : i64, offset = 16 : i64} : (!llvm.ptr, i64) -> vector<8xf32>
    %28 = "arith.addf"(%26, %27) : (vector<8xf32>, vector<8xf32>) -> vector<8xf32>
    "xla_gpu.store"(%28, %7, %18) {alignment = 4 : i64, offset = 16 : i64} : (vector<8xf32>, !llvm.ptr, i64) -> ()
    %29 = "xla_gpu.load"(%7, %18) {alignment = 4 : i64, offset = 24 : i64} : (!llvm.ptr, i64) -> vector<8xf32>
    %30 = "xla_gpu.load"(%0, %19) {alignment = 4 : i64, offset = 24 : i64} : (!llvm.ptr, i64) -> vector<8xf32>
    %31 = "arith.addf"(%29, %30) : (vector<8xf32>, vector<8xf32>) -> vector<8xf32>
    "xla_gpu.store"(%31, %7, %18) {alignment = 4 : i64, offset = 24 : i64} : (vector<8xf32>, !llvm.ptr, i64) -> ()
    "scf.yield"() : () -> ()
  }) : (i64, i64, i64) -> ()
  %32 = "arith.constant"() {value = 8 : i64} : () -> i64
  "scf.for"(%16, %12, %32) ({
  ^bb0(%33: i64):
    %34 = "arith.addi"(%10, %33) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
    %35 = "xla_gpu.load"(%7, %33) {alignment = 4 : i64} : (!llvm.ptr, i64) -> vector<8xf32>
    %36 = "xla_gpu.load"(%0, %34) {alignment = 4 : i64} : (!llvm.ptr, i64) -> vector<8xf32>
    %37 = "arith.addf"(%35, %36) : (vector<8xf32>, vector<8xf32>) -> vector<8xf32>
    "xla_gpu.store"(%37, %7, %33) {alignment = 4 : i64} : (vector<8xf32>, !llvm.ptr, i64) -> ()
    "scf.yield"() : () -> ()
  }) : (i64, i64, i64) -> ()
  %38 = "arith.subi"(%6, %10) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %39 = "arith.minsi"(%38, %4) : (i64, i64) -> i64
  "scf.for"(%2, %39, %3) ({
  ^bb0(%40: i64):
    %41 = "xla_gpu.load"(%7, %40) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    %42 = "arith.addi"(%10, %40) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
    %43 = "xla_gpu.load"(%0, %42) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    %44 = "arith.addf"(%41, %43) : (f32, f32) -> f32
    "xla_gpu.store"(%44, %7, %40) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    "scf.yield"() : () -> ()
  }) : (i64, i64, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 8, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
