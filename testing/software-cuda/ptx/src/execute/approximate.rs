//! Executes approximate instructions, whose results may differ from the rounded results by as much
//! as the manual allows. A program that is right only with smaller errors relies on one particular
//! device.

use super::warp::Warp;
use crate::code::{Approximation, Narrow, each_lane};
use crate::numbers::{Bf16, F16, F32, Float};

/// Executes an approximation. With a seed, each result is any number within the error that the
/// manual states, often a number at the limit of the error. Equal operands yield equal results.
pub fn execute(warp: &mut Warp, of: &Approximation, mask: u32, seed: Option<u64>) {
    let operands = [of.at.from[0], of.at.from[1]].map(|from| *warp.registers.get(from));
    (of.run)(&mut warp.registers, &of.at, mask);
    let Some(seed) = seed else { return };
    let results = &mut warp.registers.values[of.at.to as usize];
    each_lane(mask, |lane| {
        let second = if of.operands == 2 { operands[1][lane] } else { 0 };
        let of_parts = [operands[0][lane], second];
        results[lane] = match (of.narrow, of.parts) {
            (Narrow::F32, _) => moved::<F32>(of, of_parts, results[lane], seed),
            (Narrow::F16, 1) => moved::<F16>(of, of_parts, results[lane], seed),
            (Narrow::Bf16, 1) => moved::<Bf16>(of, of_parts, results[lane], seed),
            (Narrow::F16, _) => pair::<F16>(of, of_parts, results[lane], seed),
            (Narrow::Bf16, _) => pair::<Bf16>(of, of_parts, results[lane], seed),
        };
    });
}

fn pair<T: Float>(of: &Approximation, operands: [u64; 2], result: u64, seed: u64) -> u64 {
    let part = |by: u32| moved::<T>(of, operands.map(|all| all >> by & 0xffff), result >> by & 0xffff, seed);
    part(0) | part(16) << 16
}

/// Returns a number within the error that the manual states. The operands and the seed determine
/// this number. Returns `result` where the manual states the exact result (for zeros, subnormals,
/// infinities, NaN).
fn moved<T: Float>(of: &Approximation, operands: [u64; 2], result: u64, seed: u64) -> u64 {
    let is_normal = |bits: u64| {
        let magnitude = bits & (T::SIGN - 1);
        (T::SMALLEST_NORMAL..T::INFINITY).contains(&magnitude)
    };
    if !operands[..of.operands].iter().copied().all(is_normal) || !is_normal(result) {
        return result;
    }
    let [first, second] = operands.map(T::decode);
    let exact = (of.exact)(first, second);
    let ulp = T::decode((result & (T::SIGN - 1)) + 1) - T::decode(result & (T::SIGN - 1));
    let error = (of.bound)(first, exact, ulp);
    let random = mixed(seed ^ mixed(operands[0] ^ mixed(operands[1])));
    let share = match random & 3 {
        0 => 1.0,
        1 => -1.0,
        // A number from -1 to 1.
        _ => (random >> 11) as f64 / (1u64 << 52) as f64 - 1.0,
    };
    let mut found = T::encode(exact + share * error);
    if (found ^ result) & T::SIGN != 0 {
        return result;
    }
    // Rounding may have left the stated error.
    while found != result && (T::decode(found) - exact).abs() > error {
        found = if found > result { found - 1 } else { found + 1 };
    }
    if is_normal(found) { found } else { result }
}

/// Returns a number of which every bit depends on every bit of the argument: the finaliser of
/// `splitmix64`.
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}
