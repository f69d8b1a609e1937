// Four floats at a multiple of four are aligned to 16 bytes, at a multiple of two to 8; the buffer itself is no better
// aligned than to 64.
// target: sm_90
func.func @k(%a: !llvm.ptr<1> {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr<1> {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %b = gpu.block_id x
  %t = gpu.thread_id x
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %twice = arith.muli %t, %c2 : index
  %four = arith.muli %t, %c4 : index
  %many = arith.muli %t, %c64 : index
  %x = "xla_gpu.load"(%a, %four) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> vector<4xf32>
  %y = "xla_gpu.load"(%a, %twice) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> vector<4xf32>
  %z = "xla_gpu.load"(%a, %many) {alignment = 64 : i64} : (!llvm.ptr<1>, index) -> vector<4xf32>
  %s = arith.addf %x, %y : vector<4xf32>
  %r = arith.addf %s, %z : vector<4xf32>
  "xla_gpu.store"(%r, %out, %four) {alignment = 64 : i64} : (vector<4xf32>, !llvm.ptr<1>, index) -> ()
  func.return
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "arith.index_cast"(%2) : (index) -> i32
  %4 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %5 = "arith.index_cast"(%4) : (index) -> i32
  %6 = "arith.constant"() {value = 4 : i32} : () -> i32
  %7 = "arith.constant"() {value = 2 : i32} : () -> i32
  %8 = "arith.constant"() {value = 64 : i32} : () -> i32
  %9 = "arith.muli"(%5, %6) {overflowFlags = #arith.overflow<nsw>} : (i32, i32) -> i32
  %10 = "arith.extui"(%9) {nonNeg} : (i32) -> i64
  %11 = "xla_gpu.load"(%0, %10) {alignment = 16 : i64} : (!llvm.ptr<1>, i64) -> vector<4xf32>
  %12 = "arith.muli"(%5, %7) {overflowFlags = #arith.overflow<nsw>} : (i32, i32) -> i32
  %13 = "arith.extui"(%12) {nonNeg} : (i32) -> i64
  %14 = "xla_gpu.load"(%0, %13) {alignment = 8 : i64} : (!llvm.ptr<1>, i64) -> vector<4xf32>
  %15 = "arith.muli"(%5, %8) {overflowFlags = #arith.overflow<nsw>} : (i32, i32) -> i32
  %16 = "arith.extui"(%15) {nonNeg} : (i32) -> i64
  %17 = "xla_gpu.load"(%0, %16) {alignment = 64 : i64} : (!llvm.ptr<1>, i64) -> vector<4xf32>
  %18 = "arith.addf"(%11, %14) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %19 = "arith.addf"(%18, %17) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  "xla_gpu.store"(%19, %1, %10) {alignment = 16 : i64} : (vector<4xf32>, !llvm.ptr<1>, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 8, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
