//! Directed roundings of doubles and of pairs of singles.

use fusebox_ptx::DeviceKind;

use crate::harness::{Card, check, doubles, evaluate, evaluate_on, singles};

const ROUNDINGS: [&str; 3] = ["rz", "rm", "rp"];

/// Returns the next double toward positive or negative infinity.
fn next(value: f64, up: bool) -> f64 {
    if up { value.next_up() } else { value.next_down() }
}

/// Rounds a number between two doubles: the nearest, and the sign of what it lacks.
fn directed(nearest: f64, lacks: f64, rounding: &str) -> f64 {
    let up = match rounding {
        "rp" => true,
        "rm" => false,
        _ => nearest < 0.0 || nearest == 0.0 && lacks < 0.0,
    };
    if lacks != 0.0 && (lacks > 0.0) == up { next(nearest, up) } else { nearest }
}

/// Doubles whose sums, products and quotients are normal numbers.
fn usual() -> Vec<f64> {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state
    };
    let made = (0..24).map(|_| {
        let (sign, exponent) = (random() & 1 << 63, 1023 - 40 + random() % 80);
        f64::from_bits(sign | exponent << 52 | random() >> 12)
    });
    made.chain([1.0, -1.0, 0.1, 1.5, -2.5, 3.0, 4503599627370497.0, 1.0 + f64::EPSILON]).collect()
}

fn compare(name: &str, operands: usize, expected: impl Fn(&[f64], &str) -> f64) {
    let values = usual();
    let mut rows: Vec<Vec<f64>> = vec![Vec::new()];
    for place in 0..operands {
        // All pairs, and a third operand from a part of the list.
        let of_place = if place == 2 { &values[..8] } else { &values[..] };
        rows = rows.iter().flat_map(|row| of_place.iter().map(|it| [&row[..], &[*it]].concat())).collect();
    }
    let bits: Vec<Vec<u64>> = rows.iter().map(|row| row.iter().map(|value| value.to_bits()).collect()).collect();
    let names = ["%a", "%b", "%c"][..operands].join(", ");
    for rounding in ROUNDINGS {
        let found = evaluate(&format!("{name}.{rounding}.f64 %d, {names};"), "f64", &vec!["f64"; operands], &bits);
        for (row, found) in rows.iter().zip(found) {
            let expected = expected(row, rounding);
            assert_eq!(f64::from_bits(found), expected, "{name}.{rounding} of {row:?}");
        }
    }
}

/// Compares with the results of the processor and what their roundings drop, which exact operations
/// tell.
#[test]
fn results_lie_beside_the_nearest() {
    let sum = |a: f64, b: f64, rounding: &str| {
        let sum = a + b;
        let of_b = sum - a;
        let lacks = (a - (sum - of_b)) + (b - of_b);
        let zero = if rounding == "rm" { -0.0 } else { 0.0 };
        if sum == 0.0 { zero } else { directed(sum, lacks, rounding) }
    };
    compare("add", 2, |row, rounding| sum(row[0], row[1], rounding));
    compare("sub", 2, |row, rounding| sum(row[0], -row[1], rounding));
    compare("mul", 2, |row, rounding| {
        let product = row[0] * row[1];
        directed(product, row[0].mul_add(row[1], -product), rounding)
    });
    compare("div", 2, |row, rounding| {
        let quotient = row[0] / row[1];
        directed(quotient, (-quotient).mul_add(row[1], row[0]) * row[1].signum(), rounding)
    });
    compare("rcp", 1, |row, rounding| {
        let quotient = 1.0 / row[0];
        directed(quotient, (-quotient).mul_add(row[0], 1.0) * row[0].signum(), rounding)
    });
}

/// Checks roots of positive numbers, by their squares.
#[test]
fn roots_lie_beside_the_nearest() {
    let values: Vec<f64> = usual().into_iter().map(f64::abs).collect();
    let rows: Vec<Vec<u64>> = values.iter().map(|value| vec![value.to_bits()]).collect();
    for rounding in ROUNDINGS {
        let found = evaluate(&format!("sqrt.{rounding}.f64 %d, %a;"), "f64", &["f64"], &rows);
        for (value, found) in values.iter().zip(found) {
            let root = value.sqrt();
            let expected = directed(root, (-root).mul_add(root, *value), rounding);
            assert_eq!(f64::from_bits(found), expected, "sqrt.{rounding} of {value}");
        }
    }
}

/// Checks sums of products whose parts are far apart: the larger part is the nearest number.
#[test]
fn products_with_far_sums() {
    let [large, tiny] = [1e200f64, 1e-200].map(f64::to_bits);
    let rows = [[1.0f64.to_bits(), large, tiny], [tiny, 1.0f64.to_bits(), large]];
    for row in &rows {
        let nearest = 1e200;
        check("fma.rp.f64 %d, %a, %b, %c;", "f64", &["f64"; 3], &[(row, f64::to_bits(next(nearest, true)))]);
        check("fma.rm.f64 %d, %a, %b, %c;", "f64", &["f64"; 3], &[(row, large)]);
        check("fma.rz.f64 %d, %a, %b, %c;", "f64", &["f64"; 3], &[(row, large)]);
        let minus: Vec<u64> = row.iter().map(|bits| if *bits == tiny { bits | 1 << 63 } else { *bits }).collect();
        check("fma.rm.f64 %d, %a, %b, %c;", "f64", &["f64"; 3], &[(&minus, f64::to_bits(next(nearest, false)))]);
        check("fma.rz.f64 %d, %a, %b, %c;", "f64", &["f64"; 3], &[(&minus, f64::to_bits(next(nearest, false)))]);
    }
    // The product has 106 bits, and the sum cancels its upper half.
    let a = 1.0 + f64::EPSILON;
    let exact = f64::EPSILON * f64::EPSILON;
    let row = [a.to_bits(), a.to_bits(), (-(1.0 + 2.0 * f64::EPSILON)).to_bits()];
    for rounding in ["rn", "rz", "rm", "rp"] {
        check(&format!("fma.{rounding}.f64 %d, %a, %b, %c;"), "f64", &["f64"; 3], &[(&row, exact.to_bits())]);
    }
}

/// Checks results at the ends of the range, and operands that are no finite numbers.
#[test]
fn ends_of_the_range() {
    let most = f64::MAX.to_bits();
    let (least, infinity) = (1u64, f64::INFINITY.to_bits());
    let negative = 1u64 << 63;
    let two = ["f64"; 2];
    check("add.rz.f64 %d, %a, %b;", "f64", &two, &[(&[most, most], most)]);
    check("add.rm.f64 %d, %a, %b;", "f64", &two, &[(&[most, most], most)]);
    check("add.rp.f64 %d, %a, %b;", "f64", &two, &[(&[most, most], infinity)]);
    check("mul.rm.f64 %d, %a, %b;", "f64", &two, &[(&[most | negative, most], infinity | negative)]);
    check("mul.rp.f64 %d, %a, %b;", "f64", &two, &[(&[most | negative, most], most | negative)]);
    check("mul.rp.f64 %d, %a, %b;", "f64", &two, &[(&[least, least], least)]);
    check("mul.rz.f64 %d, %a, %b;", "f64", &two, &[(&[least, least], 0)]);
    check("mul.rm.f64 %d, %a, %b;", "f64", &two, &[(&[least | negative, least], least | negative)]);
    check("div.rp.f64 %d, %a, %b;", "f64", &two, &[(&[least, most], least)]);
    check("add.rm.f64 %d, %a, %b;", "f64", &two, &[(&[0, negative], negative), (&[0, 0], 0)]);
    check("add.rp.f64 %d, %a, %b;", "f64", &two, &[(&[0, negative], 0), (&[negative, negative], negative)]);
    check("sub.rm.f64 %d, %a, %b;", "f64", &two, &[(&[most, most], negative)]);
    let half = 0.5f64.to_bits();
    check("mul.rp.f64 %d, %a, %b;", "f64", &two, &[(&[3, half], 2)]);
    check("mul.rm.f64 %d, %a, %b;", "f64", &two, &[(&[3, half], 1)]);
    for value in doubles() {
        for rounding in ROUNDINGS {
            let row = [vec![infinity, value]];
            let found = evaluate(&format!("add.{rounding}.f64 %d, %a, %b;"), "f64", &two, &row)[0];
            assert_eq!(found, (f64::INFINITY + f64::from_bits(value)).to_bits());
        }
    }
}

/// Checks that each half of a pair has the result of the instruction on singles.
#[test]
fn pairs_of_singles() {
    let values = singles();
    let pairs: Vec<Vec<u64>> = values
        .iter()
        .flat_map(|a| values.iter().map(move |b| vec![a | b << 32, b | a << 32, (a ^ 0x8000_0000) | a << 32]))
        .collect();
    for rounding in ["rn", "rz", "rm", "rp"] {
        for (name, operands) in [("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)] {
            let names = ["%a", "%b", "%c"][..operands].join(", ");
            let mut card = Card::new();
            card.kind = DeviceKind::named("sm_100").unwrap();
            let of_pairs = format!("{name}.{rounding}.f32x2 %d, {names};");
            let found = evaluate_on(card, &of_pairs, "b64", &vec!["b64"; operands], &pairs);
            let of_singles = format!("{name}.{rounding}.f32 %d, {names};");
            let half = |by: u32| -> Vec<u64> {
                let rows: Vec<Vec<u64>> =
                    pairs.iter().map(|row| row.iter().map(|it| it >> by & 0xffff_ffff).collect()).collect();
                evaluate(&of_singles, "f32", &vec!["f32"; operands], &rows)
            };
            let expected: Vec<u64> = half(0).into_iter().zip(half(32)).map(|(low, high)| low | high << 32).collect();
            assert_eq!(found, expected, "{of_pairs}");
        }
    }
}
