// The combiner of a reduction over lanes is named by an attribute, and stays a function.
// target: sm_90
func.func @k(%a: tensor<1024xf32>, %out: tensor<1024xf32>) -> tensor<1024xf32> attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %t = gpu.thread_id x
  %x = tensor.extract %a[%t] : tensor<1024xf32>
  %r = "xla_gpu.shuffle_reduce"(%x) {callee = @k.add, max_distance = 16 : i64} : (f32) -> f32
  %done = tensor.insert %r into %out[%t] : tensor<1024xf32>
  func.return %done : tensor<1024xf32>
}
func.func private @k.add(%x: f32, %y: f32) -> f32 {
  %r = arith.addf %x, %y : f32
  func.return %r : f32
}

// -----
"func.func"() ({
^bb0(%0: tensor<1024xf32>, %1: tensor<1024xf32>):
  %2 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "tensor.extract"(%0, %2) : (tensor<1024xf32>, index) -> f32
  %4 = "xla_gpu.shuffle_reduce"(%3) {callee = @k.add, max_distance = 16 : i64} : (f32) -> f32
  %5 = "tensor.insert"(%4, %1, %2) : (f32, tensor<1024xf32>, index) -> tensor<1024xf32>
  "func.return"(%5) : (tensor<1024xf32>) -> ()
}) {sym_name = "k", function_type = (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>, arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 8, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
"func.func"() ({
^bb0(%0: f32, %1: f32):
  %2 = "arith.addf"(%0, %1) : (f32, f32) -> f32
  "func.return"(%2) : (f32) -> ()
}) {sym_name = "k.add", function_type = (f32, f32) -> f32, sym_visibility = "private"} : () -> ()
