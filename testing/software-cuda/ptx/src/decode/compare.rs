//! Comparisons, selections, and logic on predicates.

use super::integer::operands;
use super::reader::Reader;
use crate::code::{Kind, LaneFn, NEGATED, NO_RESULT, Operands, PLAIN, Registers, WITH_AND, WITH_OR, WITH_XOR, lanes};
use crate::error::LoadError;
use crate::numbers::integer as int;
use crate::numbers::{Bf16, F16, F32, F64, Float, flush};
use crate::text::{Operand, Type};

/// A comparison. `Number` and `NotNumber` test floats for NaN.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Compare {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// Comparisons that also hold if an operand is NaN.
    OrNan(OrNan),
    Number,
    NotNumber,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OrNan {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

const COMPARISONS: [(&str, Compare); 18] = [
    ("eq", Compare::Equal),
    ("ne", Compare::NotEqual),
    ("lt", Compare::Less),
    ("le", Compare::LessEqual),
    ("gt", Compare::Greater),
    ("ge", Compare::GreaterEqual),
    ("lo", Compare::Less),
    ("ls", Compare::LessEqual),
    ("hi", Compare::Greater),
    ("hs", Compare::GreaterEqual),
    ("equ", Compare::OrNan(OrNan::Equal)),
    ("neu", Compare::OrNan(OrNan::NotEqual)),
    ("ltu", Compare::OrNan(OrNan::Less)),
    ("leu", Compare::OrNan(OrNan::LessEqual)),
    ("gtu", Compare::OrNan(OrNan::Greater)),
    ("geu", Compare::OrNan(OrNan::GreaterEqual)),
    ("num", Compare::Number),
    ("nan", Compare::NotNumber),
];

/// Reads a comparison. The names for unsigned comparisons are allowed only for unsigned types.
fn comparison(reader: &mut Reader) -> Result<(Compare, bool), LoadError> {
    let is_unsigned = matches!(reader.peek(), Some("lo" | "ls" | "hi" | "hs"));
    Ok((reader.require(&COMPARISONS)?, is_unsigned))
}

/// Chooses the function that compares integers.
macro_rules! of_integers {
    ($apply:ident, $compare:expr, $ty:expr) => {{
        macro_rules! signed_or_not {
            ($f:ident $not:tt $flip:tt) => {
                match $ty {
                    Type::U(_) => Some(lanes!($apply, |a, b| compare_with!($f $not $flip u64, a, b))),
                    Type::S(16) => Some(lanes!($apply, |a, b| compare_with!($f $not $flip 16, a, b))),
                    Type::S(32) => Some(lanes!($apply, |a, b| compare_with!($f $not $flip 32, a, b))),
                    Type::S(64) => Some(lanes!($apply, |a, b| compare_with!($f $not $flip 64, a, b))),
                    _ => None,
                }
            };
        }
        match $compare {
            Compare::Equal => Some(lanes!($apply, |a, b| a == b)),
            Compare::NotEqual => Some(lanes!($apply, |a, b| a != b)),
            Compare::Less => signed_or_not!(less - -),
            Compare::GreaterEqual => signed_or_not!(less ! -),
            Compare::Greater => signed_or_not!(less - ~),
            Compare::LessEqual => signed_or_not!(less ! ~),
            _ => None,
        }
    }};
}

/// Compares integers by `less`. `!` negates the result, and `~` exchanges the operands.
macro_rules! compare_with {
    (less - - u64, $a:ident, $b:ident) => {
        $a < $b
    };
    (less ! - u64, $a:ident, $b:ident) => {
        $a >= $b
    };
    (less - ~ u64, $a:ident, $b:ident) => {
        $a > $b
    };
    (less ! ~ u64, $a:ident, $b:ident) => {
        $a <= $b
    };
    (less - - $bits:literal, $a:ident, $b:ident) => {
        int::less::<$bits, true>($a, $b)
    };
    (less ! - $bits:literal, $a:ident, $b:ident) => {
        !int::less::<$bits, true>($a, $b)
    };
    (less - ~ $bits:literal, $a:ident, $b:ident) => {
        int::less::<$bits, true>($b, $a)
    };
    (less ! ~ $bits:literal, $a:ident, $b:ident) => {
        !int::less::<$bits, true>($b, $a)
    };
}

/// Chooses the function that compares floats. Flushed subnormals count as zero.
macro_rules! of_floats {
    ($apply:ident, $compare:expr, $ty:ty, $flushes:expr) => {{
        macro_rules! by {
            (|$a:ident, $b:ident| $test:expr) => {
                if $flushes {
                    lanes!($apply, |a, b| {
                        let ($a, $b) = (<$ty>::decode(flush::<$ty>(a)), <$ty>::decode(flush::<$ty>(b)));
                        $test
                    })
                } else {
                    lanes!($apply, |a, b| {
                        let ($a, $b) = (<$ty>::decode(a), <$ty>::decode(b));
                        $test
                    })
                }
            };
        }
        #[expect(clippy::neg_cmp_op_on_partial_ord, reason = "the negation holds for NaN, too")]
        match $compare {
            Compare::Equal => by!(|a, b| a == b),
            Compare::NotEqual => by!(|a, b| !(a == b || a.is_nan() || b.is_nan())),
            Compare::Less => by!(|a, b| a < b),
            Compare::LessEqual => by!(|a, b| a <= b),
            Compare::Greater => by!(|a, b| a > b),
            Compare::GreaterEqual => by!(|a, b| a >= b),
            Compare::OrNan(OrNan::Equal) => by!(|a, b| a == b || a.is_nan() || b.is_nan()),
            Compare::OrNan(OrNan::NotEqual) => by!(|a, b| a != b),
            Compare::OrNan(OrNan::Less) => by!(|a, b| !(a >= b)),
            Compare::OrNan(OrNan::LessEqual) => by!(|a, b| !(a > b)),
            Compare::OrNan(OrNan::Greater) => by!(|a, b| !(a <= b)),
            Compare::OrNan(OrNan::GreaterEqual) => by!(|a, b| !(a < b)),
            Compare::Number => by!(|a, b| !(a.is_nan() || b.is_nan())),
            Compare::NotNumber => by!(|a, b| a.is_nan() || b.is_nan()),
        }
    }};
}

/// Chooses the function that compares numbers of a type.
macro_rules! of_type {
    ($apply:ident, $compare:expr, $ty:expr, $flushes:expr) => {
        match $ty {
            Type::F(16) => Some(of_floats!($apply, $compare, F16, $flushes)),
            Type::Bf16 => Some(of_floats!($apply, $compare, Bf16, false)),
            Type::F(32) => Some(of_floats!($apply, $compare, F32, $flushes)),
            Type::F(64) => Some(of_floats!($apply, $compare, F64, false)),
            Type::B(16 | 32 | 64) if matches!($compare, Compare::Equal | Compare::NotEqual) => {
                of_integers!($apply, $compare, Type::U(64))
            }
            Type::U(16 | 32 | 64) | Type::S(16 | 32 | 64) => of_integers!($apply, $compare, $ty),
            _ => None,
        }
    };
}

fn check_flush(reader: &Reader, ty: Type, flushes: bool) -> Result<(), LoadError> {
    if flushes && !matches!(ty, Type::F(32 | 16) | Type::F16x2) { reader.unknown() } else { Ok(()) }
}

/// `setp`.
pub fn set_predicate(reader: &mut Reader) -> Result<Kind, LoadError> {
    let (compare, is_unsigned) = comparison(reader)?;
    let combine = reader.choose(&[("and", WITH_AND), ("or", WITH_OR), ("xor", WITH_XOR)]);
    let flushes = reader.take("ftz");
    let ty = reader.ty()?;
    check_flush(reader, ty, flushes)?;
    if matches!(ty, Type::Bf16 | Type::Bf16x2) {
        reader.needs(90, 78)?;
    }
    let run = match ty {
        Type::F16x2 => Some(of_floats!(compare_halves, compare, F16, flushes)),
        Type::Bf16x2 => Some(of_floats!(compare_halves, compare, Bf16, false)),
        _ => of_type!(compare, compare, ty, flushes),
    };
    let Some(run) = run.filter(|_| !is_unsigned || matches!(ty, Type::U(_))) else { return reader.unknown() };
    reader.finish(if combine.is_some() { 4 } else { 3 })?;
    let mut at = Operands { extra: NO_RESULT, ..Operands::default() };
    at.from[0] = reader.source(1, ty)?;
    at.from[1] = reader.source(2, ty)?;
    at.from[3] = PLAIN;
    if let Some(combine) = combine {
        let guard = reader.predicate(3)?;
        at.from[2] = guard.predicate;
        at.from[3] = combine | if guard.is_negated { NEGATED } else { 0 };
    }
    match reader.operand(0)? {
        Operand::Pair(first, second) => {
            at.to = reader.predicate_dest(first)?;
            at.extra = reader.predicate_dest(second)?;
        }
        single => at.to = reader.predicate_dest(single)?,
    }
    Ok(Kind::Lanes(run, at))
}

/// `set` whose result is not combined with a predicate.
pub fn set_value(reader: &mut Reader) -> Result<Kind, LoadError> {
    let (compare, is_unsigned) = comparison(reader)?;
    let flushes = reader.take("ftz");
    let (to, ty) = (reader.ty()?, reader.ty()?);
    check_flush(reader, ty, flushes)?;
    let run = of_type!(compare_to_value, compare, ty, flushes);
    let Some(run) = run.filter(|_| !is_unsigned || matches!(ty, Type::U(_))) else { return reader.unknown() };
    let value = match to {
        Type::U(32) | Type::S(32) => u32::MAX,
        Type::F(32) => 1.0f32.to_bits(),
        Type::U(16) | Type::S(16) => u32::from(u16::MAX),
        Type::F(16) => 0x3c00,
        Type::Bf16 => 0x3f80,
        _ => return reader.unknown(),
    };
    let at = operands(reader, to, &[ty, ty])?;
    Ok(Kind::Lanes(run, Operands { extra: value, ..at }))
}

/// `selp`.
pub fn select(reader: &mut Reader) -> Result<Kind, LoadError> {
    let ty = reader.ty()?;
    if !matches!(ty, Type::U(16..) | Type::S(16..) | Type::B(16 | 32 | 64) | Type::F(32 | 64)) {
        return reader.unknown();
    }
    reader.finish(4)?;
    let mut at = Operands::default();
    at.from[0] = reader.source(1, ty)?;
    at.from[1] = reader.source(2, ty)?;
    let guard = reader.predicate(3)?;
    at.from[2] = guard.predicate;
    at.from[3] = u32::from(guard.is_negated);
    at.to = reader.dest(0, ty)?;
    Ok(Kind::Lanes(run_select, at))
}

fn run_select(registers: &mut Registers, at: &Operands, mask: u32) {
    let chosen = registers.predicate(at.from[2]);
    let chosen = if at.from[3] == 0 { chosen } else { !chosen };
    let [a, b] = [at.from[0], at.from[1]].map(|from| *registers.get(from));
    registers.set(at.to, mask, |lane| if chosen >> lane & 1 == 1 { a[lane] } else { b[lane] });
}

/// `slct`.
pub fn select_by_sign(reader: &mut Reader) -> Result<Kind, LoadError> {
    let flushes = reader.take("ftz");
    let (ty, by) = (reader.ty()?, reader.ty()?);
    let run = match (by, flushes) {
        (Type::S(32), false) => lanes!(three, |a, b, c| if (c as i32) >= 0 { a } else { b }),
        (Type::F(32), false) => lanes!(three, |a, b, c| if F32::decode(c) >= 0.0 { a } else { b }),
        (Type::F(32), true) => lanes!(three, |a, b, c| if F32::decode(flush::<F32>(c)) >= 0.0 { a } else { b }),
        _ => return reader.unknown(),
    };
    Ok(Kind::Lanes(run, operands(reader, ty, &[ty, ty, by])?))
}

/// Reads `and`, `or`, `xor`, `not` or `mov` on predicates. The caller has read the type.
pub fn logic(reader: &mut Reader) -> Result<Kind, LoadError> {
    let mnemonic = reader.instruction.mnemonic;
    let is_binary = matches!(mnemonic, "and" | "or" | "xor");
    reader.finish(if is_binary { 3 } else { 2 })?;
    let run: LaneFn = match mnemonic {
        "and" => |registers, at, mask| predicates(registers, at, mask, |a, b| a & b),
        "or" => |registers, at, mask| predicates(registers, at, mask, |a, b| a | b),
        "xor" => |registers, at, mask| predicates(registers, at, mask, |a, b| a ^ b),
        "not" => |registers, at, mask| predicates(registers, at, mask, |a, _| !a),
        _ => match reader.operand(1)? {
            Operand::Integer(value @ -1..=1) => {
                let at = Operands { to: reader.predicate_dest(reader.operand(0)?)?, ..Operands::default() };
                let run: LaneFn = if *value == 0 {
                    |registers, at, mask| registers.set_predicate(at.to, mask, 0)
                } else {
                    |registers, at, mask| registers.set_predicate(at.to, mask, u32::MAX)
                };
                return Ok(Kind::Lanes(run, at));
            }
            _ => |registers, at, mask| predicates(registers, at, mask, |a, _| a),
        },
    };
    let first = reader.predicate(1)?;
    let second = if is_binary { reader.predicate(2)? } else { first };
    if first.is_negated || second.is_negated {
        return reader.error("a negated predicate is not an operand here");
    }
    let to = reader.predicate_dest(reader.operand(0)?)?;
    Ok(Kind::Lanes(run, Operands { to, from: [first.predicate, second.predicate, 0, 0], extra: 0 }))
}

fn predicates(registers: &mut Registers, at: &Operands, mask: u32, f: impl Fn(u32, u32) -> u32) {
    let value = f(registers.predicate(at.from[0]), registers.predicate(at.from[1]));
    registers.set_predicate(at.to, mask, value);
}

/// `testp`.
pub fn test(reader: &mut Reader) -> Result<Kind, LoadError> {
    macro_rules! tests {
        ($ty:ty) => {
            [
                ("finite", lanes!(test, |a| a & (<$ty>::SIGN - 1) < <$ty>::INFINITY)),
                ("infinite", lanes!(test, |a| a & (<$ty>::SIGN - 1) == <$ty>::INFINITY)),
                ("number", lanes!(test, |a| !<$ty>::is_nan(a))),
                ("notanumber", lanes!(test, |a| <$ty>::is_nan(a))),
                (
                    "normal",
                    lanes!(test, |a| {
                        let magnitude = a & (<$ty>::SIGN - 1);
                        (<$ty>::SMALLEST_NORMAL..<$ty>::INFINITY).contains(&magnitude)
                    }),
                ),
                (
                    "subnormal",
                    lanes!(test, |a| {
                        let magnitude = a & (<$ty>::SIGN - 1);
                        (1..<$ty>::SMALLEST_NORMAL).contains(&magnitude)
                    }),
                ),
            ]
        };
    }
    let is_double = reader.instruction.modifiers.last() == Some(&"f64");
    let run = if is_double { reader.require(&tests!(F64))? } else { reader.require(&tests!(F32))? };
    let ty = reader.ty()?;
    if !matches!(ty, Type::F(32 | 64)) {
        return reader.unknown();
    }
    reader.finish(2)?;
    let from = reader.source(1, ty)?;
    let to = reader.predicate_dest(reader.operand(0)?)?;
    Ok(Kind::Lanes(run, Operands { to, from: [from, 0, 0, 0], extra: 0 }))
}
