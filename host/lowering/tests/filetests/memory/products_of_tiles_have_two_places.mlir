// A product of tiles becomes sums and two places; barriers make ready what threads have written.
// target: sm_90a
func.func @k(%a: tensor<128xbf16>, %out: tensor<128x4xf32>) -> tensor<128x4xf32> attributes {fusebox.entry, fusebox.launch = array<i64: 1, 128>} {
  %t = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %left = "xla_gpu.allocate_shared"() : () -> tensor<2x2x8x8x8xbf16>
  %right = "xla_gpu.allocate_shared"() : () -> tensor<2x2x1x8x8xbf16>
  %x = tensor.extract %a[%t] : tensor<128xbf16>
  %written = tensor.insert %x into %left[%c1, %c0, %c0, %c0, %c0] : tensor<2x2x8x8x8xbf16>
  %ready:2 = "xla_gpu.sync_threads"(%written, %right) : (tensor<2x2x8x8x8xbf16>, tensor<2x2x1x8x8xbf16>) -> (tensor<2x2x8x8x8xbf16>, tensor<2x2x1x8x8xbf16>)
  %sums:4 = "xla_gpu.wgmma"(%ready#0, %c1, %c0, %c0, %c0, %c0, %ready#1, %c1, %c0, %c0, %c0, %c0, %zero, %zero, %zero, %zero) {along_steps = array<i64: 1, 0>} : (tensor<2x2x8x8x8xbf16>, index, index, index, index, index, tensor<2x2x1x8x8xbf16>, index, index, index, index, index, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  %done = tensor.insert %sums#3 into %out[%t, %c0] : tensor<128x4xf32>
  func.return %done : tensor<128x4xf32>
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 0 : index} : () -> index
  %3 = "arith.constant"() {value = 1 : index} : () -> index
  %4 = "arith.constant"() {value = 0x0 : f32} : () -> f32
  %5 = "xla_gpu.shared_memory"() {bytes = 4096 : i64, alignment = 16 : i64, offset = 0 : i64, element_bytes = 2 : i64} : () -> !llvm.ptr<3>
  %6 = "xla_gpu.shared_memory"() {bytes = 512 : i64, alignment = 16 : i64, offset = 4096 : i64, element_bytes = 2 : i64} : () -> !llvm.ptr<3>
  %7 = "arith.constant"() {value = 2 : index} : () -> index
  %8 = "arith.constant"() {value = 8 : index} : () -> index
  %9 = "arith.constant"() {value = 4 : index} : () -> index
  %10 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %11 = "xla_gpu.load"(%0, %10) {alignment = 64 : i64, invariant} : (!llvm.ptr<1>, index) -> bf16
  %12 = "arith.muli"(%3, %7) : (index, index) -> index
  %13 = "arith.addi"(%12, %2) : (index, index) -> index
  %14 = "arith.muli"(%13, %8) : (index, index) -> index
  %15 = "arith.addi"(%14, %2) : (index, index) -> index
  %16 = "arith.muli"(%15, %8) : (index, index) -> index
  %17 = "arith.addi"(%16, %2) : (index, index) -> index
  %18 = "arith.muli"(%17, %8) : (index, index) -> index
  %19 = "arith.addi"(%18, %2) : (index, index) -> index
  "xla_gpu.store"(%11, %5, %19) {alignment = 16 : i64} : (bf16, !llvm.ptr<3>, index) -> ()
  "xla_gpu.barrier"() {site = "k: xla_gpu.sync_threads at products_of_tiles_have_two_places.mlir:12:14", readies_tiles} : () -> ()
  %20 = "arith.muli"(%3, %7) : (index, index) -> index
  %21 = "arith.addi"(%20, %2) : (index, index) -> index
  %22 = "arith.muli"(%21, %8) : (index, index) -> index
  %23 = "arith.addi"(%22, %2) : (index, index) -> index
  %24 = "arith.muli"(%23, %8) : (index, index) -> index
  %25 = "arith.addi"(%24, %2) : (index, index) -> index
  %26 = "arith.muli"(%25, %8) : (index, index) -> index
  %27 = "arith.addi"(%26, %2) : (index, index) -> index
  %28 = "arith.muli"(%3, %7) : (index, index) -> index
  %29 = "arith.addi"(%28, %2) : (index, index) -> index
  %30 = "arith.muli"(%29, %3) : (index, index) -> index
  %31 = "arith.addi"(%30, %2) : (index, index) -> index
  %32 = "arith.muli"(%31, %8) : (index, index) -> index
  %33 = "arith.addi"(%32, %2) : (index, index) -> index
  %34 = "arith.muli"(%33, %8) : (index, index) -> index
  %35 = "arith.addi"(%34, %2) : (index, index) -> index
  %36, %37, %38, %39 = "xla_gpu.wgmma"(%4, %4, %4, %4, %5, %27, %6, %35) {along_steps = array<i64: 1, 0>, columns = 8 : i64, steps = 16 : i64, strides = array<i64: 512, 64>, element = bf16, site = "k: xla_gpu.wgmma at products_of_tiles_have_two_places.mlir:13:13"} : (f32, f32, f32, f32, !llvm.ptr<3>, index, !llvm.ptr<3>, index) -> (f32, f32, f32, f32)
  %40 = "arith.muli"(%10, %9) : (index, index) -> index
  %41 = "arith.addi"(%40, %2) : (index, index) -> index
  "xla_gpu.store"(%39, %1, %41) {alignment = 64 : i64} : (f32, !llvm.ptr<1>, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 256 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 256 : i64, llvm.noalias, llvm.readonly}, {fusebox.bytes = 2048 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef}], fusebox.entry, fusebox.launch = array<i64: 1, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
