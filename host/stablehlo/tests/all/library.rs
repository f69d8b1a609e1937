//! Functions of the library CHLO, as text contains them, against the definitions in portable
//! artifacts (`programs/make.py`) and against known values.

use std::fs;
use std::path::PathBuf;

use fusebox_core::hlo::{ArrayLiteral, ElementType, Literal, Module, print_module, verify};
use fusebox_interpreter::evaluate;
use fusebox_stablehlo::{read_bytecode, read_text, to_hlo};

/// The operands are all pairs of these numbers: special values, integers, fractions, negative
/// integers and fractions, tiny and huge numbers, and numbers around the limits between formulas.
const NUMBERS: [f64; 32] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    -2.0,
    3.0,
    -7.0,
    0.25,
    0.5,
    0.75,
    -0.3,
    0.999,
    -0.9999999,
    1.5,
    -1.5,
    2.7,
    -3.3,
    5.5,
    7.9,
    8.1,
    -8.5,
    12.25,
    -25.5,
    150.0,
    1e-6,
    -1e-30,
    1e-310,
    6e4,
    1e300,
    f64::INFINITY,
    f64::NAN,
];

fn bytes(name: &str, kind: &str) -> Vec<u8> {
    fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.{kind}"))).unwrap()
}

fn from_text(text: &str) -> Module {
    let module = to_hlo(&read_text(text, "text").unwrap()).unwrap();
    verify(&module).unwrap();
    module
}

fn array(element_type: ElementType, numbers: impl IntoIterator<Item = f64>) -> Literal {
    let format = element_type.real_part().float_format().unwrap();
    let size = element_type.real_part().byte_size();
    let data: Vec<u8> = numbers.into_iter().flat_map(|it| format.encode(it).to_le_bytes()[..size].to_vec()).collect();
    let count = (data.len() / element_type.byte_size()) as i64;
    Literal::Array(ArrayLiteral::new(element_type, vec![count], data).unwrap())
}

/// Returns the elements of all results.
fn numbers(result: &Literal) -> Vec<f64> {
    match result {
        Literal::Token => Vec::new(),
        Literal::Tuple(results) => results.iter().flat_map(numbers).collect(),
        Literal::Array(array) => {
            let format = array.element_type.real_part().float_format().unwrap();
            let bits = array.data.chunks_exact(array.element_type.real_part().byte_size()).map(|bytes| {
                let mut all = [0; 8];
                all[..bytes.len()].copy_from_slice(bytes);
                u64::from_le_bytes(all)
            });
            bits.map(|bits| format.decode(bits)).collect()
        }
    }
}

#[test]
fn text_and_artifact_give_equal_results() {
    let pairs = || NUMBERS.into_iter().flat_map(|left| NUMBERS.map(|right| (left, right)));
    for (name, element_type) in [
        ("library_bf16", ElementType::BF16),
        ("library_f16", ElementType::F16),
        ("library_f32", ElementType::F32),
        ("library_f64", ElementType::F64),
        ("library_complex", ElementType::C64),
    ] {
        let arguments = if element_type.is_complex() {
            vec![array(element_type, pairs().flat_map(|(real, imaginary)| [real, imaginary]))]
        } else {
            vec![array(element_type, pairs().map(|it| it.0)), array(element_type, pairs().map(|it| it.1))]
        };
        let artifact = to_hlo(&read_bytecode(&bytes(name, "mlirbc"), name).unwrap()).unwrap();
        let text = from_text(&String::from_utf8(bytes(name, "mlir")).unwrap());
        let expected = numbers(&evaluate(&artifact, &arguments).unwrap());
        let results = numbers(&evaluate(&text, &arguments).unwrap());
        assert_eq!(results.len(), expected.len());
        for (position, (result, expected)) in results.into_iter().zip(expected).enumerate() {
            let (function, at) = (position / 1024, position % 1024);
            let (left, right) = (NUMBERS[at / 32], NUMBERS[at % 32]);
            let is_equal = result.to_bits() == expected.to_bits() || result.is_nan() && expected.is_nan();
            assert!(is_equal, "{name}, result {function}, of {left:e} and {right:e}: {result:e}, not {expected:e}");
        }
    }
}

#[test]
fn functions_give_known_values() {
    for (call, x, y, expected) in [
        ("square %a : tensor<1xf64>", 3.0, 0.0, 9.0),
        ("conj %a : tensor<1xf64>", 3.0, 0.0, 3.0),
        ("atan %a : tensor<1xf64>", 1.0, 0.0, std::f64::consts::FRAC_PI_4),
        ("erfc %a : tensor<1xf64>", 0.5, 0.0, 0.4795001221869535),
        ("erfc %a : tensor<1xf64>", -3.0, 0.0, 1.9999779095030015),
        ("erfc %a : tensor<1xf64>", 9.0, 0.0, 4.13703174651381e-37),
        ("erf_inv %a : tensor<1xf64>", 0.5, 0.0, 0.4769362762044699),
        ("erf_inv %a : tensor<1xf64>", -1.0, 0.0, f64::NEG_INFINITY),
        ("lgamma %a : tensor<1xf64>", 0.25, 0.0, 1.2880225246980774),
        ("lgamma %a : tensor<1xf64>", -1.5, 0.0, 0.8600470153764809),
        ("lgamma %a : tensor<1xf64>", -2.0, 0.0, f64::INFINITY),
        ("digamma %a : tensor<1xf64>", 0.25, 0.0, -4.2274535333762655),
        ("bessel_i1e %a : tensor<1xf64>", 1.0, 0.0, 0.2079104153497085),
        ("bessel_i1e %a : tensor<1xf64>", -20.0, 0.0, -0.08750622218328867),
        ("zeta %a, %b : tensor<1xf64>, tensor<1xf64>", 2.0, 1.0, 1.6449340668482264),
        ("polygamma %a, %b : tensor<1xf64>, tensor<1xf64>", 1.0, 0.5, 4.934802200544679),
        ("polygamma %a, %b : tensor<1xf64>, tensor<1xf64>", 0.0, 0.25, -4.2274535333762655),
        ("next_after %a, %b : tensor<1xf64>, tensor<1xf64>", 1.0, 2.0, 1.0 + f64::EPSILON),
        ("next_after %a, %b : tensor<1xf64>, tensor<1xf64>", 0.0, -1.0, -f64::from_bits(1)),
    ] {
        let text = format!(
            "func.func @main(%a: tensor<1xf64>, %b: tensor<1xf64>) -> tensor<1xf64> {{
  %1 = chlo.{call} -> tensor<1xf64>
  return %1 : tensor<1xf64>
}}"
        );
        let arguments = [x, y].map(|it| array(ElementType::F64, [it]));
        let [result] = numbers(&evaluate(&from_text(&text), &arguments).unwrap())[..] else { unreachable!() };
        let is_near = result == expected || (result - expected).abs() < 4e-14 * expected.abs();
        assert!(is_near, "{call} of {x} and {y}: {result:e}, not {expected:e}");
    }
}

#[test]
fn conjugates_negate_the_imaginary_part() {
    let module = from_text(
        "func.func @main(%a: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
  %1 = chlo.conj %a : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  return %1 : tensor<2xcomplex<f32>>
}",
    );
    let result = evaluate(&module, &[array(ElementType::C64, [1.0, 2.0, -3.0, -0.5])]).unwrap();
    assert_eq!(numbers(&result), [1.0, -2.0, -3.0, 0.5]);
}

/// JAX writes this operation for TPUs.
#[test]
fn products_of_groups_of_rows_keep_their_dimensions() {
    let module = from_text(
        r#"
func.func @main(%a: tensor<3x2xf32>, %b: tensor<2x2x1xf32>, %sizes: tensor<2xi32>) -> tensor<3x1xf32> {
  %0 = "chlo.ragged_dot"(%a, %b, %sizes) <{precision_config = [#chlo<precision HIGHEST>, #chlo<precision DEFAULT>],
    ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1],
      lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}>
    : (tensor<3x2xf32>, tensor<2x2x1xf32>, tensor<2xi32>) -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}"#,
    );
    let text = print_module(&module);
    let attributes = "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}";
    assert!(text.contains(attributes) && text.contains("operand_precision={highest,default}"), "{text}");
    let floats = |dims: &[i64], numbers: &[f32]| {
        let data: Vec<u8> = numbers.iter().flat_map(|it| it.to_le_bytes()).collect();
        Literal::Array(ArrayLiteral::new(ElementType::F32, dims.to_vec(), data).unwrap())
    };
    let sizes: Vec<u8> = [1i32, 2].iter().flat_map(|it| it.to_le_bytes()).collect();
    let sizes = Literal::Array(ArrayLiteral::new(ElementType::S32, vec![2], sizes).unwrap());
    let arguments =
        [floats(&[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), floats(&[2, 2, 1], &[1.0, 10.0, 100.0, 1000.0]), sizes];
    assert_eq!(numbers(&evaluate(&module, &arguments).unwrap()), [21.0, 4300.0, 6500.0]);
}
