//! Sums of equal numbers: the rounding errors of all additions have one sign, so that long chains of additions drift.

use fusebox_conformance::{Compiler, Machine};
use fusebox_core::hlo::{ArrayLiteral, ElementType};
use fusebox_emitter_reduce::emitters;

/// The largest `x - mean(x)` of rows of one number, in units of its last place.
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
