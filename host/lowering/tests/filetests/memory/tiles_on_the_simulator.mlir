// The simulator gives a tile memory of its block, and is told of accesses to it and of who waits where.
// target: simt
func.func @k(%a: tensor<128xf32>, %out: tensor<128xf32>) -> tensor<128xf32> attributes {fusebox.entry, fusebox.launch = array<i64: 1, 128>} {
  %t = gpu.thread_id x
  %c127 = arith.constant 127 : index
  %mirrored = arith.subi %c127, %t : index
  %tile = "xla_gpu.allocate_shared"() : () -> tensor<128xf32>
  %x = tensor.extract %a[%t] : tensor<128xf32>
  %full = tensor.insert %x into %tile[%t] : tensor<128xf32>
  %synced = "xla_gpu.sync_threads"(%full) : (tensor<128xf32>) -> tensor<128xf32>
  %y = tensor.extract %synced[%mirrored] : tensor<128xf32>
  %done = tensor.insert %y into %out[%t] : tensor<128xf32>
  func.return %done : tensor<128xf32>
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 127 : index} : () -> index
  %3 = "xla_gpu.shared_memory"() {bytes = 512 : i64, alignment = 64 : i64, offset = 0 : i64, element_bytes = 4 : i64} : () -> !llvm.ptr
  %4 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %5 = "arith.subi"(%2, %4) : (index, index) -> index
  "xla_gpu.report_index"(%0, %4) {dimension = 0 : i64, size = 128 : i64, site = "k: tensor.extract at tiles_on_the_simulator.mlir:8:8"} : (!llvm.ptr, index) -> ()
  "xla_gpu.report_access"(%0, %4) {alignment = 64 : i64, element_bytes = 4 : i64, bytes = 4 : i64, kind = 0 : i64, site = "k: tensor.extract at tiles_on_the_simulator.mlir:8:8"} : (!llvm.ptr, index) -> ()
  %6 = "xla_gpu.load"(%0, %4) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
  "xla_gpu.report_index"(%3, %4) {dimension = 0 : i64, size = 128 : i64, site = "k: tensor.insert at tiles_on_the_simulator.mlir:9:11"} : (!llvm.ptr, index) -> ()
  "xla_gpu.report_access"(%3, %4) {alignment = 64 : i64, element_bytes = 4 : i64, bytes = 4 : i64, kind = 1 : i64, site = "k: tensor.insert at tiles_on_the_simulator.mlir:9:11"} : (!llvm.ptr, index) -> ()
  "xla_gpu.store"(%6, %3, %4) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
  "xla_gpu.barrier"() {site = "k: xla_gpu.sync_threads at tiles_on_the_simulator.mlir:10:13"} : () -> ()
  "xla_gpu.report_index"(%3, %5) {dimension = 0 : i64, size = 128 : i64, site = "k: tensor.extract at tiles_on_the_simulator.mlir:11:8"} : (!llvm.ptr, index) -> ()
  "xla_gpu.report_access"(%3, %5) {alignment = 64 : i64, element_bytes = 4 : i64, bytes = 4 : i64, kind = 0 : i64, site = "k: tensor.extract at tiles_on_the_simulator.mlir:11:8"} : (!llvm.ptr, index) -> ()
  %7 = "xla_gpu.load"(%3, %5) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
  "xla_gpu.report_index"(%1, %4) {dimension = 0 : i64, size = 128 : i64, site = "k: tensor.insert at tiles_on_the_simulator.mlir:12:11"} : (!llvm.ptr, index) -> ()
  "xla_gpu.report_access"(%1, %4) {alignment = 64 : i64, element_bytes = 4 : i64, bytes = 4 : i64, kind = 1 : i64, site = "k: tensor.insert at tiles_on_the_simulator.mlir:12:11"} : (!llvm.ptr, index) -> ()
  "xla_gpu.store"(%7, %1, %4) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 512 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 512 : i64, llvm.noalias, llvm.readonly}, {fusebox.bytes = 512 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef}], fusebox.entry, fusebox.launch = array<i64: 1, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
