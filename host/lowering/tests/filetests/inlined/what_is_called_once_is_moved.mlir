// A function called once is put there whatever its size; so are those it calls.
// target: cpu
func.func @k(%a: tensor<1024xf32>, %out: tensor<1024xf32>) -> tensor<1024xf32> attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %t = gpu.thread_id x
  %r = "xla_gpu.pure_call"(%a, %t) {callee = @k.large} : (tensor<1024xf32>, index) -> f32
  %done = tensor.insert %r into %out[%t] : tensor<1024xf32>
  func.return %done : tensor<1024xf32>
}

func.func private @k.large(%a: tensor<1024xf32>, %i: index) -> f32 {
  %x = tensor.extract %a[%i] : tensor<1024xf32>
  %y = "xla_gpu.pure_call"(%x) {callee = @k.inner} : (f32) -> f32
  %z = math.exp %y : f32
  %r = math.log %z : f32
  func.return %r : f32
}

func.func private @k.inner(%x: f32) -> f32 {
  %y = math.sqrt %x : f32
  %r = math.erf %y : f32
  func.return %r : f32
}
// -----
"func.func"() ({
^bb0(%0: tensor<1024xf32>, %1: tensor<1024xf32>):
  %2 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "tensor.extract"(%0, %2) : (tensor<1024xf32>, index) -> f32
  %4 = "math.sqrt"(%3) : (f32) -> f32
  %5 = "math.erf"(%4) : (f32) -> f32
  %6 = "math.exp"(%5) : (f32) -> f32
  %7 = "math.log"(%6) : (f32) -> f32
  %8 = "tensor.insert"(%7, %1, %2) : (f32, tensor<1024xf32>, index) -> tensor<1024xf32>
  "func.return"(%8) : (tensor<1024xf32>) -> ()
}) {sym_name = "k", function_type = (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>, arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 8, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
