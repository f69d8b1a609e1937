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

#[test]
fn modules_are_written_as_stablehlo() {
    let place = Workplace::new();
    let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/../stablehlo/tests/programs");
    for name in ["softmax.hlo", "softmax.mlirbc", "loop.mlir", "conv.hlo", "scatter.mlirbc"] {
        place.write(name, &fs::read(format!("{programs}/{name}")).unwrap());
        place.run(&["compile", name, "--emit", "stablehlo", "-o", "out.mlir"]).succeeded();
        place.run(&["run", name, "--seed", "7", "--outputs", "first.npz"]).succeeded();
        place.run(&["run", "out.mlir", "--seed", "7", "--outputs", "second.npz"]).succeeded();
        assert_eq!(fs::read(place.path("first.npz")).unwrap(), fs::read(place.path("second.npz")).unwrap(), "{name}");
    }
    let fused = "f {\n  p = f32[4] parameter(0)\n  ROOT r = f32[4] negate(p)\n}\n\nENTRY main {\n  x = f32[4] parameter(0)\n  \
                 ROOT y = f32[4] fusion(x), kind=kLoop, calls=f\n}\n";
    place.write("fused.hlo", fused.as_bytes());
    place
        .run(&["compile", "fused.hlo", "--emit", "stablehlo"])
        .failed(1, &["fused.hlo:8:8: error: StableHLO has no operation fusion [in y]"]);
}

#[test]
fn programs_with_unknown_sizes_run_with_the_sizes_of_their_inputs() {
    let place = Workplace::new();
    let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/../stablehlo/tests/programs/polymorphic");
    for name in ["softmax.jax_export", "softmax.mlir", "softmax.hlo", "cumulated.jax_export", "vectors.mlir"] {
        place.write(name, &fs::read(format!("{programs}/{name}")).unwrap());
    }
    place.run(&["run", "softmax.mlir"]).failed(1, &[
        "softmax.mlir: error: argument 0 has dimensions of unknown size: give the sizes of all arguments, with --shapes or as \
         the arrays of --inputs [in main]",
    ]);
    place.run(&["run", "softmax.hlo", "--outputs", "first.npz"]).succeeded();
    for name in ["softmax.jax_export", "softmax.mlir"] {
        place.run(&["run", name, "--shapes", "4x6,6x3", "--outputs", "second.npz", "--check"]).succeeded();
        assert_eq!(fs::read(place.path("first.npz")).unwrap(), fs::read(place.path("second.npz")).unwrap(), "{name}");
    }
    place.run(&["run", "cumulated.jax_export", "--shapes", "8x5", "--check"]).succeeded();
    // The results of one program are the inputs of the next.
    place.write(
        "sizes.mlir",
        b"func.func @main() -> (tensor<5x2xf32>) {\n  \
        %0 = stablehlo.constant dense<0.5> : tensor<5x2xf32>\n  return %0 : tensor<5x2xf32>\n}",
    );
    place.run(&["run", "sizes.mlir", "--outputs", "inputs.npz"]).succeeded();
    let run = place.run(&["run", "vectors.mlir", "--inputs", "inputs.npz"]);
    run.succeeded();
    place.run(&["run", "vectors.mlir", "--shapes", "4y6"]).failed(2, &["`4y6` is no size; write 4x6,6x3, for two"]);
    place.run(&["run", "softmax.hlo", "--shapes", "4x6,6x3"]).failed(1, &["sizes of arguments are only for StableHLO"]);
    place.run(&["run", "softmax.mlir", "--shapes", "4x6,5x3"]).failed(1, &["(= 5) and the specification 'c' (= 6)"]);
}
