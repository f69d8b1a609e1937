//! Checks dots and convolutions for all combinations of operand and result types.

use fusebox_core::hlo::{ArrayLiteral, ElementType, FloatFormat};

use super::closeness::{is_close, show};
use super::engines::Engine;
use super::values;

/// Types of operands and results. They include wide and narrow types of every kind.
const TYPES: [&str; 16] = [
    "pred", "s4", "u4", "s8", "u8", "s32", "u32", "s64", "u64", "f4e2m1fn", "f8e4m3fn", "bf16", "f32", "f64", "c64",
    "c128",
];

/// Pairs of different operand types.
const MIXED: [(&str, &str); 14] = [
    ("s8", "u8"),
    ("s32", "f32"),
    ("f32", "u64"),
    ("pred", "s8"),
    ("u8", "s16"),
    ("s4", "s8"),
    ("f32", "c64"),
    ("c128", "f32"),
    ("c64", "c128"),
    ("f64", "c64"),
    ("f16", "bf16"),
    ("f8e5m2", "f32"),
    ("pred", "c64"),
    ("s8", "c64"),
];

/// Number of products in a sum.
const LENGTH: usize = 3;

/// Pairs of rows to multiply. The sum of the products is exact in every type that can represent it.
/// Some numbers are small, negative, infinite or NaN, some have fractions, and some wrap or exceed
/// the ranges of integers.
const ROWS: [([f64; LENGTH], [f64; LENGTH]); 9] = [
    ([1.0, 2.0, 3.0], [1.0, 1.0, 2.0]),
    ([1.0, -2.0, 3.0], [1.0, 2.0, -2.0]),
    ([1.5, 0.5, 2.0], [1.0, 1.5, 0.5]),
    ([4.0, 4.0, 0.0], [4.0, 0.0, 0.0]),
    ([100.0, 100.0, 7.0], [100.0, 50.0, 7.0]),
    ([65536.0, 1.0, 0.0], [65536.0, 3.0, 1.0]),
    ([-1e10, 1.0, 0.0], [1e10, 1.0, 0.0]),
    ([f64::INFINITY, 1.0, 2.0], [1.0, 1.0, -1.0]),
    ([f64::NAN, 1.0, 2.0], [1.0, 1.0, -1.0]),
];

/// Returns an imaginary part for a real part. For a large real part, the imaginary part is 0,
/// because its product would be rounded away.
fn imaginary(re: f64) -> f64 {
    match () {
        () if re.abs() <= 100.0 => 2.0 - re,
        () if re.is_finite() => 0.0,
        () => 1.0,
    }
}

fn element(ty: ElementType, x: f64) -> Vec<u8> {
    let part = ty.real_part();
    let bytes = |x: f64| match FloatFormat::of(part) {
        Some(format) => format.encode(x).to_le_bytes()[..part.byte_size()].to_vec(),
        None if ty == ElementType::Pred => vec![u8::from(x > 1.0)],
        None => {
            let unused = 128 - ty.bits();
            let bits = (x as i128) << unused;
            let x = if ty.is_signed_integer() { bits >> unused } else { ((bits as u128) >> unused) as i128 };
            (x as i64).to_le_bytes()[..part.byte_size()].to_vec()
        }
    };
    if ty.is_complex() { [bytes(x), bytes(imaginary(x))].concat() } else { bytes(x) }
}

fn operand(ty: ElementType, right: bool) -> ArrayLiteral {
    let rows = ROWS.iter().map(|(left_row, right_row)| if right { right_row } else { left_row });
    let flat = values::array(ty, rows.flatten().map(|&x| element(ty, x)));
    ArrayLiteral::new(ty, vec![ROWS.len() as i64, LENGTH as i64], flat.data).unwrap()
}

/// The HLO operation that computes the sums of products.
#[derive(Clone, Copy)]
enum Product {
    Dot,
    Convolution,
}

impl Product {
    fn line(self, result: &str) -> String {
        let (n, k) = (ROWS.len(), LENGTH);
        match self {
            Product::Dot => format!(
                "{result}[{n}] dot(x, y), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}"
            ),
            // Each row is a separate feature group.
            Product::Convolution => format!(
                "{result}[1,{n},1] convolution(cx, cy), window={{size={k}}}, dim_labels=bf0_oi0->bf0, feature_group_count={n}"
            ),
        }
    }
}

/// Checks two operand types with all result types.
fn check(left: &str, right: &str, product: Product) {
    let (n, k) = (ROWS.len(), LENGTH);
    let inputs = [operand(left.parse().unwrap(), false), operand(right.parse().unwrap(), true)];
    let mut lines = vec![
        format!("x = {left}[{n},{k}] parameter(0)"),
        format!("y = {right}[{n},{k}] parameter(1)"),
        format!("cx = {left}[1,{n},{k}] reshape(x)"),
        format!("cy = {right}[{n},1,{k}] reshape(y)"),
    ];
    let (mut names, mut shapes) = (Vec::new(), Vec::new());
    for result in TYPES {
        let line = product.line(result);
        shapes.push(line.split(' ').next().unwrap().to_owned());
        names.push(format!("to_{result}"));
        lines.push(format!("to_{result} = {line}"));
    }
    lines.push(format!("ROOT t = ({}) tuple({})", shapes.join(", "), names.join(", ")));
    let text = format!("HloModule m\nENTRY main {{\n  {}\n}}\n", lines.join("\n  "));
    let expected = Engine::Interpreter.run(&text, &inputs);
    for engine in [Engine::Cpu, Engine::Simt] {
        for ((found, expected), name) in engine.run(&text, &inputs).iter().zip(&expected).zip(&names) {
            let ty = found.element_type;
            let size = ty.byte_size();
            for (row, (a, b)) in found.data.chunks(size).zip(expected.data.chunks(size)).enumerate() {
                let (a_text, b_text) = (show(ty, a), show(ty, b));
                assert!(
                    is_close(ty, a, b),
                    "{engine:?}: {left} by {right} {name}, row {row}: {a_text} instead of {b_text}"
                );
            }
        }
    }
}

#[test]
fn dots_of_one_type() {
    TYPES.iter().for_each(|ty| check(ty, ty, Product::Dot));
}

#[test]
fn dots_of_two_types() {
    MIXED.iter().for_each(|(left, right)| check(left, right, Product::Dot));
}

#[test]
fn convolutions() {
    for ty in ["pred", "s4", "u8", "s32", "bf16", "f32", "f64", "c64", "c128"] {
        check(ty, ty, Product::Convolution);
    }
    check("s8", "c64", Product::Convolution);
    check("f8e5m2", "f32", Product::Convolution);
}
