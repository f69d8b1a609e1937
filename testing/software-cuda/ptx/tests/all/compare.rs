//! Comparisons, selections and logic on predicates.

use crate::harness::{check, check_two, doubles, edges, refused, single, singles};

#[test]
fn integers() {
    macro_rules! compare {
        ($ty:literal $rust:ty; $($name:literal $op:tt),+) => {
            $(
                let instruction = concat!("setp.", $name, ".", $ty, " %d, %a, %b;");
                check_two(instruction, ["pred", $ty, $ty], &edges(<$rust>::BITS), |a, b| {
                    u64::from((a as $rust) $op (b as $rust))
                });
            )+
        };
    }
    macro_rules! all {
        ($($ty:literal $rust:ty),+) => {
            $(compare!($ty $rust; "eq" ==, "ne" !=, "lt" <, "le" <=, "gt" >, "ge" >=);)+
        };
    }
    all!("u16" u16, "s16" i16, "u32" u32, "s32" i32, "u64" u64, "s64" i64);
    compare!("u32" u32; "lo" <, "ls" <=, "hi" >, "hs" >=);
    compare!("b16" u16; "eq" ==, "ne" !=);
    compare!("b32" u32; "eq" ==, "ne" !=);
    compare!("b64" u64; "eq" ==, "ne" !=);
    assert!(refused(".reg .pred %q;\n.reg .b32 %a;", "setp.lt.b32 %q, %a, %a;").contains("not supported"));
    assert!(refused(".reg .pred %q;\n.reg .s32 %a;", "setp.lo.s32 %q, %a, %a;").contains("not supported"));
}

#[test]
#[expect(clippy::neg_cmp_op_on_partial_ord, reason = "the negation holds for NaN, too")]
fn floats() {
    type Holds = fn(f64, f64) -> bool;
    let comparisons: [(&str, Holds); 14] = [
        ("eq", |a, b| a == b),
        ("ne", |a, b| a != b && !a.is_nan() && !b.is_nan()),
        ("lt", |a, b| a < b),
        ("le", |a, b| a <= b),
        ("gt", |a, b| a > b),
        ("ge", |a, b| a >= b),
        ("equ", |a, b| a == b || a.is_nan() || b.is_nan()),
        ("neu", |a, b| !(a == b)),
        ("ltu", |a, b| !(a >= b)),
        ("leu", |a, b| !(a > b)),
        ("gtu", |a, b| !(a <= b)),
        ("geu", |a, b| !(a < b)),
        ("num", |a, b| !a.is_nan() && !b.is_nan()),
        ("nan", |a, b| a.is_nan() || b.is_nan()),
    ];
    let mut with_nan = doubles();
    with_nan.push(f64::NAN.to_bits());
    let halves = [0u64, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0x7e00, 1];
    let half = |bits: u64| half::f16::from_bits(bits as u16).to_f64();
    let brain = |bits: u64| half::bf16::from_bits(bits as u16).to_f64();
    for (name, holds) in comparisons {
        let of = |ty: &str| format!("setp.{name}.{ty} %d, %a, %b;");
        check_two(&of("f32"), ["pred", "f32", "f32"], &singles(), |a, b| {
            u64::from(holds(f64::from(single(a)), f64::from(single(b))))
        });
        check_two(&of("f64"), ["pred", "f64", "f64"], &with_nan, |a, b| {
            u64::from(holds(f64::from_bits(a), f64::from_bits(b)))
        });
        check_two(&of("f16"), ["pred", "b16", "b16"], &halves, |a, b| u64::from(holds(half(a), half(b))));
        check_two(&of("bf16"), ["pred", "b16", "b16"], &halves, |a, b| u64::from(holds(brain(a), brain(b))));
    }
    check("setp.eq.ftz.f32 %d, %a, %b;", "pred", &["f32"; 2], &[(&[1, 0], 1), (&[1, 0x8000_0001], 1)]);
}

#[test]
fn results_are_combined_with_a_predicate() {
    let of = |how: &str, third: &str| {
        format!("{{ .reg .pred %q; setp.ne.u32 %q, %c, 0; setp.lt.{how}.u32 %d, %a, %b, {third}; }}")
    };
    for (how, table) in [("and", [0, 0, 0, 1]), ("or", [0, 1, 1, 1]), ("xor", [0, 1, 1, 0])] {
        // The rows are: neither, only the predicate, only the comparison, both.
        let rows: [[u64; 3]; 4] = [[2, 1, 0], [2, 1, 1], [1, 2, 0], [1, 2, 1]];
        let rows: Vec<(&[u64], u64)> = rows.iter().zip(table).map(|(row, result)| (&row[..], result)).collect();
        check(&of(how, "%q"), "pred", &["u32"; 3], &rows);
    }
    check(&of("and", "!%q"), "pred", &["u32"; 3], &[(&[1, 2, 0], 1), (&[1, 2, 1], 0)]);
    // The second result is the negated comparison, combined in the same way.
    let both = "{ .reg .pred %q, %x; setp.ne.u32 %q, %c, 0; setp.lt.and.u32 %x|%d, %a, %b, %q; }";
    check(both, "pred", &["u32"; 3], &[(&[2, 1, 1], 1), (&[1, 2, 1], 0), (&[2, 1, 0], 0)]);
    let halves = "{ .reg .pred %x; setp.lt.f16x2 %x|%d, %a, %b; }";
    check(halves, "pred", &["b32"; 2], &[(&[0x3c00_4000, 0x4000_3c00], 1), (&[0x4000_3c00, 0x3c00_4000], 0)]);
}

#[test]
fn values_instead_of_predicates() {
    check("set.lt.u32.s32 %d, %a, %b;", "u32", &["s32"; 2], &[(&[0xffff_ffff, 1], 0xffff_ffff), (&[1, 1], 0)]);
    check("set.gt.f32.f32 %d, %a, %b;", "f32", &["f32"; 2], &[(&[0x4000_0000, 0x3f80_0000], 0x3f80_0000)]);
    check("set.eq.s32.f64 %d, %a, %b;", "s32", &["f64"; 2], &[(&[0, 1 << 63], 0xffff_ffff)]);
}

#[test]
fn selections() {
    for bits in [16, 32, 64] {
        let ty: &str = &format!("b{bits}");
        let text = format!("{{ .reg .pred %q; setp.ne.u32 %q, %c, 0; selp.{ty} %d, %a, %b, %q; }}");
        check(&text, ty, &[ty, ty, "u32"], &[(&[5, 6, 1], 5), (&[5, 6, 0], 6)]);
        let text = text.replace(", %q; }", ", !%q; }");
        check(&text, ty, &[ty, ty, "u32"], &[(&[5, 6, 1], 6), (&[5, 6, 0], 5)]);
    }
    check("slct.u32.s32 %d, %a, %b, %c;", "u32", &["u32", "u32", "s32"], &[(&[5, 6, 0], 5), (&[5, 6, 0xffff_ffff], 6)]);
    let rows: &[(&[u64], u64)] = &[(&[5, 6, 0x8000_0000], 5), (&[5, 6, 0xbf80_0000], 6), (&[5, 6, 0x7fc0_0000], 6)];
    check("slct.f32.f32 %d, %a, %b, %c;", "f32", &["f32", "f32", "f32"], rows);
    check("slct.ftz.u32.f32 %d, %a, %b, %c;", "u32", &["u32", "u32", "f32"], &[(&[5, 6, 0x8000_0001], 5)]);
}

#[test]
fn logic_on_predicates() {
    let of = |text: &str| format!("{{ .reg .pred %q, %x; setp.ne.u32 %q, %a, 0; setp.ne.u32 %x, %b, 0; {text} }}");
    let rows: [[u64; 2]; 4] = [[0, 0], [0, 1], [1, 0], [1, 1]];
    for (text, table) in [
        ("and.pred %d, %q, %x;", [0, 0, 0, 1]),
        ("or.pred %d, %q, %x;", [0, 1, 1, 1]),
        ("xor.pred %d, %q, %x;", [0, 1, 1, 0]),
        ("not.pred %d, %q;", [1, 1, 0, 0]),
        ("mov.pred %d, %x;", [0, 1, 0, 1]),
        ("mov.pred %d, -1;", [1, 1, 1, 1]),
        ("mov.pred %d, 0;", [0, 0, 0, 0]),
    ] {
        let rows: Vec<(&[u64], u64)> = rows.iter().zip(table).map(|(row, result)| (&row[..], result)).collect();
        check(&of(text), "pred", &["u32"; 2], &rows);
    }
}

#[test]
fn properties_of_floats() {
    let values: [(u64, [u64; 6]); 6] = [
        (0x3f80_0000, [1, 0, 1, 0, 1, 0]),
        (0x8000_0000, [1, 0, 1, 0, 0, 0]),
        (0x0000_0001, [1, 0, 1, 0, 0, 1]),
        (0xff80_0000, [0, 1, 1, 0, 0, 0]),
        (0x7fc0_0000, [0, 0, 0, 1, 0, 0]),
        (0x0080_0000, [1, 0, 1, 0, 1, 0]),
    ];
    let names = ["finite", "infinite", "number", "notanumber", "normal", "subnormal"];
    for (at, name) in names.iter().enumerate() {
        let rows: Vec<([u64; 1], u64)> = values.iter().map(|(bits, results)| ([*bits], results[at])).collect();
        let rows: Vec<(&[u64], u64)> = rows.iter().map(|(row, result)| (&row[..], *result)).collect();
        check(&format!("testp.{name}.f32 %d, %a;"), "pred", &["f32"], &rows);
    }
    check("testp.subnormal.f64 %d, %a;", "pred", &["f64"], &[(&[1], 1), (&[1.0f64.to_bits()], 0)]);
}
