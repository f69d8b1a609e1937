//! Arithmetic on numbers of 16 bits, and on pairs of them.

use crate::harness::{check, check_one, check_three, check_two, refused};

/// Numbers of `f16` and `bf16` at the edges.
const VALUES: [u64; 14] =
    [0, 0x8000, 1, 0x8001, 0x3c00, 0x3f80, 0xbf80, 0x4000, 0x7bff, 0x7c00, 0x7f80, 0x7fc0, 0x3555, 0xc248];

fn f16(bits: u64) -> f32 {
    half::f16::from_bits(bits as u16).to_f32()
}

fn bf16(bits: u64) -> f32 {
    half::bf16::from_bits(bits as u16).to_f32()
}

fn to_f16(value: f32) -> u64 {
    if value.is_nan() { 0x7fff } else { u64::from(half::f16::from_f32(value).to_bits()) }
}

fn to_bf16(value: f32) -> u64 {
    if value.is_nan() { 0x7fff } else { u64::from(half::bf16::from_f32(value).to_bits()) }
}

fn pairs(f: impl Fn(u64, u64) -> u64) -> impl Fn(u64, u64) -> u64 {
    move |a, b| f(a & 0xffff, b & 0xffff) | f(a >> 16, b >> 16) << 16
}

#[test]
fn sums_and_products_are_rounded_once() {
    let b16 = ["b16"; 3];
    let of_pairs: Vec<u64> = VALUES.iter().zip(VALUES.iter().rev()).map(|(a, b)| a | b << 16).collect();
    for (name, f) in [("add", (|a, b| a + b) as fn(f32, f32) -> f32), ("sub", |a, b| a - b), ("mul", |a, b| a * b)] {
        let half = |a, b| to_f16(f(f16(a), f16(b)));
        let brain = |a, b| to_bf16(f(bf16(a), bf16(b)));
        check_two(&format!("{name}.f16 %d, %a, %b;"), b16, &VALUES, half);
        check_two(&format!("{name}.rn.bf16 %d, %a, %b;"), b16, &VALUES, brain);
        check_two(&format!("{name}.rn.f16x2 %d, %a, %b;"), ["b32"; 3], &of_pairs, pairs(half));
        check_two(&format!("{name}.bf16x2 %d, %a, %b;"), ["b32"; 3], &of_pairs, pairs(brain));
    }
}

#[test]
fn fused_products_are_rounded_once() {
    // With 53 bits the sum of a product and a number of 11 bits is exact for these values.
    let values: Vec<u64> =
        VALUES.iter().copied().filter(|bits| f16(*bits).abs() < 100.0 && f16(*bits).abs() > 1e-3).collect();
    check_three("fma.rn.f16 %d, %a, %b, %c;", ["b16"; 4], &values, |a, b, c| {
        u64::from(half::f16::from_f64(f64::from(f16(a)) * f64::from(f16(b)) + f64::from(f16(c))).to_bits())
    });
    // The product 1 + 2^-9 + 2^-20 lies above the middle of two numbers only because of its end.
    check("fma.rn.f16 %d, %a, %b, %c;", "b16", &["b16"; 3], &[(&[0x3c01, 0x3c01, 0x0001], 0x3c02)]);
    check("fma.rn.bf16 %d, %a, %b, %c;", "b16", &["b16"; 3], &[(&[0x3f80, 0x4000, 0xbf80], 0x3f80)]);
    check(
        "fma.rn.bf16x2 %d, %a, %b, %c;",
        "b32",
        &["b32"; 3],
        &[(&[0x3f80_4000, 0x4000_4000, 0xbf80_3f80], 0x3f80_40a0)],
    );
    check(
        "fma.rn.f16x2 %d, %a, %b, %c;",
        "b32",
        &["b32"; 3],
        &[(&[0x3c00_4000, 0x4000_4000, 0xbc00_3c00], 0x3c00_4500)],
    );
    check(
        "fma.rn.relu.f16 %d, %a, %b, %c;",
        "b16",
        &["b16"; 3],
        &[(&[0x3c00, 0xc000, 0x3c00], 0), (&[0x7e00, 0, 0], 0x7fff)],
    );
}

#[test]
fn subnormals_and_saturation() {
    check("add.ftz.f16 %d, %a, %b;", "b16", &["b16"; 2], &[(&[1, 0x8002], 0), (&[0x3c00, 1], 0x3c00)]);
    check("mul.sat.f16 %d, %a, %b;", "b16", &["b16"; 2], &[(&[0x4000, 0x4000], 0x3c00), (&[0xc000, 0x4000], 0)]);
    check("add.sat.f16x2 %d, %a, %b;", "b32", &["b32"; 2], &[(&[0x4000_3400, 0x0000_3400], 0x3c00_3800)]);
}

#[test]
fn signs_and_extrema() {
    check_one("neg.f16 %d, %a;", ["b16"; 2], &VALUES, |a| a ^ 0x8000);
    check_one("neg.bf16 %d, %a;", ["b16"; 2], &VALUES, |a| a ^ 0x8000);
    check_one("abs.f16 %d, %a;", ["b16"; 2], &VALUES, |a| a & 0x7fff);
    check_one("abs.bf16 %d, %a;", ["b16"; 2], &VALUES, |a| a & 0x7fff);
    check_one("neg.bf16x2 %d, %a;", ["b32"; 2], &[0x1234_8001], |a| a ^ 0x8000_8000);
    check_one("abs.f16x2 %d, %a;", ["b32"; 2], &[0x9234_8001], |a| a & 0x7fff_7fff);
    check("min.f16 %d, %a, %b;", "b16", &["b16"; 2], &[(&[0, 0x8000], 0x8000), (&[0x7e00, 0x3c00], 0x3c00)]);
    check("max.NaN.f16 %d, %a, %b;", "b16", &["b16"; 2], &[(&[0x7e00, 0x3c00], 0x7fff)]);
    check("max.bf16 %d, %a, %b;", "b16", &["b16"; 2], &[(&[0x3f80, 0xbf80], 0x3f80)]);
    check("min.NaN.bf16x2 %d, %a, %b;", "b32", &["b32"; 2], &[(&[0x7fc0_3f80, 0x3f80_4000], 0x7fff_3f80)]);
}

#[test]
fn approximations() {
    check("ex2.approx.f16 %d, %a;", "b16", &["b16"], &[(&[0x3c00], 0x4000), (&[0xc000], 0x3400)]);
    check("tanh.approx.f16 %d, %a;", "b16", &["b16"], &[(&[0], 0), (&[0x7c00], 0x3c00)]);
    check("ex2.approx.ftz.bf16 %d, %a;", "b16", &["b16"], &[(&[0x3f80], 0x4000)]);
    check("tanh.approx.bf16x2 %d, %a;", "b32", &["b32"], &[(&[0xff80_7f80], 0xbf80_3f80)]);
}

#[test]
fn older_targets_have_no_bf16() {
    let text = ".version 7.8\n.target sm_80\n.address_size 64\n.entry k()\n{\n.reg .b16 %a;\nmov.b16 %a, 0;\n\
                add.bf16 %a, %a, %a;\nret;\n}\n";
    let error = crate::harness::Card::new().load(text).unwrap_err();
    assert_eq!(error.to_string(), "line 8: this form of add needs the target sm_90");
    assert!(refused(".reg .b64 %a;", "add.rn.f32x2 %a, %a, %a;").contains("needs the target sm_100"));
}
