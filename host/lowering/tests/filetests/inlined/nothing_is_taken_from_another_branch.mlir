// What one branch computes is not known in the other one; what stands before both is.
// target: cpu
func.func @k(%a: tensor<1024xf32>, %out: tensor<1024xf32>) -> tensor<1024xf32> attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %t = gpu.thread_id x
  %c9 = arith.constant 9 : index
  %below = arith.cmpi slt, %t, %c9 : index
  %x = tensor.extract %a[%t] : tensor<1024xf32>
  %r = scf.if %below -> f32 {
    %same = tensor.extract %a[%t] : tensor<1024xf32>
    %y = arith.mulf %same, %x : f32
    scf.yield %y : f32
  } else {
    %z = arith.mulf %x, %x : f32
    scf.yield %z : f32
  }
  %done = tensor.insert %r into %out[%t] : tensor<1024xf32>
  func.return %done : tensor<1024xf32>
}

// -----
"func.func"() ({
^bb0(%0: tensor<1024xf32>, %1: tensor<1024xf32>):
  %2 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "arith.constant"() {value = 9 : index} : () -> index
  %4 = "arith.cmpi"(%2, %3) {predicate = 2 : i64} : (index, index) -> i1
  %5 = "tensor.extract"(%0, %2) : (tensor<1024xf32>, index) -> f32
  %8 = "scf.if"(%4) ({
    %6 = "arith.mulf"(%5, %5) : (f32, f32) -> f32
    "scf.yield"(%6) : (f32) -> ()
  }, {
    %7 = "arith.mulf"(%5, %5) : (f32, f32) -> f32
    "scf.yield"(%7) : (f32) -> ()
  }) : (i1) -> f32
  %9 = "tensor.insert"(%8, %1, %2) : (f32, tensor<1024xf32>, index) -> tensor<1024xf32>
  "func.return"(%9) : (tensor<1024xf32>) -> ()
}) {sym_name = "k", function_type = (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>, arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only, fusebox.no_alias}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.no_alias}], fusebox.entry, fusebox.launch = array<i64: 8, 128>, fusebox.shared_bytes = 49152 : i64} : () -> ()
