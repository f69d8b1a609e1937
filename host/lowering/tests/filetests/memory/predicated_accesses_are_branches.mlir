// An access under a condition is a branch, in which the address is computed too.
// target: cpu
func.func @k(%a: tensor<128xf32>, %out: tensor<128xf32>) -> tensor<128xf32> attributes {fusebox.entry, fusebox.launch = array<i64: 128, 1>} {
  %b = gpu.block_id x
  %c100 = arith.constant 100 : index
  %zero = arith.constant 0.0 : f32
  %inside = arith.cmpi slt, %b, %c100 : index
  %x = "xla_gpu.predicated_extract"(%inside, %zero, %a, %b) : (i1, f32, tensor<128xf32>, index) -> f32
  %done = "xla_gpu.predicated_insert"(%inside, %x, %out, %b) : (i1, f32, tensor<128xf32>, index) -> tensor<128xf32>
  func.return %done : tensor<128xf32>
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "arith.constant"() {value = 100 : index} : () -> index
  %3 = "arith.constant"() {value = 0x0 : f32} : () -> f32
  %4 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %5 = "arith.cmpi"(%4, %2) {predicate = 2 : i64} : (index, index) -> i1
  %7 = "scf.if"(%5) ({
    %6 = "xla_gpu.load"(%0, %4) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
    "scf.yield"(%6) : (f32) -> ()
  }, {
    "scf.yield"(%3) : (f32) -> ()
  }) : (i1) -> f32
  "scf.if"(%5) ({
    "xla_gpu.store"(%7, %1, %4) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
    "scf.yield"() : () -> ()
  }, {
  }) : (i1) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 512 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 512 : i64, llvm.noalias, llvm.readonly}, {fusebox.bytes = 512 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 512 : i64, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 128, 1>, fusebox.shared_bytes = 49152 : i64} : () -> ()
