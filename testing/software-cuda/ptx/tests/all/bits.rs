//! Logic, shifts, fields of bits, permutations and moves.

use crate::harness::{check, check_one, check_two, edges, refused};

#[test]
fn logic_applies_to_all_bits() {
    for bits in [16, 32, 64] {
        let mask = u64::MAX >> (64 - bits);
        let ty: &str = &format!("b{bits}");
        check_two(&format!("and.{ty} %d, %a, %b;"), [ty; 3], &edges(bits), |a, b| a & b);
        check_two(&format!("or.{ty} %d, %a, %b;"), [ty; 3], &edges(bits), |a, b| a | b);
        check_two(&format!("xor.{ty} %d, %a, %b;"), [ty; 3], &edges(bits), |a, b| a ^ b);
        check_one(&format!("not.{ty} %d, %a;"), [ty; 2], &edges(bits), |a| !a & mask);
        check_one(&format!("cnot.{ty} %d, %a;"), [ty; 2], &edges(bits), |a| u64::from(a == 0));
        check_one(&format!("mov.{ty} %d, %a;"), [ty; 2], &edges(bits), |a| a);
    }
}

#[test]
fn truth_tables_of_three_operands() {
    for (table, f) in [
        (0x80, (|a, b, c| a & b & c) as fn(u64, u64, u64) -> u64),
        (0xfe, |a, b, c| a | b | c),
        (0x96, |a, b, c| a ^ b ^ c),
        (0xca, |a, b, c| a & b | !a & c),
        (0x1a, |a, b, c| (a & b | c) ^ a),
    ] {
        let [a, b, c] = [0xf0f0_1234, 0xcccc_5678, 0xaaaa_9abc];
        let instruction = format!("lop3.b32 %d, %a, %b, %c, {table};");
        check(&instruction, "b32", &["b32"; 3], &[(&[a, b, c], f(a, b, c) & 0xffff_ffff)]);
    }
}

/// Checks that amounts beyond the width are clamped.
#[test]
fn shifts_clamp_the_amount() {
    let amounts = [0u64, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 0xffff_ffff];
    for bits in [16u32, 32, 64] {
        let mask = u64::MAX >> (64 - bits);
        let ty: &str = &format!("b{bits}");
        for value in edges(bits) {
            let rows: Vec<Vec<u64>> = amounts.iter().map(|amount| vec![value, *amount]).collect();
            let evaluate = |name: &str, ty: &str| {
                crate::harness::evaluate(&format!("{name}.{ty} %d, %a, %b;"), ty, &[ty, "u32"], &rows)
            };
            let left = amounts.map(|amount| if amount >= u64::from(bits) { 0 } else { value << amount & mask });
            assert_eq!(evaluate("shl", ty), left, "shl.b{bits} {value:#x}");
            let right = amounts.map(|amount| if amount >= u64::from(bits) { 0 } else { value >> amount });
            assert_eq!(evaluate("shr", &format!("u{bits}")), right, "shr.u{bits} {value:#x}");
            let signed = i128::from(((value << (64 - bits)) as i64) >> (64 - bits));
            let arithmetic = amounts.map(|amount| (signed >> amount.min(100)) as u64 & mask);
            assert_eq!(evaluate("shr", &format!("s{bits}")), arithmetic, "shr.s{bits} {value:#x}");
        }
    }
}

#[test]
fn funnel_shifts_clamp_or_wrap() {
    let of = |name: &str| format!("shf.{name}.b32 %d, %a, %b, %c;");
    let from = ["b32", "b32", "u32"];
    let (a, b) = (0x1234_5678, 0x9abc_def0);
    check(
        &of("l.wrap"),
        "b32",
        &from,
        &[(&[a, b, 8], 0xbcde_f012), (&[a, b, 0], b), (&[a, b, 32], b), (&[a, b, 40], 0xbcde_f012)],
    );
    check(&of("l.clamp"), "b32", &from, &[(&[a, b, 8], 0xbcde_f012), (&[a, b, 32], a), (&[a, b, 40], a)]);
    check(&of("r.wrap"), "b32", &from, &[(&[a, b, 8], 0xf012_3456), (&[a, b, 32], a), (&[a, b, 40], 0xf012_3456)]);
    check(&of("r.clamp"), "b32", &from, &[(&[a, b, 8], 0xf012_3456), (&[a, b, 32], b), (&[a, b, 99], b)]);
}

#[test]
fn counts_of_bits() {
    for bits in [32, 64] {
        let ty: &str = &format!("b{bits}");
        check_one(&format!("popc.{ty} %d, %a;"), ["u32", ty], &edges(bits), |a| u64::from(a.count_ones()));
        check_one(&format!("clz.{ty} %d, %a;"), ["u32", ty], &edges(bits), |a| {
            u64::from(a.leading_zeros() - (64 - bits))
        });
        check_one(&format!("brev.{ty} %d, %a;"), [ty; 2], &edges(bits), |a| a.reverse_bits() >> (64 - bits));
    }
    let rows: &[(&[u64], u64)] = &[(&[0], 0xffff_ffff), (&[1], 0), (&[0x8000_0000], 31), (&[0x00f0_0000], 23)];
    check("bfind.u32 %d, %a;", "u32", &["u32"], rows);
    check("bfind.s32 %d, %a;", "u32", &["s32"], &[(&[0xffff_ffff], 0xffff_ffff), (&[0xffff_fffe], 0), (&[5], 2)]);
    check("bfind.shiftamt.u32 %d, %a;", "u32", &["u32"], &[(&[1], 31), (&[0x8000_0000], 0)]);
    check("bfind.u64 %d, %a;", "u32", &["u64"], &[(&[1 << 40], 40)]);
}

#[test]
fn fields_of_bits() {
    let from = ["u32", "u32", "u32"];
    check(
        "bfe.u32 %d, %a, %b, %c;",
        "u32",
        &from,
        &[
            (&[0xabcd_1234, 8, 8], 0x12),
            (&[0xabcd_1234, 28, 8], 0xa),
            (&[0xabcd_1234, 32, 8], 0),
            (&[0xabcd_1234, 4, 0], 0),
        ],
    );
    let from = ["s32", "u32", "u32"];
    check(
        "bfe.s32 %d, %a, %b, %c;",
        "s32",
        &from,
        &[
            (&[0xabcd_1284, 0, 8], 0xffff_ff84),
            (&[0xabcd_1234, 28, 8], 0xffff_fffa),
            (&[0xabcd_1234, 40, 8], 0xffff_ffff),
            (&[0xabcd_1234, 4, 0], 0),
        ],
    );
    check("bfe.s64 %d, %a, %b, %c;", "s64", &["s64", "u32", "u32"], &[(&[0x80 << 32, 32, 8], (-128i64) as u64)]);
    check(
        "bfi.b32 %d, %a, %b, %c, 8;",
        "b32",
        &["b32", "b32", "u32"],
        &[
            (&[0xff, 0x1111_1111, 4], 0x1111_1ff1),
            (&[0xff, 0x1111_1111, 28], 0xf111_1111),
            (&[0xff, 0x1111_1111, 32], 0x1111_1111),
        ],
    );
    check(
        "bmsk.clamp.b32 %d, %a, %b;",
        "b32",
        &["b32", "u32"],
        &[(&[4, 8], 0xff0), (&[28, 8], 0xf000_0000), (&[32, 8], 0)],
    );
    check("szext.clamp.s32 %d, %a, %b;", "s32", &["s32", "u32"], &[(&[0x80, 8], 0xffff_ff80), (&[0x80, 99], 0x80)]);
    check("szext.wrap.u32 %d, %a, %b;", "u32", &["u32", "u32"], &[(&[0x1ff, 40], 0xff)]);
}

#[test]
fn permutations_of_bytes() {
    let (a, b) = (0x3322_1100, 0x7766_5544);
    let of = |mode: &str| format!("prmt.b32{mode} %d, %a, %b, %c;");
    check(
        &of(""),
        "b32",
        &["b32"; 3],
        &[
            (&[a, b, 0x3210], a),
            (&[a, b, 0x7654], b),
            (&[a, b, 0x0167], 0x0011_6677),
            (&[0x80, b, 0x0008], 0x8080_80ff),
            (&[a, b, 0x3216_0000 | 0x5410], 0x5544_1100),
        ],
    );
    check(&of(".f4e"), "b32", &["b32"; 3], &[(&[a, b, 1], 0x4433_2211)]);
    check(&of(".b4e"), "b32", &["b32"; 3], &[(&[a, b, 1], 0x6677_0011)]);
    check(&of(".rc8"), "b32", &["b32"; 3], &[(&[a, b, 2], 0x2222_2222)]);
    check(&of(".ecl"), "b32", &["b32"; 3], &[(&[a, b, 2], 0x3322_2222)]);
    check(&of(".ecr"), "b32", &["b32"; 3], &[(&[a, b, 1], 0x1111_1100)]);
    check(&of(".rc16"), "b32", &["b32"; 3], &[(&[a, b, 1], 0x3322_3322)]);
}

#[test]
fn moves_pack_and_unpack_vectors() {
    check("mov.b32 %d, {%a, %b};", "b32", &["b16", "b16"], &[(&[0x1234, 0xabcd], 0xabcd_1234)]);
    check("mov.b64 %d, {%a, %b};", "b64", &["b32", "b32"], &[(&[0x1234, 0xabcd], 0xabcd_0000_1234)]);
    let unpack = "{ .reg .b16 %l, %h; mov.b32 {%l, %h}, %a; mov.b32 %d, {%h, %l}; }";
    check(unpack, "b32", &["b32"], &[(&[0x1234_abcd], 0xabcd_1234)]);
    let unpack = "{ .reg .b32 %h; mov.b64 {_, %h}, %a; mov.b32 %d, %h; }";
    check(unpack, "b32", &["b64"], &[(&[0x1234_abcd << 32], 0x1234_abcd)]);
    let four = "{ .reg .b16 %x<4>; mov.b64 {%x0, %x1, %x2, %x3}, %a; mov.b64 %d, {%x3, %x2, %x1, %x0}; }";
    check(four, "b64", &["b64"], &[(&[0x0001_0002_0003_0004], 0x0004_0003_0002_0001)]);
}

#[test]
fn numbers_must_fit_their_type() {
    assert!(refused(".reg .b16 %d;", "mov.b16 %d, 70000;").contains("70000 is not a number of 16 bits"));
    assert!(refused(".reg .f32 %d;", "mov.f32 %d, 1;").contains("is not a number"));
    assert!(refused(".reg .b32 %d;", "mov.b64 %d, 1;").contains("does not fit"));
}
