"func.func"() ({
^bb0(%x: f32, %y: f32):
  %z = "arith.addf"(%x, %y) : (f32, f32) -> f32
  "func.return"(%z) : (f32) -> ()
}) {sym_name = "g0", function_type = (f32, f32) -> f32, sym_visibility = "private"} : () -> ()
"func.func"() ({
^bb0(%x: f32, %y: f32):
  %z = "xla_gpu.shuffle_reduce"(%x) {callee = @g0, max_distance = 1073741824 : i64} : (f32) -> f32
  "func.return"(%z) : (f32) -> ()
}) {sym_name = "g1", function_type = (f32, f32) -> f32, sym_visibility = "private"} : () -> ()
"func.func"() ({
^bb0(%x: f32, %y: f32):
  %z = "xla_gpu.shuffle_reduce"(%x) {callee = @g1, max_distance = 1073741824 : i64} : (f32) -> f32
  "func.return"(%z) : (f32) -> ()
}) {sym_name = "g2", function_type = (f32, f32) -> f32, sym_visibility = "private"} : () -> ()
"func.func"() ({
^bb0(%x: f32, %y: f32):
  %z = "xla_gpu.shuffle_reduce"(%x) {callee = @g2, max_distance = 1073741824 : i64} : (f32) -> f32
  "func.return"(%z) : (f32) -> ()
}) {sym_name = "g3", function_type = (f32, f32) -> f32, sym_visibility = "private"} : () -> ()
"func.func"() ({
^bb0(%x: f32, %y: f32):
  %z = "xla_gpu.shuffle_reduce"(%x) {callee = @g3, max_distance = 1073741824 : i64} : (f32) -> f32
  "func.return"(%z) : (f32) -> ()
}) {sym_name = "g4", function_type = (f32, f32) -> f32, sym_visibility = "private"} : () -> ()
"func.func"() ({
^bb0(%x: f32, %y: f32):
  %z = "xla_gpu.shuffle_reduce"(%x) {callee = @g4, max_distance = 1073741824 : i64} : (f32) -> f32
  "func.return"(%z) : (f32) -> ()
}) {sym_name = "g5", function_type = (f32, f32) -> f32, sym_visibility = "private"} : () -> ()
