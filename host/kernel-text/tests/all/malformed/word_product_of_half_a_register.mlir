"func.func"() ({
^bb0(%a: vector<64xi8>, %b: vector<32xbf16>, %c: vector<16xf32>, %d: vector<16xi32>, %e: vector<32xi8>):
  %r = "xla_gpu.word_muli"(%e, %e, %d) : (vector<32xi8>, vector<32xi8>, vector<16xi32>) -> vector<16xi32>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (vector<64xi8>, vector<32xbf16>, vector<16xf32>, vector<16xi32>, vector<32xi8>) -> ()} : () -> ()
