// The same sum on the GPU before, which has no instruction for it.
// target: sm_80
func.func @k(%a: tensor<128xbf16>, %out: tensor<4xbf16>) -> tensor<4xbf16> attributes {fusebox.entry, fusebox.launch = array<i64: 1, 128>} {
  %t = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %x = tensor.extract %a[%t] : tensor<128xbf16>
  %done = "xla_gpu.atomic_rmw"(%out, %c0) ({
  ^bb0(%old: bf16):
    %wide = arith.extf %old : bf16 to f32
    %own = arith.extf %x : bf16 to f32
    %sum = arith.addf %wide, %own : f32
    %new = arith.truncf %sum : f32 to bf16
    "xla_gpu.yield"(%new) : (bf16) -> ()
  }) : (tensor<4xbf16>, index) -> tensor<4xbf16>
  func.return %done : tensor<4xbf16>
}
// -----
"func.func"() ({
^bb0(%0: !llvm.ptr<1>, %1: !llvm.ptr<1>):
  %2 = "arith.constant"() {value = 0 : index} : () -> index
  %3 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %4 = "xla_gpu.load"(%0, %3) {alignment = 64 : i64, invariant} : (!llvm.ptr<1>, index) -> bf16
  "xla_gpu.atomic_rmw"(%1, %2) ({
  ^bb0(%5: i16):
    %6 = "arith.bitcast"(%5) : (i16) -> bf16
    %7 = "arith.extf"(%6) : (bf16) -> f32
    %8 = "arith.extf"(%4) : (bf16) -> f32
    %9 = "arith.addf"(%7, %8) : (f32, f32) -> f32
    %10 = "arith.truncf"(%9) : (f32) -> bf16
    %11 = "arith.bitcast"(%10) : (bf16) -> i16
    "xla_gpu.yield"(%11) : (i16) -> ()
  }) {alignment = 64 : i64, threads = "device"} : (!llvm.ptr<1>, index) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr<1>, !llvm.ptr<1>) -> (), arg_attrs = [{fusebox.bytes = 256 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 256 : i64, llvm.noalias, llvm.readonly}, {fusebox.bytes = 8 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 8 : i64, llvm.noalias}], fusebox.entry, fusebox.launch = array<i64: 1, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
