// Loops stay as they are if a lane reads what an earlier lane writes, if two arguments may overlap,
// if a sum has a fixed order, or if elements are not adjacent.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 4, 1>} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c8 = arith.constant 8 : i64
  %zero = arith.constant 0.0 : f32
  %tile = "xla_gpu.stack_memory"() {bytes = 64 : i64, alignment = 64 : i64} : () -> !llvm.ptr
  scf.for %i = %c0 to %c8 step %c1 : i64 {
    %x = "xla_gpu.load"(%tile, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    "xla_gpu.store"(%x, %tile, %i) {alignment = 4 : i64, offset = 1 : i64} : (f32, !llvm.ptr, i64) -> ()
    scf.yield
  }
  scf.for %i = %c0 to %c8 step %c1 : i64 {
    %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    "xla_gpu.store"(%x, %out, %i) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    scf.yield
  }
  %total = scf.for %i = %c0 to %c8 step %c1 iter_args(%sum = %zero) -> (f32) : i64 {
    %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    %next = arith.addf %sum, %x : f32
    scf.yield %next : f32
  }
  scf.for %i = %c0 to %c8 step %c1 : i64 {
    %at = arith.muli %i, %c2 overflow<nsw> : i64
    %x = "xla_gpu.load"(%a, %at) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    "xla_gpu.store"(%x, %tile, %i) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    scf.yield
  }
  "xla_gpu.store"(%total, %out, %c0) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  func.return
}

// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 0 : i64} : () -> i64
  %3 = "arith.constant"() {value = 1 : i64} : () -> i64
  %4 = "arith.constant"() {value = 2 : i64} : () -> i64
  %5 = "arith.constant"() {value = 8 : i64} : () -> i64
  %6 = "arith.constant"() {value = 0x0 : f32} : () -> f32
  %7 = "xla_gpu.stack_memory"() {alignment = 64 : i64, bytes = 64 : i64} : () -> !llvm.ptr
  "scf.for"(%2, %5, %3) ({
  ^bb0(%8: i64):
    %9 = "xla_gpu.load"(%7, %8) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    "xla_gpu.store"(%9, %7, %8) {alignment = 4 : i64, offset = 1 : i64} : (f32, !llvm.ptr, i64) -> ()
    "scf.yield"() : () -> ()
  }) : (i64, i64, i64) -> ()
  "scf.for"(%2, %5, %3) ({
  ^bb0(%10: i64):
    %11 = "xla_gpu.load"(%0, %10) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    "xla_gpu.store"(%11, %1, %10) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    "scf.yield"() : () -> ()
  }) : (i64, i64, i64) -> ()
  %16 = "scf.for"(%2, %5, %3, %6) ({
  ^bb0(%12: i64, %13: f32):
    %14 = "xla_gpu.load"(%0, %12) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    %15 = "arith.addf"(%13, %14) : (f32, f32) -> f32
    "scf.yield"(%15) : (f32) -> ()
  }) : (i64, i64, i64, f32) -> f32
  "scf.for"(%2, %5, %3) ({
  ^bb0(%17: i64):
    %18 = "arith.muli"(%17, %4) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
    %19 = "xla_gpu.load"(%0, %18) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    "xla_gpu.store"(%19, %7, %17) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    "scf.yield"() : () -> ()
  }) : (i64, i64, i64) -> ()
  "xla_gpu.store"(%16, %1, %2) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 4, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
