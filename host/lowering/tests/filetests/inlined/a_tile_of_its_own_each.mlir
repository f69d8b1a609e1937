// Equal operations that make memory make two memories.
// target: sm_90
func.func @k(%a: tensor<1024xf32>, %out: tensor<1024xf32>) -> tensor<1024xf32> attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %t = gpu.thread_id x
  %one = "xla_gpu.allocate_shared"() : () -> tensor<128xf32>
  %two = "xla_gpu.allocate_shared"() : () -> tensor<128xf32>
  %x = tensor.extract %a[%t] : tensor<1024xf32>
  %first = tensor.insert %x into %one[%t] : tensor<128xf32>
  %second = tensor.insert %x into %two[%t] : tensor<128xf32>
  %synced:2 = "xla_gpu.sync_threads"(%first, %second) : (tensor<128xf32>, tensor<128xf32>) -> (tensor<128xf32>, tensor<128xf32>)
  %y = tensor.extract %synced#0[%t] : tensor<128xf32>
  %z = tensor.extract %synced#1[%t] : tensor<128xf32>
  %r = arith.addf %y, %z : f32
  %done = tensor.insert %r into %out[%t] : tensor<1024xf32>
  func.return %done : tensor<1024xf32>
}

// -----
"func.func"() ({
^bb0(%0: tensor<1024xf32>, %1: tensor<1024xf32>):
  %2 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "xla_gpu.allocate_shared"() : () -> tensor<128xf32>
  %4 = "xla_gpu.allocate_shared"() : () -> tensor<128xf32>
  %5 = "tensor.extract"(%0, %2) : (tensor<1024xf32>, index) -> f32
  %6 = "tensor.insert"(%5, %3, %2) : (f32, tensor<128xf32>, index) -> tensor<128xf32>
  %7 = "tensor.insert"(%5, %4, %2) : (f32, tensor<128xf32>, index) -> tensor<128xf32>
  %8, %9 = "xla_gpu.sync_threads"(%6, %7) : (tensor<128xf32>, tensor<128xf32>) -> (tensor<128xf32>, tensor<128xf32>)
  %10 = "tensor.extract"(%8, %2) : (tensor<128xf32>, index) -> f32
  %11 = "tensor.extract"(%9, %2) : (tensor<128xf32>, index) -> f32
  %12 = "arith.addf"(%10, %11) : (f32, f32) -> f32
  %13 = "tensor.insert"(%12, %1, %2) : (f32, tensor<1024xf32>, index) -> tensor<1024xf32>
  "func.return"(%13) : (tensor<1024xf32>) -> ()
}) {sym_name = "k", function_type = (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>, arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 8, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
