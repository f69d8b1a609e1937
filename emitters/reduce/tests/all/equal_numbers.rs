//! Checks sums of equal numbers. The rounding errors of all additions have the same sign, so a long
//! chain of additions drifts.

use fusebox_conformance::{Compiler, Machine};
use fusebox_core::hlo::{ArrayLiteral, ElementType};
use fusebox_emitter_reduce::emitters;

/// Returns the largest `x - mean(x)` for rows of equal numbers, in ulps of the number.
fn left(length: usize, value: f32) -> f32 {
    let text = format!(
        "HloModule m\nadd {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}}\n\
         ENTRY e {{\n  x = f32[4,{length}] parameter(0)\n  zero = f32[] constant(0)\n  \
         sum = f32[4] reduce(x, zero), dimensions={{1}}, to_apply=add\n  n = f32[] constant({length})\n  \
         ns = f32[4] broadcast(n), dimensions={{}}\n  mean = f32[4] divide(sum, ns)\n  \
         means = f32[4,{length}] broadcast(mean), dimensions={{0}}\n  ROOT d = f32[4,{length}] subtract(x, means)\n}}\n"
    );
    let data: Vec<u8> = (0..4 * length).flat_map(|_| value.to_le_bytes()).collect();
    let x = ArrayLiteral::new(ElementType::F32, vec![4, length as i64], data).unwrap();
    let made = Compiler::new(emitters()).and_then(|compiler| compiler.run(&text, &Machine::cpu(), &[x]));
    let made = made.unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(made.emitters, ["row-normalise"]);
    let result = made.result.as_array().unwrap().data.to_vec();
    let differences = result.chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
    differences.fold(0f32, |most, x| most.max(x.abs())) / (value.next_up() - value)
}

#[test]
fn a_mean_of_equal_numbers_is_that_number() {
    for length in [512_usize, 1000, 2048, 4096, 5000, 10_000] {
        for value in [100.1, 1.3, 1.7, 0.1, 3.3e7, 1.9e-20] {
            let most = if length.is_power_of_two() { 0.0 } else { 4.0 };
            let ulps = left(length, value);
            assert!(ulps <= most, "{length} times {value}: {ulps} ulp");
        }
    }
}

/// A sum of `operation(x)` over some dimensions. All numbers in `x` are equal.
struct Sum<'t> {
    dims: &'t [usize],
    reduced: &'t [usize],
    operation: &'t str,
}

impl Sum<'_> {
    /// Returns the largest error of the results, in ulps of the right result.
    fn error(&self, machine: &Machine, element: ElementType, value: f64, sign: f64) -> f64 {
        let Sum { dims, reduced, operation } = self;
        let ty = element.to_string();
        let text = |dims: &[usize]| dims.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let kept: Vec<usize> = (0..dims.len()).filter(|d| !reduced.contains(d)).map(|d| dims[d]).collect();
        let module = format!(
            "HloModule m\nadd {{\n  a = {ty}[] parameter(0)\n  b = {ty}[] parameter(1)\n  ROOT s = {ty}[] add(a, b)\n}}\n\
             ENTRY e {{\n  x = {ty}[{all}] parameter(0)\n  zero = {ty}[] constant(0)\n  y = {ty}[{all}] {operation}\n  \
             ROOT sum = {ty}[{kept}] reduce(y, zero), dimensions={{{reduced}}}, to_apply=add\n}}\n",
            all = text(dims),
            kept = text(&kept),
            reduced = text(reduced),
        );
        let is_wide = element == ElementType::F64;
        let bytes = if is_wide { value.to_le_bytes().to_vec() } else { (value as f32).to_le_bytes().to_vec() };
        let value = if is_wide { value } else { f64::from(value as f32) };
        let data = bytes.repeat(dims.iter().product());
        let x = ArrayLiteral::new(element, dims.iter().map(|&d| d as i64).collect(), data).unwrap();
        let made = Compiler::new(emitters()).and_then(|compiler| compiler.run(&module, machine, &[x]));
        let made = made.unwrap_or_else(|failure| panic!("{failure}"));
        let result = made.result.as_array().unwrap().data.to_vec();
        let results: Vec<f64> = if is_wide {
            result.chunks(8).map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap())).collect()
        } else {
            result.chunks(4).map(|bytes| f64::from(f32::from_le_bytes(bytes.try_into().unwrap()))).collect()
        };
        // The product of a number and a small integer rounds once, by a quarter of an ulp of `f64`
        // on average.
        let count: usize = reduced.iter().map(|&d| dims[d]).product();
        let right = sign * value * count as f64;
        let ulp = if is_wide {
            right.abs().next_up() - right.abs()
        } else {
            f64::from((right.abs() as f32).next_up() - right.abs() as f32)
        };
        results.iter().fold(0.0, |most, result| f64::max(most, (result - right).abs() / ulp))
    }
}

const SUMS: [Sum<'static>; 10] = [
    Sum { dims: &[10_000], reduced: &[0], operation: "negate(x)" },
    Sum { dims: &[1_000_000], reduced: &[0], operation: "copy(x)" },
    Sum { dims: &[3, 100_000], reduced: &[1], operation: "copy(x)" },
    Sum { dims: &[1000, 300], reduced: &[0], operation: "copy(x)" },
    Sum { dims: &[100_000, 8], reduced: &[0], operation: "copy(x)" },
    Sum { dims: &[20_000, 64], reduced: &[0], operation: "copy(x)" },
    Sum { dims: &[1000, 3, 100], reduced: &[0, 2], operation: "copy(x)" },
    Sum { dims: &[30, 1000, 30], reduced: &[1], operation: "copy(x)" },
    Sum { dims: &[1000, 300, 5], reduced: &[0, 2], operation: "copy(x)" },
    Sum { dims: &[1000, 1000], reduced: &[0, 1], operation: "copy(x)" },
];

#[test]
fn sums_of_equal_numbers_are_as_exact_as_of_others() {
    for machine in [Machine::cpu(), Machine::simt()] {
        for sum in &SUMS {
            let sign = if sum.operation == "copy(x)" { 1.0 } else { -1.0 };
            for (element, value) in [(ElementType::F32, 0.1), (ElementType::F32, 1.0 / 3.0), (ElementType::F64, 1.7)] {
                let ulps = sum.error(&machine, element, value, sign);
                let what = format!("{:?} over {:?} on {:?}", sum.dims, sum.reduced, machine.target);
                assert!(ulps <= 6.0, "{what}: {ulps} ulp of {element} {value}");
            }
        }
    }
}
