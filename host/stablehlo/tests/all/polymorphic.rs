//! Exports of JAX with arguments of unknown sizes (`programs/make.py`), for given sizes, against
//! JAX's own conversion for these sizes.

use std::fs;
use std::path::PathBuf;

use fusebox_core::hlo::{Module, parse_module, verify};
use fusebox_interpreter::evaluate;
use fusebox_stablehlo::program::Program;
use fusebox_stablehlo::{StablehloError, read_bytecode, read_export, read_text, to_hlo, to_hlo_for};

use crate::programs::arguments;

const NAMES: [&str; 8] = ["convolved", "cumulated", "gathered", "repeated", "reshaped", "sliced", "softmax", "vectors"];

fn bytes(name: &str) -> Vec<u8> {
    fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs/polymorphic").join(name)).unwrap()
}

fn text(name: &str) -> Program {
    let text = String::from_utf8(bytes(&format!("{name}.mlir"))).unwrap();
    read_text(&text, "export.mlir").unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn exported(name: &str) -> Program {
    let file = bytes(&format!("{name}.jax_export"));
    read_bytecode(read_export(&file, "file").unwrap(), "export").unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the sizes of a module's arguments.
fn sizes(module: &Module) -> Vec<Vec<i64>> {
    let entry = module.entry_computation().unwrap();
    let parameters = entry.parameters().into_iter();
    parameters.map(|id| entry.instruction(id).shape.as_array().unwrap().dims.clone()).collect()
}

#[test]
fn programs_for_given_sizes_are_those_of_jax() {
    for name in NAMES {
        let jax = parse_module(&String::from_utf8(bytes(&format!("{name}.hlo"))).unwrap(), "jax").unwrap();
        let arguments = arguments(&jax);
        let expected = evaluate(&jax, &arguments).unwrap();
        for program in [text(name), exported(name)] {
            let module = to_hlo_for(&program, &sizes(&jax)).unwrap_or_else(|error| panic!("{name}: {error}"));
            verify(&module).unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
            let result = evaluate(&module, &arguments).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(result, expected, "{name}");
        }
    }
}

#[test]
fn sizes_that_are_missing_or_do_not_fit_are_named() {
    let words = |result: Result<Module, StablehloError>| result.map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        words(to_hlo(&text("softmax"))),
        "export.mlir: main: argument 0 has dimensions of unknown size: give the sizes of all arguments, with --shapes \
         or as the arrays of --inputs"
    );
    for (sizes, message) in [
        (vec![vec![4, 6]], "export.mlir: main: the program has 2 arguments, but the shapes of 1 are given"),
        (vec![vec![4, 6], vec![6]], "export.mlir: main: argument 1 has the sizes [?, 3], not [6]"),
        (vec![vec![4, 6], vec![6, 4]], "export.mlir: main: argument 1 has the sizes [?, 3], not [6, 4]"),
        (vec![vec![4, -1], vec![6, 3]], "export.mlir: main: argument 0 has the sizes [?, ?], not [4, -1]"),
    ] {
        assert_eq!(words(to_hlo_for(&text("softmax"), &sizes)), message);
    }
    let inconsistent = words(to_hlo_for(&text("softmax"), &[vec![4, 6], vec![5, 3]]));
    for part in [
        "custom_call: Input shapes do not match the polymorphic shapes specification. Found inconsistency between \
         dimension size args[1].shape[0] (= 5) and the specification 'c' (= 6)",
        "args[0].shape = (b, c)",
    ] {
        assert!(inconsistent.contains(part), "{inconsistent}");
    }
    let small = words(to_hlo_for(&text("softmax"), &[vec![0, 6], vec![6, 3]]));
    assert!(small.contains("Expected value >= 1 for dimension variable 'b'"), "{small}");
}

#[test]
fn sizes_that_depend_on_values_are_refused_at_their_place() {
    let text = "
func.func @main(%a: tensor<?xf32>, %n: tensor<1xi32>) -> tensor<?xf32> {
  %0 = stablehlo.dynamic_reshape %a, %n : (tensor<?xf32>, tensor<1xi32>) -> tensor<?xf32> loc(\"train.py\":12:3)
  return %0 : tensor<?xf32>
}";
    let program = read_text(text, "p.mlir").unwrap();
    assert_eq!(
        to_hlo_for(&program, &[vec![4], vec![1]]).unwrap_err().to_string(),
        "train.py:12: dynamic_reshape: operand 1 determines a size, but is known only when the program runs"
    );
}

/// The text of a module states all sizes, and the reader refuses larger arrays.
#[test]
fn results_that_become_too_large_are_refused_at_their_place() {
    let text = "
func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32> loc(\"train.py\":12:3)
  return %0 : tensor<?xf32>
}";
    let program = read_text(text, "p.mlir").unwrap();
    let most = 1 << 48;
    assert!(to_hlo_for(&program, &[vec![most / 2]]).is_ok());
    assert_eq!(
        to_hlo_for(&program, &[vec![most]]).unwrap_err().to_string(),
        "train.py:12: concatenate: an array would be too large"
    );
}

/// Programs compute sizes by ordinary operations on integers.
#[test]
fn sizes_are_computed_by_operations() {
    let of = |body: &str| {
        let text = format!(
            "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {{
  %n = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  {body}
  %list = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
  %r = stablehlo.dynamic_iota %list, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}}"
        );
        let module = to_hlo_for(&read_text(&text, "p.mlir").unwrap(), &[vec![7]]).unwrap();
        module.entry_computation().unwrap().root_instruction().shape.as_array().unwrap().dims[0]
    };
    for (body, size) in [
        ("%size = stablehlo.add %n, %two : tensor<i32>", 9),
        ("%size = stablehlo.divide %n, %two : tensor<i32>", 3),
        ("%size = stablehlo.remainder %n, %two : tensor<i32>", 1),
        ("%m = stablehlo.negate %n : tensor<i32>\n %size = stablehlo.maximum %m, %two : tensor<i32>", 2),
        ("%m = stablehlo.multiply %n, %two : tensor<i32>\n %size = stablehlo.minimum %m, %n : tensor<i32>", 7),
        ("%m = stablehlo.negate %n : tensor<i32>\n %size = stablehlo.abs %m : tensor<i32>", 7),
        (
            "%m = stablehlo.convert %n : (tensor<i32>) -> tensor<i64>\n %size = stablehlo.convert %m : (tensor<i64>) -> tensor<i32>",
            7,
        ),
        (
            "%p = stablehlo.compare GT, %n, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n %size = stablehlo.select %p, %two, %n : tensor<i1>, tensor<i32>",
            2,
        ),
        ("%size = stablehlo.clamp %two, %n, %two : tensor<i32>", 2),
        (
            "%l = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<i32>) -> tensor<3xi32>\n %s = stablehlo.slice %l [1:2] : (tensor<3xi32>) -> tensor<1xi32>\n %size = stablehlo.reshape %s : (tensor<1xi32>) -> tensor<i32>",
            7,
        ),
    ] {
        assert_eq!(of(body), size, "{body}");
    }
}
