//! Arithmetic on singles and doubles.

use crate::harness::{bits_of, check, check_one, check_three, check_two, doubles, refused, single, singles};

fn flushed(bits: u64) -> u64 {
    if bits & 0x7fff_ffff < 0x80_0000 { bits & 0x8000_0000 } else { bits }
}

const F32: [&str; 3] = ["f32"; 3];

#[test]
fn singles_are_rounded_to_nearest() {
    check_two("add.rn.f32 %d, %a, %b;", F32, &singles(), |a, b| bits_of(single(a) + single(b)));
    check_two("add.f32 %d, %a, %b;", F32, &singles(), |a, b| bits_of(single(a) + single(b)));
    check_two("sub.rn.f32 %d, %a, %b;", F32, &singles(), |a, b| bits_of(single(a) - single(b)));
    check_two("mul.rn.f32 %d, %a, %b;", F32, &singles(), |a, b| bits_of(single(a) * single(b)));
    check_two("div.rn.f32 %d, %a, %b;", F32, &singles(), |a, b| bits_of(single(a) / single(b)));
    check_one("sqrt.rn.f32 %d, %a;", ["f32"; 2], &singles(), |a| bits_of(single(a).sqrt()));
    check_one("rcp.rn.f32 %d, %a;", ["f32"; 2], &singles(), |a| bits_of(1.0 / single(a)));
}

#[test]
fn fused_products_are_rounded_once() {
    let values: Vec<u64> = singles().into_iter().step_by(2).collect();
    check_three("fma.rn.f32 %d, %a, %b, %c;", ["f32"; 4], &values, |a, b, c| {
        bits_of(single(a).mul_add(single(b), single(c)))
    });
    // (1 + 2^-23)^2 - 1 - 2^-22 is 2^-46, which two roundings lose.
    check("fma.rn.f32 %d, %a, %b, %c;", "f32", &["f32"; 3], &[(&[0x3f80_0001, 0x3f80_0001, 0xbf80_0002], 0x2880_0000)]);
}

#[test]
fn subnormals_are_flushed_on_request() {
    check_two("add.rn.ftz.f32 %d, %a, %b;", F32, &singles(), |a, b| {
        flushed(bits_of(single(flushed(a)) + single(flushed(b))))
    });
    check_two("mul.ftz.f32 %d, %a, %b;", F32, &singles(), |a, b| {
        flushed(bits_of(single(flushed(a)) * single(flushed(b))))
    });
    check_one("abs.ftz.f32 %d, %a;", ["f32"; 2], &[0x8000_0001, 0xbf80_0000], |a| flushed(a) & 0x7fff_ffff);
    check_one("neg.ftz.f32 %d, %a;", ["f32"; 2], &[0x8000_0001, 0xbf80_0000], |a| flushed(a) ^ 0x8000_0000);
}

#[test]
fn saturated_results_lie_between_zero_and_one() {
    let one = 0x3f80_0000;
    check(
        "add.rn.sat.f32 %d, %a, %b;",
        "f32",
        &["f32"; 2],
        &[
            (&[0x3f00_0000, 0x3e80_0000], 0x3f40_0000),
            (&[one, one], one),
            (&[0xbf80_0000, 0], 0),
            (&[0x7f80_0000, 0xff80_0000], 0),
        ],
    );
    check(
        "fma.rn.sat.f32 %d, %a, %b, %c;",
        "f32",
        &["f32"; 3],
        &[(&[one, 0x4000_0000, one], one), (&[one, 0xc000_0000, one], 0)],
    );
}

/// Checks directed roundings against the two neighbours of the exact result, which `f64` tells.
#[test]
fn directed_roundings_of_singles() {
    let values: Vec<u64> = singles().into_iter().filter(|bits| single(*bits).is_finite()).collect();
    type Exact = fn(f64, f64) -> f64;
    let operations: [(&str, Exact); 3] = [("mul", |a, b| a * b), ("add", |a, b| a + b), ("sub", |a, b| a - b)];
    for (name, exact) in operations {
        for (rounding, goes_up, goes_down) in [("rz", false, false), ("rm", false, true), ("rp", true, false)] {
            check_two(&format!("{name}.{rounding}.f32 %d, %a, %b;"), F32, &values, |a, b| {
                let (a, b) = (f64::from(single(a)), f64::from(single(b)));
                let value = exact(a, b);
                let right = if name == "sub" { -b } else { b };
                if value == 0.0 {
                    // An exact zero of numbers with different signs is negative only by `rm`.
                    let differ = name != "mul" && a.is_sign_negative() != right.is_sign_negative();
                    let is_negative = if differ { goes_down } else { value.is_sign_negative() };
                    return if is_negative { 0x8000_0000 } else { 0 };
                }
                // The part that `f64` drops from a sum lies in the smaller operand.
                let dropped = if name == "mul" { 0.0 } else { rest(a, right) };
                rounded(value, dropped, goes_up, goes_down)
            });
        }
    }
}

/// Returns what the rounding of a sum drops.
fn rest(a: f64, b: f64) -> f64 {
    let (large, small) = if a.abs() > b.abs() { (a, b) } else { (b, a) };
    small - ((large + small) - large)
}

/// Rounds `value` plus `dropped` to a single.
fn rounded(value: f64, dropped: f64, goes_up: bool, goes_down: bool) -> u64 {
    let nearest = value as f32;
    let error = (value - f64::from(nearest)) + dropped;
    let step = |up: bool| {
        let away = up == (nearest > 0.0) && nearest != 0.0;
        match (nearest == 0.0, away) {
            (true, _) => {
                if up {
                    1
                } else {
                    0x8000_0001
                }
            }
            (false, true) => nearest.to_bits() + 1,
            (false, false) => nearest.to_bits() - 1,
        }
    };
    let toward_zero = !goes_up && !goes_down;
    let wants_up = goes_up || toward_zero && value < 0.0;
    if nearest.is_infinite() {
        let stays = wants_up != (value > 0.0);
        return u64::from(if stays { f32::MAX.copysign(nearest).to_bits() } else { nearest.to_bits() });
    }
    u64::from(match (error > 0.0 && wants_up, error < 0.0 && !wants_up) {
        (true, _) => step(true),
        (_, true) => step(false),
        _ => nearest.to_bits(),
    })
}

#[test]
fn directed_roundings_of_other_instructions() {
    let third = [0x3eaa_aaab, 0x3eaa_aaaa];
    let (one, three) = (0x3f80_0000, 0x4040_0000);
    check("div.rn.f32 %d, %a, %b;", "f32", &["f32"; 2], &[(&[one, three], third[0])]);
    check(
        "div.rz.f32 %d, %a, %b;",
        "f32",
        &["f32"; 2],
        &[(&[one, three], third[1]), (&[one, 0xc040_0000], third[1] | 0x8000_0000)],
    );
    check("div.rm.f32 %d, %a, %b;", "f32", &["f32"; 2], &[(&[one, 0xc040_0000], third[0] | 0x8000_0000)]);
    check("rcp.rp.f32 %d, %a;", "f32", &["f32"], &[(&[three], third[0])]);
    check("sqrt.rm.f32 %d, %a;", "f32", &["f32"], &[(&[0x4000_0000], 0x3fb5_04f3), (&[0x4080_0000], 0x4000_0000)]);
    check("sqrt.rp.f32 %d, %a;", "f32", &["f32"], &[(&[0x4000_0000], 0x3fb5_04f4)]);
    check("fma.rz.f32 %d, %a, %b, %c;", "f32", &["f32"; 3], &[(&[0x3f80_0001, 0x3f80_0001, 0], 0x3f80_0002)]);
    check("fma.rp.f32 %d, %a, %b, %c;", "f32", &["f32"; 3], &[(&[0x3f80_0001, 0x3f80_0001, 0], 0x3f80_0003)]);
}

#[test]
fn doubles_are_rounded_to_nearest() {
    let f = f64::from_bits;
    let same = |value: f64| if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
    let finite: Vec<u64> = doubles().into_iter().filter(|bits| f(*bits).is_finite()).collect();
    for (name, of) in
        [("add.rn", (|a, b| a + b) as fn(f64, f64) -> f64), ("sub", |a, b| a - b), ("mul.rn", |a, b| a * b)]
    {
        check_two(&format!("{name}.f64 %d, %a, %b;"), ["f64"; 3], &finite, |a, b| same(of(f(a), f(b))));
    }
    let without_zero: Vec<u64> = doubles().into_iter().filter(|bits| f(*bits) != 0.0 && f(*bits).is_finite()).collect();
    check_two("div.rn.f64 %d, %a, %b;", ["f64"; 3], &without_zero, |a, b| same(f(a) / f(b)));
    check_three("fma.rn.f64 %d, %a, %b, %c;", ["f64"; 4], &finite, |a, b, c| same(f(a).mul_add(f(b), f(c))));
    let positive: Vec<u64> = doubles().into_iter().filter(|bits| f(*bits) > 0.0).collect();
    check_one("sqrt.rn.f64 %d, %a;", ["f64"; 2], &positive, |a| same(f(a).sqrt()));
    check_one("rcp.rn.f64 %d, %a;", ["f64"; 2], &positive, |a| same(1.0 / f(a)));
}

#[test]
fn extrema_choose_numbers_over_nan() {
    let (zero, minus_zero, nan, one) = (0, 0x8000_0000, 0x7fc0_0000, 0x3f80_0000);
    let rows: &[(&[u64], u64)] = &[
        (&[zero, minus_zero], minus_zero),
        (&[minus_zero, zero], minus_zero),
        (&[nan, one], one),
        (&[one, nan], one),
        (&[nan, 0xffc1_2345], 0x7fff_ffff),
        (&[0xbf80_0000, one], 0xbf80_0000),
        (&[0xc000_0000, 0xbf80_0000], 0xc000_0000),
        (&[0xff80_0000, one], 0xff80_0000),
    ];
    check("min.f32 %d, %a, %b;", "f32", &["f32"; 2], rows);
    check(
        "max.f32 %d, %a, %b;",
        "f32",
        &["f32"; 2],
        &[(&[minus_zero, zero], zero), (&[nan, one], one), (&[one, 0x4000_0000], 0x4000_0000)],
    );
    check("min.NaN.f32 %d, %a, %b;", "f32", &["f32"; 2], &[(&[nan, one], 0x7fff_ffff), (&[one, zero], zero)]);
    check("max.NaN.f32 %d, %a, %b;", "f32", &["f32"; 2], &[(&[one, nan], 0x7fff_ffff), (&[one, zero], one)]);
    check("max.ftz.f32 %d, %a, %b;", "f32", &["f32"; 2], &[(&[1, minus_zero], zero)]);
    let d = |value: f64| value.to_bits();
    check(
        "min.f64 %d, %a, %b;",
        "f64",
        &["f64"; 2],
        &[(&[d(f64::NAN), d(2.0)], d(2.0)), (&[d(0.0), d(-0.0)], d(-0.0))],
    );
    check("max.f64 %d, %a, %b;", "f64", &["f64"; 2], &[(&[d(1.0), d(2.0)], d(2.0)), (&[d(0.0), d(-0.0)], d(0.0))]);
}

#[test]
fn signs_are_bits() {
    check_one("abs.f32 %d, %a;", ["f32"; 2], &singles(), |a| a & 0x7fff_ffff);
    check_one("neg.f32 %d, %a;", ["f32"; 2], &singles(), |a| a ^ 0x8000_0000);
    check_one("abs.f64 %d, %a;", ["f64"; 2], &doubles(), |a| a & !(1 << 63));
    check_one("neg.f64 %d, %a;", ["f64"; 2], &doubles(), |a| a ^ (1 << 63));
    // The first operand has the sign, the second the magnitude.
    check(
        "copysign.f32 %d, %a, %b;",
        "f32",
        &["f32"; 2],
        &[(&[0xbf80_0000, 0x4000_0000], 0xc000_0000), (&[0, 0xc000_0000], 0x4000_0000)],
    );
    check("copysign.f64 %d, %a, %b;", "f64", &["f64"; 2], &[(&[1 << 63, 2.0f64.to_bits()], (-2.0f64).to_bits())]);
}

/// Checks that approximations are within the stated errors, and exact where the manual says so.
#[test]
fn approximations_are_within_their_errors() {
    let normal: Vec<u64> =
        [0.1f32, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 10.0, 42.5].iter().map(|value| u64::from(value.to_bits())).collect();
    let close = |name: &str, of: fn(f64) -> f64, error: f64, relative: bool| {
        let rows: Vec<Vec<u64>> = normal.iter().map(|value| vec![*value]).collect();
        let found = crate::harness::evaluate(&format!("{name}.f32 %d, %a;"), "f32", &["f32"], &rows);
        for (input, found) in normal.iter().zip(found) {
            let exact = of(f64::from(single(*input)));
            let scale = if relative { exact.abs() } else { 1.0 };
            let off = (f64::from(single(found)) - exact).abs();
            assert!(off <= error * scale, "{name} of {}: {}, exactly {exact}", single(*input), single(found));
        }
    };
    close("ex2.approx", f64::exp2, 2f64.powi(-22), true);
    close("lg2.approx", f64::log2, 2f64.powi(-22), false);
    close("rsqrt.approx", |a| 1.0 / a.sqrt(), 2f64.powf(-22.9), true);
    close("rcp.approx", |a| 1.0 / a, 2f64.powi(-23), true);
    close("sqrt.approx", f64::sqrt, 2f64.powi(-23), true);
    close("sin.approx", f64::sin, 2f64.powi(-20), false);
    close("cos.approx", f64::cos, 2f64.powi(-20), false);
    close("tanh.approx", f64::tanh, 2f64.powi(-11), true);
    let (infinity, nan) = (0x7f80_0000, 0x7fff_ffff);
    check(
        "ex2.approx.ftz.f32 %d, %a;",
        "f32",
        &["f32"],
        &[(&[0xff80_0000], 0), (&[infinity], infinity), (&[0x8000_0001], 0x3f80_0000)],
    );
    check(
        "lg2.approx.f32 %d, %a;",
        "f32",
        &["f32"],
        &[(&[0x8000_0000], 0xff80_0000), (&[0xbf80_0000], nan), (&[0x3f80_0000], 0)],
    );
    check(
        "rsqrt.approx.f32 %d, %a;",
        "f32",
        &["f32"],
        &[(&[0x8000_0000], 0xff80_0000), (&[0xbf80_0000], nan), (&[infinity], 0)],
    );
    check("sin.approx.f32 %d, %a;", "f32", &["f32"], &[(&[infinity], nan), (&[0x8000_0000], 0x8000_0000)]);
    check("div.approx.f32 %d, %a, %b;", "f32", &["f32"; 2], &[(&[0x4040_0000, 0x4000_0000], 0x3fc0_0000)]);
    check("div.full.f32 %d, %a, %b;", "f32", &["f32"; 2], &[(&[0x4040_0000, 0x4000_0000], 0x3fc0_0000)]);
}

#[test]
fn unknown_forms_are_refused() {
    let registers = ".reg .f32 %d, %a, %b;\n.reg .f64 %e;";
    assert!(refused(registers, "fma.f32 %d, %a, %b, %a;").contains("fma needs a rounding"));
    assert!(refused(registers, "add.rn.sat.ftz.f32 %d, %a, %b;").contains("expected a type in add, found .ftz"));
    assert!(refused(registers, "add.rn.ftz.f64 %e, %e, %e;").contains("add.rn.ftz.f64 is not supported"));
    assert!(refused(registers, "div.f32 %d, %a, %b;").contains("needs either a rounding"));
    assert!(refused(registers, "frobnicate.f32 %d;").contains("the instruction frobnicate is not supported"));
}
