"func.func"() ({
^bb0(%x: f32):
  "func.return"(%x) : (f32) -> ()
}) {sym_name = "f", function_type = (f32) -> f64} : () -> ()
