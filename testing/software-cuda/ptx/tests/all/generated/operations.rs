//! The instructions of generated programs, with a second definition of each result.

/// A class of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Word,
    Long,
    Single,
    Double,
    Predicate,
}
use Class::{Double as D, Long as L, Predicate as P, Single as S, Word as W};

/// An instruction: its text, in which `$d` stands for the result and `$0` to `$2` for the operands,
/// and the result from the operands' bits.
pub struct Operation {
    pub text: &'static str,
    pub to: Class,
    pub from: &'static [Class],
    pub result: fn(&[u64]) -> u64,
}

const fn op(text: &'static str, to: Class, from: &'static [Class], result: fn(&[u64]) -> u64) -> Operation {
    Operation { text, to, from, result }
}

fn w(value: u64) -> u32 {
    value as u32
}
fn i(value: u64) -> i32 {
    value as i32
}
fn f(value: u64) -> f32 {
    f32::from_bits(value as u32)
}
fn d(value: u64) -> f64 {
    f64::from_bits(value)
}
fn of(value: u32) -> u64 {
    u64::from(value)
}
fn of_f(value: f32) -> u64 {
    u64::from(value.to_bits())
}
fn of_i(value: i64) -> u64 {
    u64::from(value as u32)
}
/// The smaller or the larger number; a NaN loses.
fn extremum(a: f64, b: f64, larger: bool) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if a == b => {
            if a.is_sign_negative() == larger {
                b
            } else {
                a
            }
        }
        _ => {
            if (a > b) == larger {
                a
            } else {
                b
            }
        }
    }
}
/// Bits of a field, with the sign of its highest bit.
fn field(a: u32, start: u32, length: u32, is_signed: bool) -> u32 {
    let (start, length) = (start & 0xff, length & 0xff);
    let bit = |at: u32| if at < 32 { a >> at & 1 } else { 0 };
    let sign = if is_signed && length > 0 { a >> (start + length - 1).min(31) & 1 } else { 0 };
    (0..32).fold(0, |all, at| {
        let inside = at < length && start + at < 32;
        all | (if inside { bit(start + at) } else { sign }) << at
    })
}
fn bytes(value: u64) -> [u64; 4] {
    [0, 8, 16, 24].map(|by| value >> by & 0xff)
}
fn funnel(low: u64, high: u64) -> u128 {
    u128::from(low & 0xffff_ffff) | u128::from(high & 0xffff_ffff) << 32
}

pub const ALL: &[Operation] = &[
    op("add.u32 $d, $0, $1;", W, &[W, W], |a| of((a[0] + a[1]) as u32)),
    op("sub.s32 $d, $0, $1;", W, &[W, W], |a| of(w(a[0]).wrapping_sub(w(a[1])))),
    op("add.sat.s32 $d, $0, $1;", W, &[W, W], |a| of_i(i64::from(i(a[0]).saturating_add(i(a[1]))))),
    op("sub.sat.s32 $d, $0, $1;", W, &[W, W], |a| of_i(i64::from(i(a[0]).saturating_sub(i(a[1]))))),
    op("mul.lo.s32 $d, $0, $1;", W, &[W, W], |a| of(w(a[0]).wrapping_mul(w(a[1])))),
    op("mul.hi.u32 $d, $0, $1;", W, &[W, W], |a| (a[0] * a[1]) >> 32),
    op("mul.hi.s32 $d, $0, $1;", W, &[W, W], |a| of_i((i64::from(i(a[0])) * i64::from(i(a[1]))) >> 32)),
    op("mad.lo.u32 $d, $0, $1, $2;", W, &[W, W, W], |a| of(w(a[0]).wrapping_mul(w(a[1])).wrapping_add(w(a[2])))),
    op("mad.hi.u32 $d, $0, $1, $2;", W, &[W, W, W], |a| of(w((a[0] * a[1]) >> 32).wrapping_add(w(a[2])))),
    op("mul24.lo.s32 $d, $0, $1;", W, &[W, W], |a| {
        of_i((i64::from(i(a[0]) << 8 >> 8)) * (i64::from(i(a[1]) << 8 >> 8)))
    }),
    op("sad.u32 $d, $0, $1, $2;", W, &[W, W, W], |a| of(w(a[0]).abs_diff(w(a[1])).wrapping_add(w(a[2])))),
    op("sad.s32 $d, $0, $1, $2;", W, &[W, W, W], |a| of(i(a[0]).abs_diff(i(a[1])).wrapping_add(w(a[2])))),
    op("or.b32 %t, $1, 1;\ndiv.u32 $d, $0, %t;", W, &[W, W], |a| a[0] / (a[1] | 1)),
    op("or.b32 %t, $1, 1;\nrem.u32 $d, $0, %t;", W, &[W, W], |a| a[0] % (a[1] | 1)),
    op("or.b32 %t, $1, 1;\nshr.s32 %t, %t, 1;\nor.b32 %t, %t, 2;\ndiv.s32 $d, $0, %t;", W, &[W, W], |a| {
        of_i(i64::from(i(a[0])) / i64::from(i(a[1] | 1) >> 1 | 2))
    }),
    op("min.u32 $d, $0, $1;", W, &[W, W], |a| a[0].min(a[1])),
    op("max.s32 $d, $0, $1;", W, &[W, W], |a| of_i(i64::from(i(a[0]).max(i(a[1]))))),
    op("min.s32 $d, $0, $1;", W, &[W, W], |a| of_i(i64::from(i(a[0]).min(i(a[1]))))),
    op("abs.s32 $d, $0;", W, &[W], |a| of(i(a[0]).unsigned_abs())),
    op("neg.s32 $d, $0;", W, &[W], |a| of(w(a[0]).wrapping_neg())),
    op("and.b32 $d, $0, $1;", W, &[W, W], |a| a[0] & a[1]),
    op("or.b32 $d, $0, $1;", W, &[W, W], |a| a[0] | a[1]),
    op("xor.b32 $d, $0, $1;", W, &[W, W], |a| a[0] ^ a[1]),
    op("not.b32 $d, $0;", W, &[W], |a| of(!w(a[0]))),
    op("cnot.b32 $d, $0;", W, &[W], |a| u64::from(a[0] == 0)),
    op("lop3.b32 $d, $0, $1, $2, 0x96;", W, &[W, W, W], |a| a[0] ^ a[1] ^ a[2]),
    op("lop3.b32 $d, $0, $1, $2, 0xe8;", W, &[W, W, W], |a| a[0] & a[1] | a[0] & a[2] | a[1] & a[2]),
    op("lop3.b32 $d, $0, $1, $2, 0xca;", W, &[W, W, W], |a| a[0] & a[1] | of(!w(a[0])) & a[2]),
    op("shl.b32 $d, $0, $1;", W, &[W, W], |a| of(w(a[0]).checked_shl(w(a[1])).unwrap_or(0))),
    op("shr.u32 $d, $0, $1;", W, &[W, W], |a| of(w(a[0]).checked_shr(w(a[1])).unwrap_or(0))),
    op("shr.s32 $d, $0, $1;", W, &[W, W], |a| of_i(i64::from(i(a[0]) >> w(a[1]).min(31)))),
    op("shl.b32 $d, $0, 7;", W, &[W], |a| of(w(a[0]) << 7)),
    op("shf.l.wrap.b32 $d, $0, $1, $2;", W, &[W, W, W], |a| of((funnel(a[0], a[1]) << (a[2] & 31) >> 32) as u32)),
    op("shf.r.wrap.b32 $d, $0, $1, $2;", W, &[W, W, W], |a| of((funnel(a[0], a[1]) >> (a[2] & 31)) as u32)),
    op("shf.l.clamp.b32 $d, $0, $1, $2;", W, &[W, W, W], |a| of((funnel(a[0], a[1]) << a[2].min(32) >> 32) as u32)),
    op("shf.r.clamp.b32 $d, $0, $1, $2;", W, &[W, W, W], |a| of((funnel(a[0], a[1]) >> a[2].min(32)) as u32)),
    op("popc.b32 $d, $0;", W, &[W], |a| of(a[0].count_ones())),
    op("clz.b32 $d, $0;", W, &[W], |a| of(w(a[0]).leading_zeros())),
    op("brev.b32 $d, $0;", W, &[W], |a| of(w(a[0]).reverse_bits())),
    op("bfind.u32 $d, $0;", W, &[W], |a| of(31u32.wrapping_sub(w(a[0]).leading_zeros()))),
    op("bfe.u32 $d, $0, $1, $2;", W, &[W, W, W], |a| of(field(w(a[0]), w(a[1]), w(a[2]), false))),
    op("bfe.s32 $d, $0, $1, $2;", W, &[W, W, W], |a| of(field(w(a[0]), w(a[1]), w(a[2]), true))),
    op("bfi.b32 $d, $0, $1, 5, 9;", W, &[W, W], |a| a[1] & !(0x1ff << 5) | (a[0] & 0x1ff) << 5),
    op("prmt.b32 $d, $0, $1, 0x7135;", W, &[W, W], |a| {
        let all = [bytes(a[0]), bytes(a[1])].concat();
        all[5] | all[3] << 8 | all[1] << 16 | all[7] << 24
    }),
    op("dp4a.u32.u32 $d, $0, $1, $2;", W, &[W, W, W], |a| {
        let products = bytes(a[0]).iter().zip(bytes(a[1])).map(|(x, y)| x * y).sum::<u64>();
        of(w(products).wrapping_add(w(a[2])))
    }),
    op("dp4a.s32.s32 $d, $0, $1, $2;", W, &[W, W, W], |a| {
        let signed = |value: u64| bytes(value).map(|byte| i64::from(byte as i8));
        let products = signed(a[0]).iter().zip(signed(a[1])).map(|(x, y)| x * y).sum::<i64>();
        of_i(products + i64::from(i(a[2])))
    }),
    op("selp.b32 $d, $0, $1, $2;", W, &[W, W, P], |a| if a[2] == 1 { a[0] } else { a[1] }),
    op("slct.u32.s32 $d, $0, $1, $2;", W, &[W, W, W], |a| if i(a[2]) >= 0 { a[0] } else { a[1] }),
    op("set.lt.u32.s32 $d, $0, $1;", W, &[W, W], |a| if i(a[0]) < i(a[1]) { 0xffff_ffff } else { 0 }),
    op("add.s64 $d, $0, $1;", L, &[L, L], |a| a[0].wrapping_add(a[1])),
    op("sub.u64 $d, $0, $1;", L, &[L, L], |a| a[0].wrapping_sub(a[1])),
    op("mul.lo.u64 $d, $0, $1;", L, &[L, L], |a| a[0].wrapping_mul(a[1])),
    op("mul.hi.u64 $d, $0, $1;", L, &[L, L], |a| ((u128::from(a[0]) * u128::from(a[1])) >> 64) as u64),
    op("mul.hi.s64 $d, $0, $1;", L, &[L, L], |a| ((i128::from(a[0] as i64) * i128::from(a[1] as i64)) >> 64) as u64),
    op("mad.lo.s64 $d, $0, $1, $2;", L, &[L, L, L], |a| a[0].wrapping_mul(a[1]).wrapping_add(a[2])),
    op("mul.wide.u32 $d, $0, $1;", L, &[W, W], |a| a[0] * a[1]),
    op("mul.wide.s32 $d, $0, $1;", L, &[W, W], |a| (i64::from(i(a[0])) * i64::from(i(a[1]))) as u64),
    op("mad.wide.s32 $d, $0, $1, $2;", L, &[W, W, L], |a| {
        ((i64::from(i(a[0])) * i64::from(i(a[1]))) as u64).wrapping_add(a[2])
    }),
    op("and.b64 $d, $0, $1;", L, &[L, L], |a| a[0] & a[1]),
    op("xor.b64 $d, $0, $1;", L, &[L, L], |a| a[0] ^ a[1]),
    op("shl.b64 $d, $0, $1;", L, &[L, W], |a| a[0].checked_shl(w(a[1])).unwrap_or(0)),
    op("shr.u64 $d, $0, $1;", L, &[L, W], |a| a[0].checked_shr(w(a[1])).unwrap_or(0)),
    op("shr.s64 $d, $0, $1;", L, &[L, W], |a| (a[0] as i64 >> w(a[1]).min(63)) as u64),
    op("min.s64 $d, $0, $1;", L, &[L, L], |a| (a[0] as i64).min(a[1] as i64) as u64),
    op("max.u64 $d, $0, $1;", L, &[L, L], |a| a[0].max(a[1])),
    op("neg.s64 $d, $0;", L, &[L], |a| a[0].wrapping_neg()),
    op("popc.b64 $d, $0;", W, &[L], |a| of(a[0].count_ones())),
    op("clz.b64 $d, $0;", W, &[L], |a| of(a[0].leading_zeros())),
    op("brev.b64 $d, $0;", L, &[L], |a| a[0].reverse_bits()),
    op("cvt.u32.u64 $d, $0;", W, &[L], |a| a[0] & 0xffff_ffff),
    op("cvt.s64.s32 $d, $0;", L, &[W], |a| i64::from(i(a[0])) as u64),
    op("cvt.u64.u32 $d, $0;", L, &[W], |a| a[0]),
    op("cvt.s32.s8 $d, $0;", W, &[W], |a| of_i(i64::from(a[0] as i8))),
    op("cvt.u32.u16 $d, $0;", W, &[W], |a| a[0] & 0xffff),
    op("mov.b64 $d, {$0, $1};", L, &[W, W], |a| a[0] | a[1] << 32),
    op("mov.b64 {%t, $d}, $0;", W, &[L], |a| a[0] >> 32),
    op("add.rn.f32 $d, $0, $1;", S, &[S, S], |a| of_f(f(a[0]) + f(a[1]))),
    op("sub.rn.f32 $d, $0, $1;", S, &[S, S], |a| of_f(f(a[0]) - f(a[1]))),
    op("mul.rn.f32 $d, $0, $1;", S, &[S, S], |a| of_f(f(a[0]) * f(a[1]))),
    op("fma.rn.f32 $d, $0, $1, $2;", S, &[S, S, S], |a| of_f(f(a[0]).mul_add(f(a[1]), f(a[2])))),
    op("div.rn.f32 $d, $0, $1;", S, &[S, S], |a| of_f(f(a[0]) / f(a[1]))),
    op("rcp.rn.f32 $d, $0;", S, &[S], |a| of_f(1.0 / f(a[0]))),
    op("abs.f32 %f, $0;\nsqrt.rn.f32 $d, %f;", S, &[S], |a| of_f(f(a[0]).abs().sqrt())),
    op("min.f32 $d, $0, $1;", S, &[S, S], |a| of_f(extremum(f(a[0]).into(), f(a[1]).into(), false) as f32)),
    op("max.f32 $d, $0, $1;", S, &[S, S], |a| of_f(extremum(f(a[0]).into(), f(a[1]).into(), true) as f32)),
    op("neg.f32 $d, $0;", S, &[S], |a| of_f(-f(a[0]))),
    op("selp.f32 $d, $0, $1, $2;", S, &[S, S, P], |a| if a[2] == 1 { a[0] } else { a[1] }),
    op("cvt.rn.f32.s32 $d, $0;", S, &[W], |a| of_f(i(a[0]) as f32)),
    op("cvt.rn.f32.u64 $d, $0;", S, &[L], |a| of_f(a[0] as f32)),
    op("cvt.rn.f32.f64 $d, $0;", S, &[D], |a| of_f(d(a[0]) as f32)),
    op("cvt.rzi.s32.f32 $d, $0;", W, &[S], |a| of_i(i64::from(f(a[0]) as i32))),
    op("cvt.rmi.s32.f32 $d, $0;", W, &[S], |a| of_i(i64::from(f(a[0]).floor() as i32))),
    op("cvt.rni.u32.f64 $d, $0;", W, &[D], |a| {
        // A NaN of 64 bits becomes the highest bit, and one of 32 bits becomes zero.
        if d(a[0]).is_nan() { 1 << 31 } else { of(d(a[0]).round_ties_even() as u32) }
    }),
    op("cvt.rni.f32.f32 $d, $0;", S, &[S], |a| of_f(f(a[0]).round_ties_even())),
    op("cvt.rpi.f32.f32 $d, $0;", S, &[S], |a| of_f(f(a[0]).ceil())),
    op("add.rn.f64 $d, $0, $1;", D, &[D, D], |a| (d(a[0]) + d(a[1])).to_bits()),
    op("mul.rn.f64 $d, $0, $1;", D, &[D, D], |a| (d(a[0]) * d(a[1])).to_bits()),
    op("fma.rn.f64 $d, $0, $1, $2;", D, &[D, D, D], |a| d(a[0]).mul_add(d(a[1]), d(a[2])).to_bits()),
    op("div.rn.f64 $d, $0, $1;", D, &[D, D], |a| (d(a[0]) / d(a[1])).to_bits()),
    op("max.f64 $d, $0, $1;", D, &[D, D], |a| extremum(d(a[0]), d(a[1]), true).to_bits()),
    op("neg.f64 $d, $0;", D, &[D], |a| (-d(a[0])).to_bits()),
    op("cvt.f64.f32 $d, $0;", D, &[S], |a| f64::from(f(a[0])).to_bits()),
    op("cvt.rn.f64.s64 $d, $0;", D, &[L], |a| (a[0] as i64 as f64).to_bits()),
    op("cvt.rn.f64.u32 $d, $0;", D, &[W], |a| f64::from(w(a[0])).to_bits()),
    op("cvt.rzi.s64.f64 $d, $0;", L, &[D], |a| if d(a[0]).is_nan() { 1 << 63 } else { d(a[0]) as i64 as u64 }),
    op("setp.lt.s32 $d, $0, $1;", P, &[W, W], |a| u64::from(i(a[0]) < i(a[1]))),
    op("setp.hs.u32 $d, $0, $1;", P, &[W, W], |a| u64::from(a[0] >= a[1])),
    op("setp.ne.s64 $d, $0, $1;", P, &[L, L], |a| u64::from(a[0] != a[1])),
    op("setp.lt.f32 $d, $0, $1;", P, &[S, S], |a| u64::from(f(a[0]) < f(a[1]))),
    op("setp.geu.f32 $d, $0, $1;", P, &[S, S], |a| {
        u64::from(f(a[0]) >= f(a[1]) || f(a[0]).is_nan() || f(a[1]).is_nan())
    }),
    op("setp.nan.f64 $d, $0, $1;", P, &[D, D], |a| u64::from(d(a[0]).is_nan() || d(a[1]).is_nan())),
    op("setp.gt.and.s32 $d, $0, $1, $2;", P, &[W, W, P], |a| u64::from(i(a[0]) > i(a[1])) & a[2]),
    op("and.pred $d, $0, $1;", P, &[P, P], |a| a[0] & a[1]),
    op("xor.pred $d, $0, $1;", P, &[P, P], |a| a[0] ^ a[1]),
    op("not.pred $d, $0;", P, &[P], |a| a[0] ^ 1),
];
