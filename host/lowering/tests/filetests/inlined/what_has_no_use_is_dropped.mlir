// What nobody uses goes, a call of a pure function and a loop among it, and functions nobody calls any more.
// target: cpu
func.func @k(%a: tensor<1024xf32>, %out: tensor<1024xf32>) -> tensor<1024xf32> attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %t = gpu.thread_id x
  %unused = "xla_gpu.pure_call"(%a, %t) {callee = @k.root} : (tensor<1024xf32>, index) -> f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %r = arith.constant 2.0 : f32
  %sum = scf.for %j = %c0 to %c9 step %c1 iter_args(%s = %r) -> (f32) {
    %next = arith.addf %s, %s : f32
    scf.yield %next : f32
  }
  %done = tensor.insert %r into %out[%t] : tensor<1024xf32>
  func.return %done : tensor<1024xf32>
}
func.func private @k.root(%a: tensor<1024xf32>, %i: index) -> f32 {
  %x = tensor.extract %a[%i] : tensor<1024xf32>
  %r = math.sqrt %x : f32
  func.return %r : f32
}

// -----
"func.func"() ({
^bb0(%0: tensor<1024xf32>, %1: tensor<1024xf32>):
  %2 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "arith.constant"() {value = 0x40000000 : f32} : () -> f32
  %4 = "tensor.insert"(%3, %1, %2) : (f32, tensor<1024xf32>, index) -> tensor<1024xf32>
  "func.return"(%4) : (tensor<1024xf32>) -> ()
}) {sym_name = "k", function_type = (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>, arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 8, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
