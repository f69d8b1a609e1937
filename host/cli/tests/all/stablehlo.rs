//! Programs in StableHLO: text, portable artifacts, files of `jax.export`.

use std::fs;

use crate::program::Workplace;

const TEXT: &str = r#"
module @jit_f {
  func.func public @main(%arg0: tensor<4x5xf32>) -> (tensor<4xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.tanh %arg0 : tensor<4x5xf32> loc(#loc2)
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
#loc1 = loc("train.py":12:7)
#loc2 = loc("jit(f)/tanh"(#loc1))
"#;

#[test]
fn text_runs_and_names_lines_of_python() {
    let place = Workplace::new();
    place.write("f.mlir", TEXT.as_bytes());
    place.run(&["run", "f.mlir", "--check"]).succeeded();
    place.run(&["compile", "f.mlir", "--emit", "hlo", "-o", "f.hlo"]).succeeded();
    let hlo = fs::read_to_string(place.path("f.hlo")).unwrap();
    assert!(hlo.contains(r#"op_name="jit(f)/tanh" source_file="train.py" source_line=12"#), "{hlo}");
    place.run(&["run", "f.hlo", "--check"]).succeeded();
    place.write("bad.mlir", TEXT.replace("stablehlo.tanh", "stablehlo.tanhh").as_bytes());
    let words = ["train.py:12: error: the operation is not supported [in tanhh]"];
    place.run(&["run", "bad.mlir"]).failed(1, &words);
    place.write("worse.mlir", TEXT.replace("init: %cst", "init %cst").as_bytes());
    place.run(&["run", "worse.mlir"]).failed(1, &["worse.mlir:6:35: error: `:` is needed before `%cst) applies"]);
}

#[test]
fn artifacts_and_exported_files_run() {
    let place = Workplace::new();
    let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/../stablehlo/tests/programs");
    let files = ["softmax.jax_export", "softmax.mlirbc", "loop.mlirbc", "cholesky.mlirbc", "top_k.mlir", "random.mlir"];
    for name in files {
        place.write(name, &fs::read(format!("{programs}/{name}")).unwrap());
        place.run(&["run", name, "--check"]).succeeded();
    }
    place.write("short.mlirbc", &fs::read(format!("{programs}/softmax.mlirbc")).unwrap()[..100]);
    place.run(&["run", "short.mlirbc"]).failed(1, &["short.mlirbc: error: byte "]);
}
