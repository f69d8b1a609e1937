//! Conversions between types.

use crate::harness::{check, check_one, edges, refused, single, singles};

#[test]
fn integers_are_extended_and_truncated() {
    macro_rules! cast {
        ($($to:literal $rust_to:ty, $from:literal $rust_from:ty);+) => {
            $(
                let mask = u64::MAX >> (64 - <$rust_to>::BITS);
                let instruction = concat!("cvt.", $to, ".", $from, " %d, %a;");
                check_one(instruction, [$to, $from], &edges(<$rust_from>::BITS), |a| {
                    (a as $rust_from as $rust_to) as u64 & mask
                });
            )+
        };
    }
    cast!("u32" u32, "u16" u16; "u64" u64, "u32" u32; "u16" u16, "u32" u32; "u32" u32, "u64" u64; "u16" u16, "u64" u64);
    cast!("s32" i32, "s16" i16; "s64" i64, "s32" i32; "s64" i64, "s16" i16; "s16" i16, "s32" i32; "u64" u64, "s32" i32);
    cast!("u64" u64, "u16" u16; "s32" i32, "s64" i64; "u32" u32, "s16" i16);
}

/// Checks types of 8 bits, which are in wider registers.
#[test]
fn bytes_are_in_wider_registers() {
    check_one("cvt.s32.s8 %d, %a;", ["s32", "b32"], &edges(32), |a| u64::from(i32::from(a as i8) as u32));
    check_one("cvt.u32.u8 %d, %a;", ["u32", "b32"], &edges(32), |a| a & 0xff);
    check_one("cvt.s16.s8 %d, %a;", ["s16", "b16"], &edges(16), |a| u64::from(i16::from(a as i8) as u16));
    check_one("cvt.s8.s32 %d, %a;", ["b32", "s32"], &edges(32), |a| u64::from(i32::from(a as i8) as u32));
    check_one("cvt.u8.u32 %d, %a;", ["b16", "u32"], &edges(32), |a| a & 0xff);
    check_one("cvt.s64.s8 %d, %a;", ["s64", "b64"], &edges(64), |a| i64::from(a as i8) as u64);
}

#[test]
fn integers_are_clamped_on_request() {
    check("cvt.sat.s8.s32 %d, %a;", "b32", &["s32"], &[(&[300], 127), (&[(-300i32) as u32 as u64], 0xffff_ff80)]);
    check("cvt.sat.u8.s32 %d, %a;", "b32", &["s32"], &[(&[300], 255), (&[0xffff_ffff], 0)]);
    check("cvt.sat.u16.u32 %d, %a;", "u16", &["u32"], &[(&[70000], 0xffff), (&[7], 7)]);
    check("cvt.pack.sat.s16.s32 %d, %a, %b;", "b32", &["s32"; 2], &[(&[70000, 0xffff_fffe], 0x7fff_fffe)]);
}

#[test]
fn integers_become_floats() {
    check_one("cvt.rn.f32.s32 %d, %a;", ["f32", "s32"], &edges(32), |a| u64::from((a as i32 as f32).to_bits()));
    check_one("cvt.rn.f32.u32 %d, %a;", ["f32", "u32"], &edges(32), |a| u64::from((a as u32 as f32).to_bits()));
    check_one("cvt.rn.f32.s16 %d, %a;", ["f32", "s16"], &edges(16), |a| u64::from((a as i16 as f32).to_bits()));
    check_one("cvt.rn.f32.u64 %d, %a;", ["f32", "u64"], &edges(64), |a| u64::from((a as f32).to_bits()));
    check_one("cvt.rn.f32.s64 %d, %a;", ["f32", "s64"], &edges(64), |a| u64::from((a as i64 as f32).to_bits()));
    check_one("cvt.rn.f64.u64 %d, %a;", ["f64", "u64"], &edges(64), |a| (a as f64).to_bits());
    check_one("cvt.rn.f64.s64 %d, %a;", ["f64", "s64"], &edges(64), |a| (a as i64 as f64).to_bits());
    check_one("cvt.rn.f64.s32 %d, %a;", ["f64", "s32"], &edges(32), |a| f64::from(a as i32).to_bits());
    check("cvt.rz.f32.u32 %d, %a;", "f32", &["u32"], &[(&[0x0100_0001], 0x4b80_0000), (&[0xffff_ffff], 0x4f7f_ffff)]);
    check("cvt.rp.f32.u32 %d, %a;", "f32", &["u32"], &[(&[0x0100_0001], 0x4b80_0001)]);
    check("cvt.rm.f64.s64 %d, %a;", "f64", &["s64"], &[(&[(1 << 53) + 1], 9007199254740992f64.to_bits())]);
    check("cvt.rp.f64.s64 %d, %a;", "f64", &["s64"], &[(&[(1 << 53) + 1], 9007199254740994f64.to_bits())]);
    check("cvt.rn.f16.s16 %d, %a;", "b16", &["s16"], &[(&[0xffff], 0xbc00), (&[2049], 0x6800), (&[2051], 0x6802)]);
    check("cvt.rn.f16.u32 %d, %a;", "b16", &["u32"], &[(&[65520], 0x7c00), (&[65519], 0x7bff)]);
    // Just above the middle of two numbers: a detour over `f32` would round twice.
    check("cvt.rn.bf16.u32 %d, %a;", "b16", &["u32"], &[(&[0x8080_0001], 0x4f01), (&[0x8080_0000], 0x4f00)]);
    check("cvt.rn.bf16.s16 %d, %a;", "b16", &["s16"], &[(&[0xffff], 0xbf80), (&[257], 0x4380)]);
}

#[test]
fn floats_become_integers() {
    let values = singles();
    let cast = |rounding: fn(f32) -> f32| move |a: u64| u64::from(rounding(single(a)) as i32 as u32);
    check_one("cvt.rzi.s32.f32 %d, %a;", ["s32", "f32"], &values, cast(f32::trunc));
    check_one("cvt.rni.s32.f32 %d, %a;", ["s32", "f32"], &values, cast(f32::round_ties_even));
    check_one("cvt.rmi.s32.f32 %d, %a;", ["s32", "f32"], &values, cast(f32::floor));
    check_one("cvt.rpi.s32.f32 %d, %a;", ["s32", "f32"], &values, cast(f32::ceil));
    check_one("cvt.rzi.u32.f32 %d, %a;", ["u32", "f32"], &values, |a| u64::from(single(a) as u32));
    check_one("cvt.rzi.u16.f32 %d, %a;", ["u16", "f32"], &values, |a| u64::from(single(a) as u16));
    check_one("cvt.rzi.s16.f32 %d, %a;", ["s16", "f32"], &values, |a| u64::from(single(a) as i16 as u16));
    let d = |value: f64| value.to_bits();
    check("cvt.rzi.s32.f64 %d, %a;", "s32", &["f64"], &[(&[d(-1.9)], 0xffff_ffff), (&[d(1e10)], 0x7fff_ffff)]);
    check("cvt.rzi.u32.f64 %d, %a;", "u32", &["f64"], &[(&[d(-1.9)], 0), (&[d(4e9)], 4_000_000_000)]);
    check("cvt.rzi.s64.f64 %d, %a;", "s64", &["f64"], &[(&[d(-1e30)], 1 << 63), (&[d(2.5)], 2)]);
    check("cvt.rzi.u64.f64 %d, %a;", "u64", &["f64"], &[(&[d(1.8e19)], 18_000_000_000_000_000_000)]);
    // NaN becomes 0, or with doubles and with 64 bits the number with only the highest bit.
    check("cvt.rzi.s32.f32 %d, %a;", "s32", &["f32"], &[(&[0x7fc0_0000], 0)]);
    check("cvt.rzi.s32.f64 %d, %a;", "s32", &["f64"], &[(&[d(f64::NAN)], 0x8000_0000)]);
    check("cvt.rzi.s64.f32 %d, %a;", "s64", &["f32"], &[(&[0x7fc0_0000], 1 << 63)]);
    check("cvt.rni.ftz.s32.f32 %d, %a;", "s32", &["f32"], &[(&[1], 0)]);
    check("cvt.rpi.ftz.s32.f32 %d, %a;", "s32", &["f32"], &[(&[1], 0)]);
    check("cvt.rpi.s32.f32 %d, %a;", "s32", &["f32"], &[(&[1], 1)]);
}

#[test]
fn floats_are_rounded_to_integers() {
    for (name, rounding) in
        [("rni", f32::round_ties_even as fn(f32) -> f32), ("rzi", f32::trunc), ("rmi", f32::floor), ("rpi", f32::ceil)]
    {
        let finite: Vec<u64> = singles().into_iter().filter(|bits| !single(*bits).is_nan()).collect();
        check_one(&format!("cvt.{name}.f32.f32 %d, %a;"), ["f32"; 2], &finite, |a| {
            u64::from(rounding(single(a)).to_bits())
        });
    }
    check("cvt.rni.f64.f64 %d, %a;", "f64", &["f64"], &[(&[2.5f64.to_bits()], 2f64.to_bits())]);
    check("cvt.sat.f32.f32 %d, %a;", "f32", &["f32"], &[(&[0x4000_0000], 0x3f80_0000), (&[0x7fc0_0000], 0)]);
}

#[test]
fn floats_are_widened_and_narrowed() {
    let finite: Vec<u64> = singles().into_iter().filter(|bits| !single(*bits).is_nan()).collect();
    check_one("cvt.f64.f32 %d, %a;", ["f64", "f32"], &finite, |a| f64::from(single(a)).to_bits());
    check_one("cvt.rn.f16.f32 %d, %a;", ["b16", "f32"], &finite, |a| {
        u64::from(half::f16::from_f32(single(a)).to_bits())
    });
    check_one("cvt.rn.bf16.f32 %d, %a;", ["b16", "f32"], &finite, |a| {
        u64::from(half::bf16::from_f32(single(a)).to_bits())
    });
    let all_halves: Vec<u64> = (0..0x7c00).step_by(97).chain((0x8000..0xfc00).step_by(101)).collect();
    check_one("cvt.f32.f16 %d, %a;", ["f32", "b16"], &all_halves, |a| {
        u64::from(half::f16::from_bits(a as u16).to_f32().to_bits())
    });
    check_one("cvt.f64.f16 %d, %a;", ["f64", "b16"], &all_halves, |a| {
        half::f16::from_bits(a as u16).to_f64().to_bits()
    });
    check_one("cvt.f32.bf16 %d, %a;", ["f32", "b16"], &all_halves, |a| a << 16);
    let d = |value: f64| value.to_bits();
    let third = 1.0 / 3.0;
    check("cvt.rn.f32.f64 %d, %a;", "f32", &["f64"], &[(&[d(third)], 0x3eaa_aaab), (&[d(1e300)], 0x7f80_0000)]);
    check("cvt.rz.f32.f64 %d, %a;", "f32", &["f64"], &[(&[d(third)], 0x3eaa_aaaa), (&[d(1e300)], 0x7f7f_ffff)]);
    check("cvt.rm.f32.f64 %d, %a;", "f32", &["f64"], &[(&[d(-third)], 0xbeaa_aaab), (&[d(-1e-300)], 0x8000_0001)]);
    check("cvt.rp.f32.f64 %d, %a;", "f32", &["f64"], &[(&[d(1e-300)], 1), (&[d(-1e-300)], 0x8000_0000)]);
    check("cvt.rn.ftz.f32.f64 %d, %a;", "f32", &["f64"], &[(&[d(1e-40)], 0)]);
    // NaN is canonical.
    check("cvt.rn.f16.f32 %d, %a;", "b16", &["f32"], &[(&[0xffc1_2345], 0x7fff)]);
    check("cvt.rn.f32.f64 %d, %a;", "f32", &["f64"], &[(&[d(f64::NAN)], 0x7fff_ffff)]);
    check("cvt.rz.f16.f32 %d, %a;", "b16", &["f32"], &[(&[0x477f_f000], 0x7bff), (&[0x7f80_0000], 0x7c00)]);
    check("cvt.rn.relu.f16.f32 %d, %a;", "b16", &["f32"], &[(&[0xbf80_0000], 0), (&[0x3f80_0000], 0x3c00)]);
    check("cvt.rn.satfinite.bf16.f32 %d, %a;", "b16", &["f32"], &[(&[0x7f80_0000], 0x7f7f)]);
}

#[test]
fn pairs_and_floats_of_eight_bits() {
    let from = ["f32", "f32"];
    check("cvt.rn.f16x2.f32 %d, %a, %b;", "b32", &from, &[(&[0x3f80_0000, 0x4000_0000], 0x3c00_4000)]);
    check("cvt.rn.bf16x2.f32 %d, %a, %b;", "b32", &from, &[(&[0x3f80_8001, 0x4000_0000], 0x3f81_4000)]);
    check("cvt.rz.bf16x2.f32 %d, %a, %b;", "b32", &from, &[(&[0x3f80_8001, 0x4000_0000], 0x3f80_4000)]);
    check("cvt.rn.relu.bf16x2.f32 %d, %a, %b;", "b32", &from, &[(&[0xbf80_0000, 0x4000_0000], 0x0000_4000)]);
    // 448 is the largest e4m3, 57344 the largest e5m2.
    check(
        "cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b;",
        "b16",
        &from,
        &[
            (&[0x3f80_0000, 0x43e0_0000], 0x387e),
            (&[0x4479_c000, 0xc479_c000], 0x7efe),
            (&[0x7fc0_0000, 0x3b00_0000], 0x7f01),
        ],
    );
    check("cvt.rn.satfinite.e5m2x2.f32 %d, %a, %b;", "b16", &from, &[(&[0x3f80_0000, 0x4900_0000], 0x3c7b)]);
    check("cvt.rn.f16x2.e4m3x2 %d, %a;", "b32", &["b16"], &[(&[0x387e], 0x3c00_5f00), (&[0x7f01], 0x7fff_1800)]);
    check("cvt.rn.f16x2.e5m2x2 %d, %a;", "b32", &["b16"], &[(&[0x3c7b], 0x3c00_7b00)]);
    check("cvt.rn.satfinite.e4m3x2.f16x2 %d, %a;", "b16", &["b32"], &[(&[0x3c00_5f00], 0x387e)]);
    check("cvt.rna.tf32.f32 %d, %a;", "b32", &["f32"], &[(&[0x3f80_1000], 0x3f80_2000), (&[0x3f80_0fff], 0x3f80_0000)]);
}

#[test]
fn roundings_must_fit_the_types() {
    let registers = ".reg .f32 %f;\n.reg .f64 %e;\n.reg .s32 %s;\n.reg .b16 %h;";
    for text in [
        "cvt.f32.f64 %f, %e;",
        "cvt.s32.f32 %s, %f;",
        "cvt.rn.s32.f32 %s, %f;",
        "cvt.rn.f64.f32 %e, %f;",
        "cvt.rzi.f32.s32 %f, %s;",
        "cvt.rn.s32.s32 %s, %s;",
    ] {
        assert!(refused(registers, text).contains("the rounding does not fit"), "{text}");
    }
}
