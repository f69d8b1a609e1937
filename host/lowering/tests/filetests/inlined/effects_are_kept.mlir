// Barriers stay where they are, as often as they stand there.
// target: sm_90
func.func @k(%a: tensor<1024xf32>, %out: tensor<1024xf32>) -> tensor<1024xf32> attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %t = gpu.thread_id x
  %tile = "xla_gpu.allocate_shared"() : () -> tensor<128xf32>
  %x = tensor.extract %a[%t] : tensor<1024xf32>
  %full = tensor.insert %x into %tile[%t] : tensor<128xf32>
  %first = "xla_gpu.sync_threads"(%full) : (tensor<128xf32>) -> tensor<128xf32>
  %second = "xla_gpu.sync_threads"(%first) : (tensor<128xf32>) -> tensor<128xf32>
  %r = tensor.extract %second[%t] : tensor<128xf32>
  %done = tensor.insert %r into %out[%t] : tensor<1024xf32>
  func.return %done : tensor<1024xf32>
}

// -----
"func.func"() ({
^bb0(%0: tensor<1024xf32>, %1: tensor<1024xf32>):
  %2 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "xla_gpu.allocate_shared"() : () -> tensor<128xf32>
  %4 = "tensor.extract"(%0, %2) : (tensor<1024xf32>, index) -> f32
  %5 = "tensor.insert"(%4, %3, %2) : (f32, tensor<128xf32>, index) -> tensor<128xf32>
  %6 = "xla_gpu.sync_threads"(%5) : (tensor<128xf32>) -> tensor<128xf32>
  %7 = "xla_gpu.sync_threads"(%6) : (tensor<128xf32>) -> tensor<128xf32>
  %8 = "tensor.extract"(%7, %2) : (tensor<128xf32>, index) -> f32
  %9 = "tensor.insert"(%8, %1, %2) : (f32, tensor<1024xf32>, index) -> tensor<1024xf32>
  "func.return"(%9) : (tensor<1024xf32>) -> ()
}) {sym_name = "k", function_type = (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>, arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 8, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
