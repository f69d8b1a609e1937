// A sum of 40 numbers adds a vector of 32 lanes to itself until it has 8 lanes, as the rest.
// target: cpu
func.func @k(%a: !llvm.ptr {llvm.noalias, llvm.readonly}, %out: !llvm.ptr {llvm.noalias}) attributes {fusebox.entry, fusebox.launch = array<i64: 4, 1>} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c40 = arith.constant 40 : i64
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 100 : i32
  %total:2 = scf.for %i = %c0 to %c40 step %c1 iter_args(%sum = %zero, %min = %least) -> (f32, i32) : i64 {
    %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    %bits = arith.bitcast %x : f32 to i32
    %next = arith.addf %sum, %x fastmath<reassoc> : f32
    %less = arith.minsi %bits, %min : i32
    scf.yield %next, %less : f32, i32
  }
  "xla_gpu.store"(%total#0, %out, %c0) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  "xla_gpu.store"(%total#1, %out, %c1) {alignment = 4 : i64} : (i32, !llvm.ptr, i64) -> ()
  func.return
}

// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 1 : i64} : () -> i64
  %4 = "arith.constant"() {value = 40 : i64} : () -> i64
  %5 = "arith.constant"() {value = 0x0 : f32} : () -> f32
  %6 = "arith.constant"() {value = 100 : i32} : () -> i32
  %7 = "xla_gpu.load"(%0, %2) {alignment = 4 : i64} : (!llvm.ptr, i64) -> vector<32xf32>
  %8 = "arith.bitcast"(%7) : (vector<32xf32>) -> vector<32xi32>
  %9 = "xla_gpu.load"(%0, %2) {alignment = 4 : i64, offset = 32 : i64} : (!llvm.ptr, i64) -> vector<8xf32>
  %10 = "arith.bitcast"(%9) : (vector<8xf32>) -> vector<8xi32>
  %11 = "vector.shuffle"(%7, %7) {mask = array<i64: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>} : (vector<32xf32>, vector<32xf32>) -> vector<16xf32>
  %12 = "vector.shuffle"(%7, %7) {mask = array<i64: 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31>} : (vector<32xf32>, vector<32xf32>) -> vector<16xf32>
  %13 = "arith.addf"(%11, %12) {fastmath = #arith.fastmath<reassoc>} : (vector<16xf32>, vector<16xf32>) -> vector<16xf32>
  %14 = "vector.shuffle"(%13, %13) {mask = array<i64: 0, 1, 2, 3, 4, 5, 6, 7>} : (vector<16xf32>, vector<16xf32>) -> vector<8xf32>
  %15 = "vector.shuffle"(%13, %13) {mask = array<i64: 8, 9, 10, 11, 12, 13, 14, 15>} : (vector<16xf32>, vector<16xf32>) -> vector<8xf32>
  %16 = "arith.addf"(%14, %15) {fastmath = #arith.fastmath<reassoc>} : (vector<8xf32>, vector<8xf32>) -> vector<8xf32>
  %17 = "arith.addf"(%16, %9) {fastmath = #arith.fastmath<reassoc>} : (vector<8xf32>, vector<8xf32>) -> vector<8xf32>
  %18 = "vector.shuffle"(%8, %8) {mask = array<i64: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>} : (vector<32xi32>, vector<32xi32>) -> vector<16xi32>
  %19 = "vector.shuffle"(%8, %8) {mask = array<i64: 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31>} : (vector<32xi32>, vector<32xi32>) -> vector<16xi32>
  %20 = "arith.minsi"(%18, %19) : (vector<16xi32>, vector<16xi32>) -> vector<16xi32>
  %21 = "vector.shuffle"(%20, %20) {mask = array<i64: 0, 1, 2, 3, 4, 5, 6, 7>} : (vector<16xi32>, vector<16xi32>) -> vector<8xi32>
  %22 = "vector.shuffle"(%20, %20) {mask = array<i64: 8, 9, 10, 11, 12, 13, 14, 15>} : (vector<16xi32>, vector<16xi32>) -> vector<8xi32>
  %23 = "arith.minsi"(%21, %22) : (vector<8xi32>, vector<8xi32>) -> vector<8xi32>
  %24 = "arith.minsi"(%23, %10) : (vector<8xi32>, vector<8xi32>) -> vector<8xi32>
  %25 = "vector.shuffle"(%17, %17) {mask = array<i64: 0, 1, 2, 3>} : (vector<8xf32>, vector<8xf32>) -> vector<4xf32>
  %26 = "vector.shuffle"(%17, %17) {mask = array<i64: 4, 5, 6, 7>} : (vector<8xf32>, vector<8xf32>) -> vector<4xf32>
  %27 = "arith.addf"(%25, %26) {fastmath = #arith.fastmath<reassoc>} : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %28 = "vector.shuffle"(%27, %27) {mask = array<i64: 0, 1>} : (vector<4xf32>, vector<4xf32>) -> vector<2xf32>
  %29 = "vector.shuffle"(%27, %27) {mask = array<i64: 2, 3>} : (vector<4xf32>, vector<4xf32>) -> vector<2xf32>
  %30 = "arith.addf"(%28, %29) {fastmath = #arith.fastmath<reassoc>} : (vector<2xf32>, vector<2xf32>) -> vector<2xf32>
  %31 = "vector.extract"(%30) {static_position = array<i64: 0>} : (vector<2xf32>) -> f32
  %32 = "vector.extract"(%30) {static_position = array<i64: 1>} : (vector<2xf32>) -> f32
  %33 = "arith.addf"(%31, %32) {fastmath = #arith.fastmath<reassoc>} : (f32, f32) -> f32
  %34 = "arith.addf"(%5, %33) {fastmath = #arith.fastmath<reassoc>} : (f32, f32) -> f32
  %35 = "vector.shuffle"(%24, %24) {mask = array<i64: 0, 1, 2, 3>} : (vector<8xi32>, vector<8xi32>) -> vector<4xi32>
  %36 = "vector.shuffle"(%24, %24) {mask = array<i64: 4, 5, 6, 7>} : (vector<8xi32>, vector<8xi32>) -> vector<4xi32>
  %37 = "arith.minsi"(%35, %36) : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  %38 = "vector.shuffle"(%37, %37) {mask = array<i64: 0, 1>} : (vector<4xi32>, vector<4xi32>) -> vector<2xi32>
  %39 = "vector.shuffle"(%37, %37) {mask = array<i64: 2, 3>} : (vector<4xi32>, vector<4xi32>) -> vector<2xi32>
  %40 = "arith.minsi"(%38, %39) : (vector<2xi32>, vector<2xi32>) -> vector<2xi32>
  %41 = "vector.extract"(%40) {static_position = array<i64: 0>} : (vector<2xi32>) -> i32
  %42 = "vector.extract"(%40) {static_position = array<i64: 1>} : (vector<2xi32>) -> i32
  %43 = "arith.minsi"(%41, %42) : (i32, i32) -> i32
  %44 = "arith.minsi"(%6, %43) : (i32, i32) -> i32
  "xla_gpu.store"(%34, %1, %2) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  "xla_gpu.store"(%44, %1, %3) {alignment = 4 : i64} : (i32, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.noalias, llvm.readonly}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 4, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
