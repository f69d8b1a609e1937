// Operations that differ in an attribute, here what may be done to floats, are two.
// target: cpu
func.func @k(%a: tensor<1024xf32>, %out: tensor<1024xf32>) -> tensor<1024xf32> attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %t = gpu.thread_id x
  %x = tensor.extract %a[%t] : tensor<1024xf32>
  %y = arith.mulf %x, %x : f32
  %z = arith.mulf %x, %x fastmath<reassoc> : f32
  %again = arith.mulf %x, %x fastmath<reassoc> : f32
  %s = arith.addf %y, %z : f32
  %r = arith.addf %s, %again : f32
  %done = tensor.insert %r into %out[%t] : tensor<1024xf32>
  func.return %done : tensor<1024xf32>
}

// -----
"func.func"() ({
^bb0(%0: tensor<1024xf32>, %1: tensor<1024xf32>):
  %2 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "tensor.extract"(%0, %2) : (tensor<1024xf32>, index) -> f32
  %4 = "arith.mulf"(%3, %3) : (f32, f32) -> f32
  %5 = "arith.mulf"(%3, %3) {fastmath = #arith.fastmath<reassoc>} : (f32, f32) -> f32
  %6 = "arith.addf"(%4, %5) : (f32, f32) -> f32
  %7 = "arith.addf"(%6, %5) : (f32, f32) -> f32
  %8 = "tensor.insert"(%7, %1, %2) : (f32, tensor<1024xf32>, index) -> tensor<1024xf32>
  "func.return"(%8) : (tensor<1024xf32>) -> ()
}) {sym_name = "k", function_type = (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>, arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 8, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
