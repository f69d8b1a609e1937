"func.func"() ({
}) {sym_name = "f", function_type = () -> ()} : () -> ()
