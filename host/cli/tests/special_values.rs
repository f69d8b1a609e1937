//! Elementwise operations on the values where definitions matter: zeros with their signs, infinities, NaN,
//! the smallest and the largest of each type, divisors of 0, shifts beyond the width. All pairs of them
//! go through every operation; the reference interpreter says what is right.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod compiled;

use fusebox_compiler::Source;
use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{ArrayLiteral, ElementType, FloatFormat, Literal};
use fusebox_lowering::Target;

use compiled::run;

const COMPARISONS: [&str; 6] = ["EQ", "NE", "GE", "GT", "LE", "LT"];

/// A module that gives the results of many operations on `x` and `y` as one tuple.
struct Case {
    element: &'static str,
    count: usize,
    lines: Vec<String>,
    types: Vec<String>,
}

impl Case {
    fn new(element: &'static str, count: usize) -> Self {
        Case { element, count, lines: Vec::new(), types: Vec::new() }
    }

    fn result(&mut self, ty: &str, operation: &str) {
        let (shape, name) = (format!("{ty}[{}]", self.count), format!("r{}", self.types.len()));
        self.lines.push(format!("  {name} = {shape} {operation}"));
        self.types.push(shape);
    }

    fn unary(&mut self, operations: &[&str]) {
        operations.iter().for_each(|op| self.result(self.element, &format!("{op}(x)")));
    }

    fn binary(&mut self, operations: &[&str]) {
        operations.iter().for_each(|op| self.result(self.element, &format!("{op}(x, y)")));
    }

    fn compare(&mut self, suffix: &str) {
        for direction in COMPARISONS {
            self.result("pred", &format!("compare(x, y), direction={direction}{suffix}"));
        }
    }

    fn convert(&mut self, types: &[&str]) {
        let own = self.element;
        types.iter().filter(|ty| **ty != own).for_each(|ty| self.result(ty, "convert(x)"));
    }

    fn text(&self) -> String {
        let names = self.lines.iter().filter_map(|line| Some(line.trim().split_once(" = ")?.0));
        let names: Vec<&str> = names.collect();
        let (element, count) = (self.element, self.count);
        format!(
            "HloModule m\nENTRY main {{\n  x = {element}[{count}] parameter(0)\n  y = {element}[{count}] parameter(1)\n{}\n  ROOT t = ({}) tuple({})\n}}\n",
            self.lines.join("\n"),
            self.types.join(", "),
            names.join(", ")
        )
    }

    /// Compares every result of every pair of `values` with the interpreter's.
    fn check(&self, values: &[Vec<u8>]) {
        let ty: ElementType = self.element.parse().unwrap();
        let n = values.len();
        let array = |pick: &dyn Fn(usize) -> usize| {
            let data: Vec<u8> = (0..n * n).flat_map(|i| values[pick(i)].clone()).collect();
            ArrayLiteral::new(ty, vec![(n * n) as i64], data).unwrap()
        };
        let inputs = [array(&|i| i / n), array(&|i| i % n)];
        let source = Source::text("case.hlo", &self.text());
        let module = source.parse().unwrap_or_else(|e| panic!("{e}\n{}", self.text()));
        let literals = inputs.clone().map(Literal::Array);
        let expected = fusebox_interpreter::evaluate(&module, &literals).unwrap_or_else(|e| panic!("{e}"));
        let found = run(&source, Target::Cpu, DeviceDescription::cpu(1), &inputs).unwrap_or_else(|e| panic!("{e}"));
        let mut faults = Vec::new();
        for ((line, found), expected) in self.lines.iter().zip(found.leaves()).zip(expected.leaves()) {
            faults.extend(differences(line, &inputs, found.as_array().unwrap(), expected.as_array().unwrap()));
        }
        assert!(faults.is_empty(), "{} differences\n{}", faults.len(), faults[..faults.len().min(40)].join("\n"));
    }
}

fn differences(line: &str, inputs: &[ArrayLiteral; 2], found: &ArrayLiteral, expected: &ArrayLiteral) -> Vec<String> {
    let size = found.element_type.byte_size();
    let operand = |k: usize, i: usize| {
        let size = inputs[k].element_type.byte_size();
        show(inputs[k].element_type, &inputs[k].data[i * size..(i + 1) * size])
    };
    let pairs = found.data.chunks(size).zip(expected.data.chunks(size)).enumerate();
    let wrong = pairs.filter(|(_, (a, b))| !is_close(found.element_type, a, b));
    let describe = |(i, (a, b)): (usize, (&[u8], &[u8]))| {
        let (a, b) = (show(found.element_type, a), show(found.element_type, b));
        format!("{line}\n    x = {}, y = {}: {a} instead of {b}", operand(0, i), operand(1, i))
    };
    // One operation tends to fail for many operands in the same way.
    wrong.map(describe).take(4).collect()
}

/// Numbers of a value: two for complex ones.
fn decode(ty: ElementType, bytes: &[u8]) -> Vec<f64> {
    let part = ty.real_part();
    let Some(format) = FloatFormat::of(part) else { return Vec::new() };
    let number = |bytes: &[u8]| {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        format.decode(u64::from_le_bytes(wide))
    };
    bytes.chunks(part.byte_size()).map(number).collect()
}

fn show(ty: ElementType, bytes: &[u8]) -> String {
    match decode(ty, bytes).as_slice() {
        [] => bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect(),
        numbers => format!("{numbers:?}"),
    }
}

/// Integers exactly; floats to some units in the last place, with signs of zeros; complex numbers
/// relative to their size. What is below the smallest normal number counts as equal.
fn is_close(ty: ElementType, found: &[u8], expected: &[u8]) -> bool {
    if found == expected {
        return true;
    }
    let (relative, absolute) = match ty.real_part() {
        ElementType::F64 => (2e-15, 1e-307),
        ElementType::F32 => (5e-7, 1.2e-38),
        ElementType::F16 => (1e-3, 6e-8),
        ElementType::BF16 => (8e-3, 1.2e-38),
        _ => {
            return decode(ty, found).iter().all(|x| x.is_nan())
                && decode(ty, expected).iter().all(|x| x.is_nan())
                && ty.is_float();
        }
    };
    let (found, expected) = (decode(ty, found), decode(ty, expected));
    let size = expected.iter().filter(|x| x.is_finite()).fold(0f64, |size, x| size.max(x.abs()));
    found.iter().zip(&expected).all(|(&a, &b)| match (a.is_nan(), b.is_nan()) {
        (false, false) => a == b || (a - b).abs() <= relative * if ty.is_complex() { size } else { b.abs() } + absolute,
        (a, b) => a == b,
    })
}

fn float_values(ty: &str) -> Vec<Vec<u8>> {
    let ty: ElementType = ty.parse().unwrap();
    let format = FloatFormat::of(ty).unwrap();
    let numbers = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        3.0,
        0.1,
        -7.25,
        20.0,
        100.0,
        -127.5,
        448.0,
        65504.0,
        2147483648.0,
        -2147483648.0,
        9.3e18,
        -9.3e18,
        1e-3,
        1e-7,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    numbers.iter().map(|&x| format.encode(x).to_le_bytes()[..ty.byte_size()].to_vec()).collect()
}

fn complex_values(ty: &str) -> Vec<Vec<u8>> {
    let parts = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 1e-10, f64::INFINITY, f64::NEG_INFINITY];
    let number = |x: f64| if ty == "c64" { (x as f32).to_le_bytes().to_vec() } else { x.to_le_bytes().to_vec() };
    parts.iter().flat_map(|&re| parts.iter().map(move |&im| [number(re), number(im)].concat())).collect()
}

fn integer_values(ty: &str) -> Vec<Vec<u8>> {
    let element: ElementType = ty.parse().unwrap();
    let (bits, size) = (element.bits(), element.byte_size());
    let smallest = -1i128 << (bits - 1);
    let numbers =
        [0, 1, 2, 3, 7, 8, 31, 32, 63, 64, 100, -1, -2, -3, -100, smallest, smallest + 1, -smallest - 1, -smallest - 2];
    let pattern = |&x: &i128| match bits {
        4 if element.is_signed_integer() => ((x << 124 >> 124) as i64).to_le_bytes()[..1].to_vec(),
        4 => vec![(x & 15) as u8],
        _ => (x as i64).to_le_bytes()[..size].to_vec(),
    };
    numbers.iter().map(pattern).collect()
}

fn check_float(ty: &'static str) {
    let values = float_values(ty);
    let mut case = Case::new(ty, values.len() * values.len());
    case.unary(&[
        "abs",
        "cbrt",
        "ceil",
        "cosine",
        "erf",
        "exponential",
        "exponential-minus-one",
        "floor",
        "log",
        "log-plus-one",
        "logistic",
        "negate",
        "round-nearest-afz",
        "round-nearest-even",
        "rsqrt",
        "sign",
        "sine",
        "sqrt",
        "tan",
        "tanh",
    ]);
    case.binary(&["add", "atan2", "divide", "maximum", "minimum", "multiply", "power", "remainder", "subtract"]);
    case.compare("");
    case.compare(", type=TOTALORDER");
    case.result("pred", "is-finite(x)");
    case.convert(&[
        "pred", "s4", "u4", "s8", "u8", "s32", "u32", "s64", "u64", "f16", "bf16", "f32", "f64", "f8e4m3fn", "f8e5m2",
    ]);
    let bits = if ty == "bf16" { "u16".to_owned() } else { ty.replace('f', "u") };
    case.lines.push(format!("  bits = {bits}[{}] bitcast-convert(y)", case.count));
    case.types.push(format!("{bits}[{}]", case.count));
    for to in ["s8", "s16", "s32", "s64"] {
        case.result(to, "stochastic-convert(x, bits)");
    }
    for (exponent, mantissa) in [(5, 10), (8, 7), (4, 3), (8, 23)] {
        case.result(ty, &format!("reduce-precision(x), exponent_bits={exponent}, mantissa_bits={mantissa}"));
    }
    case.check(&values);
}

#[test]
fn f32() {
    check_float("f32");
}

#[test]
fn f64() {
    check_float("f64");
}

#[test]
fn f16() {
    check_float("f16");
}

#[test]
fn bf16() {
    check_float("bf16");
}

#[test]
fn eight_bit_floats() {
    for ty in ["f8e4m3fn", "f8e5m2", "f8e4m3", "f8e3m4", "f8e4m3b11fnuz", "f8e4m3fnuz", "f8e5m2fnuz"] {
        let values = float_values(ty);
        let mut case = Case::new(ty, values.len() * values.len());
        case.binary(&["add", "divide", "maximum", "multiply"]);
        case.unary(&["abs", "negate", "sqrt", "exponential"]);
        case.compare("");
        case.convert(&["pred", "s8", "f16", "bf16", "f32", "f64", "f8e4m3fn", "f8e5m2"]);
        case.check(&values);
    }
}

#[test]
fn integers() {
    for ty in ["s4", "u4", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"] {
        let values = integer_values(ty);
        let mut case = Case::new(ty, values.len() * values.len());
        case.unary(&["not", "popcnt", "count-leading-zeros"]);
        if ty.starts_with('s') {
            case.unary(&["abs", "negate", "sign"]);
        }
        case.binary(&[
            "add",
            "and",
            "divide",
            "maximum",
            "minimum",
            "multiply",
            "or",
            "power",
            "remainder",
            "shift-left",
            "shift-right-arithmetic",
            "shift-right-logical",
            "subtract",
            "xor",
        ]);
        case.compare("");
        case.convert(&[
            "pred", "s4", "u4", "s8", "u16", "s32", "u32", "s64", "u64", "f16", "bf16", "f32", "f64", "f8e5m2", "c64",
        ]);
        case.check(&values);
    }
}

#[test]
fn complex_numbers() {
    for ty in ["c64", "c128"] {
        let part = if ty == "c64" { "f32" } else { "f64" };
        let values = complex_values(ty);
        let mut case = Case::new(ty, values.len() * values.len());
        case.unary(&[
            "cosine",
            "exponential",
            "exponential-minus-one",
            "log",
            "log-plus-one",
            "negate",
            "rsqrt",
            "sign",
            "sine",
            "sqrt",
            "tan",
            "tanh",
        ]);
        case.result(part, "abs(x)");
        case.binary(&["add", "divide", "multiply", "power", "subtract"]);
        case.result("pred", "compare(x, y), direction=EQ");
        case.result("pred", "compare(x, y), direction=NE");
        case.convert(&["c64", "c128"]);
        case.check(&values);
    }
}

/// XLA has none of these on complex numbers, so only ordinary values are compared.
#[test]
fn inverse_functions_of_complex_numbers() {
    let parts = [0.25, -0.75, 1.5, -3.0, 20.0];
    let number = |x: f64| x.to_le_bytes();
    let values: Vec<Vec<u8>> =
        parts.iter().flat_map(|&re| parts.iter().map(move |&im| [number(re), number(im)].concat())).collect();
    let mut case = Case::new("c128", values.len() * values.len());
    case.unary(&["acos", "acosh", "asin", "asinh", "atanh", "cbrt", "cosh", "logistic", "sinh"]);
    case.check(&values);
}
