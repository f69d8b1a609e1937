//! Arithmetic on integers.

use crate::harness::{check, check_one, check_three, check_two, edges};

macro_rules! two {
    ($name:literal, $($ty:literal $rust:ty),+; |$a:ident, $b:ident| $f:expr) => {
        $({
            let instruction = format!("{}.{} %d, %a, %b;", $name, $ty);
            let bits = <$rust>::BITS;
            check_two(&instruction, [$ty; 3], &edges(bits), |a, b| {
                let ($a, $b) = (a as $rust, b as $rust);
                ($f) as u64 & u64::MAX >> (64 - bits)
            });
        })+
    };
}

#[test]
fn sums_wrap() {
    two!("add", "u16" u16, "s16" i16, "u32" u32, "s32" i32, "u64" u64, "s64" i64; |a, b| a.wrapping_add(b));
    two!("sub", "u16" u16, "s16" i16, "u32" u32, "s32" i32, "u64" u64, "s64" i64; |a, b| a.wrapping_sub(b));
}

#[test]
fn saturated_sums_are_clamped() {
    two!("add.sat", "s32" i32; |a, b| a.saturating_add(b));
    two!("sub.sat", "s32" i32; |a, b| a.saturating_sub(b));
}

#[test]
fn products_have_a_low_and_a_high_half() {
    two!("mul.lo", "u16" u16, "s16" i16, "u32" u32, "s32" i32, "u64" u64, "s64" i64; |a, b| a.wrapping_mul(b));
    two!("mul.hi", "u16" u16; |a, b| (u32::from(a) * u32::from(b)) >> 16);
    two!("mul.hi", "s16" i16; |a, b| (i32::from(a) * i32::from(b)) >> 16);
    two!("mul.hi", "u32" u32; |a, b| (u64::from(a) * u64::from(b)) >> 32);
    two!("mul.hi", "s32" i32; |a, b| (i64::from(a) * i64::from(b)) >> 32);
    two!("mul.hi", "u64" u64; |a, b| (u128::from(a) * u128::from(b)) >> 64);
    two!("mul.hi", "s64" i64; |a, b| (i128::from(a) * i128::from(b)) >> 64);
}

#[test]
fn wide_products_have_twice_the_bits() {
    check_two("mul.wide.u16 %d, %a, %b;", ["u32", "u16", "u16"], &edges(16), |a, b| a * b);
    check_two("mul.wide.s16 %d, %a, %b;", ["s32", "s16", "s16"], &edges(16), |a, b| {
        u64::from((i32::from(a as i16) * i32::from(b as i16)) as u32)
    });
    check_two("mul.wide.u32 %d, %a, %b;", ["u64", "u32", "u32"], &edges(32), |a, b| a * b);
    check_two("mul.wide.s32 %d, %a, %b;", ["s64", "s32", "s32"], &edges(32), |a, b| {
        (i64::from(a as i32) * i64::from(b as i32)) as u64
    });
}

#[test]
fn products_are_added() {
    check_three("mad.lo.s16 %d, %a, %b, %c;", ["s16"; 4], &edges(16), |a, b, c| {
        u64::from((a as u16).wrapping_mul(b as u16).wrapping_add(c as u16))
    });
    check_three("mad.lo.s32 %d, %a, %b, %c;", ["s32"; 4], &edges(32), |a, b, c| {
        u64::from((a as u32).wrapping_mul(b as u32).wrapping_add(c as u32))
    });
    check_three("mad.lo.u64 %d, %a, %b, %c;", ["u64"; 4], &edges(64), |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    check_three("mad.hi.s32 %d, %a, %b, %c;", ["s32"; 4], &edges(32), |a, b, c| {
        let high = ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32;
        u64::from(high.wrapping_add(c as u32))
    });
    check_three("mad.hi.u64 %d, %a, %b, %c;", ["u64"; 4], &edges(64), |a, b, c| {
        (((u128::from(a) * u128::from(b)) >> 64) as u64).wrapping_add(c)
    });
    check(
        "mad.wide.s32 %d, %a, %b, %c;",
        "s64",
        &["s32", "s32", "s64"],
        &[(&[0xffff_fffe, 3, 10], 4), (&[0x8000_0000, 0x8000_0000, 1], (1 << 62) + 1)],
    );
    check("mad.wide.u16 %d, %a, %b, %c;", "u32", &["u16", "u16", "u32"], &[(&[0xffff, 0xffff, 2], 0xfffe_0003)]);
}

#[test]
fn products_of_24_bits_ignore_the_rest() {
    check("mul24.lo.u32 %d, %a, %b;", "u32", &["u32"; 2], &[(&[0xff00_0003, 0x0100_0005], 15)]);
    check("mul24.lo.s32 %d, %a, %b;", "s32", &["s32"; 2], &[(&[0x00ff_ffff, 2], 0xffff_fffe)]);
    check("mad24.lo.s32 %d, %a, %b, %c;", "s32", &["s32"; 3], &[(&[0x00ff_ffff, 2, 3], 1)]);
}

#[test]
fn quotients_and_remainders_truncate() {
    let without_zero = |bits| edges(bits).into_iter().filter(|value| *value != 0).collect::<Vec<_>>();
    macro_rules! divide {
        ($($ty:literal $rust:ty),+) => {
            $({
                let mask = u64::MAX >> (64 - <$rust>::BITS);
                let values = without_zero(<$rust>::BITS);
                check_two(concat!("div.", $ty, " %d, %a, %b;"), [$ty; 3], &values, |a, b| {
                    (a as $rust).wrapping_div(b as $rust) as u64 & mask
                });
                check_two(concat!("rem.", $ty, " %d, %a, %b;"), [$ty; 3], &values, |a, b| {
                    (a as $rust).wrapping_rem(b as $rust) as u64 & mask
                });
            })+
        };
    }
    divide!("u16" u16, "s16" i16, "u32" u32, "s32" i32, "u64" u64, "s64" i64);
}

#[test]
fn extrema_respect_the_sign() {
    two!("min", "u16" u16, "s16" i16, "u32" u32, "s32" i32, "u64" u64, "s64" i64; |a, b| a.min(b));
    two!("max", "u16" u16, "s16" i16, "u32" u32, "s32" i32, "u64" u64, "s64" i64; |a, b| a.max(b));
}

#[test]
fn extrema_with_relu_are_not_negative() {
    let numbers = |a: u64, b: u64| (a as i32, b as i32);
    check_two("min.relu.s32 %d, %a, %b;", ["s32"; 3], &edges(32), |a, b| {
        let (a, b) = numbers(a, b);
        a.min(b).max(0) as u64
    });
    check_two("max.relu.s32 %d, %a, %b;", ["s32"; 3], &edges(32), |a, b| {
        let (a, b) = numbers(a, b);
        a.max(b).max(0) as u64
    });
}

#[test]
fn signs_wrap_at_the_least_number() {
    check_one("abs.s16 %d, %a;", ["s16"; 2], &edges(16), |a| u64::from((a as i16).wrapping_abs() as u16));
    check_one("abs.s32 %d, %a;", ["s32"; 2], &edges(32), |a| u64::from((a as i32).wrapping_abs() as u32));
    check_one("abs.s64 %d, %a;", ["s64"; 2], &edges(64), |a| (a as i64).wrapping_abs() as u64);
    check_one("neg.s16 %d, %a;", ["s16"; 2], &edges(16), |a| u64::from((a as i16).wrapping_neg() as u16));
    check_one("neg.s32 %d, %a;", ["s32"; 2], &edges(32), |a| u64::from((a as i32).wrapping_neg() as u32));
    check_one("neg.s64 %d, %a;", ["s64"; 2], &edges(64), |a| (a as i64).wrapping_neg() as u64);
}

#[test]
fn distances_are_added() {
    check("sad.s32 %d, %a, %b, %c;", "s32", &["s32"; 3], &[(&[0xffff_fffb, 3, 10], 18), (&[7, 2, 0], 5)]);
    check("sad.u32 %d, %a, %b, %c;", "u32", &["u32"; 3], &[(&[0xffff_ffff, 0, 1], 0)]);
    check("sad.u16 %d, %a, %b, %c;", "u16", &["u16"; 3], &[(&[3, 9, 1], 7)]);
}

/// Checks sums of numbers in two registers: low words first, then high words with the carry.
#[test]
fn sums_with_carry() {
    let wide = |name: &str, with: &str, last: &str| {
        format!(
            "{{ .reg .u32 %l<2>, %h<2>, %x, %y; mov.b64 {{%l0, %h0}}, %a; mov.b64 {{%l1, %h1}}, %b;\n\
             {name}.cc.u32 %x, %l0, %l1; {with}{last}.u32 %y, %h0, %h1; mov.b64 %d, {{%x, %y}}; }}"
        )
    };
    check_two(&wide("add", "addc", ""), ["b64"; 3], &edges(64), u64::wrapping_add);
    check_two(&wide("sub", "subc", ".cc"), ["b64"; 3], &edges(64), u64::wrapping_sub);
    let top = "{ .reg .u64 %x; add.cc.u64 %x, %a, %b; addc.u64 %d, 0, 0; }";
    check_two(top, ["u64"; 3], &edges(64), |a, b| u64::from(a.checked_add(b).is_none()));
    let product =
        "{ .reg .u32 %x, %y; mad.lo.cc.u32 %x, %a, %b, %c; madc.hi.u32 %y, %a, %b, 0; mov.b64 %d, {%x, %y}; }";
    check_three(product, ["b64", "u32", "u32", "u32"], &edges(32), |a, b, c| a * b + c);
    let unwritten = crate::harness::kernel(0, ".reg .u32 %a;", "addc.u32 %a, %tx, 0;");
    let fault = crate::harness::Card::new().run(&unwritten, 1, 1, &[]).unwrap_err();
    assert!(fault.to_string().contains("register the carry is read before it is written"), "{fault}");
}

#[test]
fn dot_products_of_bytes() {
    check("dp4a.u32.u32 %d, %a, %b, %c;", "b32", &["b32"; 3], &[(&[0x0102_03ff, 0x0101_01ff, 5], 65036)]);
    check("dp4a.s32.s32 %d, %a, %b, %c;", "b32", &["b32"; 3], &[(&[0xff02_0304, 0x02ff_0101, 5], 8)]);
    check("dp4a.s32.u32 %d, %a, %b, %c;", "b32", &["b32"; 3], &[(&[0xff, 0xff, 0], 0xffff_ff01)]);
    check("dp2a.lo.s32.s32 %d, %a, %b, %c;", "b32", &["b32"; 3], &[(&[0xffff_0003, 0x0000_02fe, 1], 0xffff_fff9)]);
    check("dp2a.hi.u32.u32 %d, %a, %b, %c;", "b32", &["b32"; 3], &[(&[0x0002_0003, 0x0504_0000, 1], 23)]);
}
