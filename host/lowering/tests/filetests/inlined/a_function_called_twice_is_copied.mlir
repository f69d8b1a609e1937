// A function of more than forty operations that is called twice is copied, as one more copy is no more than four hundred. A math function counts as twenty.
// target: cpu
func.func @k(%a: tensor<1024xf32>, %out: tensor<1024xf32>) -> tensor<1024xf32> attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %t = gpu.thread_id x
  %c5 = arith.constant 5 : index
  %x = "xla_gpu.pure_call"(%a, %t) {callee = @k.value} : (tensor<1024xf32>, index) -> f32
  %y = "xla_gpu.pure_call"(%a, %c5) {callee = @k.value} : (tensor<1024xf32>, index) -> f32
  %r = arith.addf %x, %y : f32
  %done = tensor.insert %r into %out[%t] : tensor<1024xf32>
  func.return %done : tensor<1024xf32>
}

func.func private @k.value(%a: tensor<1024xf32>, %i: index) -> f32 {
  %x = tensor.extract %a[%i] : tensor<1024xf32>
  %y = math.sqrt %x : f32
  %z = math.exp %y : f32
  %r = math.log %z : f32
  func.return %r : f32
}
// -----
"func.func"() ({
^bb0(%0: tensor<1024xf32>, %1: tensor<1024xf32>):
  %2 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "arith.constant"() {value = 5 : index} : () -> index
  %4 = "tensor.extract"(%0, %2) : (tensor<1024xf32>, index) -> f32
  %5 = "math.sqrt"(%4) : (f32) -> f32
  %6 = "math.exp"(%5) : (f32) -> f32
  %7 = "math.log"(%6) : (f32) -> f32
  %8 = "tensor.extract"(%0, %3) : (tensor<1024xf32>, index) -> f32
  %9 = "math.sqrt"(%8) : (f32) -> f32
  %10 = "math.exp"(%9) : (f32) -> f32
  %11 = "math.log"(%10) : (f32) -> f32
  %12 = "arith.addf"(%7, %11) : (f32, f32) -> f32
  %13 = "tensor.insert"(%12, %1, %2) : (f32, tensor<1024xf32>, index) -> tensor<1024xf32>
  "func.return"(%13) : (tensor<1024xf32>) -> ()
}) {sym_name = "k", function_type = (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>, arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 8, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
