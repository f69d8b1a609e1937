//! Instructions on integers and bits.

use super::reader::{Reader, Width};
use crate::code::{Kind, LaneFn, Operands, lanes};
use crate::error::LoadError;
use crate::numbers::integer as int;
use crate::text::Type;

/// Chooses the function of an instruction on 16, 32 or 64 bits.
macro_rules! sized {
    ($reader:expr, $bits:expr, $apply:ident, $f:ident) => {
        match $bits {
            16 => lanes!($apply, int::$f::<16>),
            32 => lanes!($apply, int::$f::<32>),
            64 => lanes!($apply, int::$f::<64>),
            _ => return $reader.unknown(),
        }
    };
}

/// Chooses the function of an instruction on signed or unsigned integers.
macro_rules! typed {
    ($reader:expr, $ty:expr, $apply:ident, $f:ident $(, $more:literal)*) => {
        match $ty {
            Type::U(16) => lanes!($apply, int::$f::<16, false $(, $more)*>),
            Type::U(32) => lanes!($apply, int::$f::<32, false $(, $more)*>),
            Type::U(64) => lanes!($apply, int::$f::<64, false $(, $more)*>),
            Type::S(16) => lanes!($apply, int::$f::<16, true $(, $more)*>),
            Type::S(32) => lanes!($apply, int::$f::<32, true $(, $more)*>),
            Type::S(64) => lanes!($apply, int::$f::<64, true $(, $more)*>),
            _ => return $reader.unknown(),
        }
    };
}

/// Reads the registers of an instruction: a result of type `to`, and operands of the types `from`.
pub fn operands(reader: &mut Reader, to: Type, from: &[Type]) -> Result<Operands, LoadError> {
    reader.finish(1 + from.len())?;
    let mut at = Operands::default();
    for (number, ty) in from.iter().enumerate() {
        at.from[number] = reader.source(1 + number, *ty)?;
    }
    at.to = reader.dest(0, to)?;
    Ok(at)
}

fn uniform(reader: &mut Reader, run: LaneFn, ty: Type, sources: usize) -> Result<Kind, LoadError> {
    Ok(Kind::Lanes(run, operands(reader, ty, &[ty; 4][..sources])?))
}

/// Reads `add` or `sub` on integers. The caller has read the type.
pub fn sum(reader: &mut Reader, ty: Type, saturates: bool) -> Result<Kind, LoadError> {
    let adds = reader.instruction.mnemonic == "add";
    check_integer(reader, ty)?;
    let run = match (ty, saturates) {
        (Type::S(32), true) if adds => lanes!(two, int::add_saturated),
        (Type::S(32), true) => lanes!(two, int::sub_saturated),
        (_, true) => return reader.unknown(),
        _ if adds => sized!(reader, ty.bits(), two, add),
        _ => sized!(reader, ty.bits(), two, sub),
    };
    uniform(reader, run, ty, 2)
}

#[derive(Clone, Copy)]
enum Part {
    Low,
    High,
    Wide,
}

const PARTS: [(&str, Part); 3] = [("lo", Part::Low), ("hi", Part::High), ("wide", Part::Wide)];

/// `mul` on integers.
pub fn product(reader: &mut Reader) -> Result<Kind, LoadError> {
    let part = reader.require(&PARTS)?;
    let ty = reader.ty()?;
    let (run, to) = match part {
        Part::Low => (sized!(reader, ty.bits(), two, mul), ty),
        Part::High => (typed!(reader, ty, two, mul_high), ty),
        Part::Wide => wide(reader, ty)?,
    };
    check_integer(reader, ty)?;
    Ok(Kind::Lanes(run, operands(reader, to, &[ty, ty])?))
}

/// Returns the function that computes a product with twice the bits of its factors, and the type of
/// the product.
fn wide(reader: &Reader, ty: Type) -> Result<(LaneFn, Type), LoadError> {
    Ok(match ty {
        Type::U(16) => (lanes!(two, int::mul_wide::<16, false>), Type::U(32)),
        Type::U(32) => (lanes!(two, int::mul_wide::<32, false>), Type::U(64)),
        Type::S(16) => (lanes!(two, int::mul_wide::<16, true>), Type::S(32)),
        Type::S(32) => (lanes!(two, int::mul_wide::<32, true>), Type::S(64)),
        _ => return reader.unknown(),
    })
}

/// `mad` on integers.
pub fn product_sum(reader: &mut Reader) -> Result<Kind, LoadError> {
    let part = reader.require(&PARTS)?;
    let ty = reader.ty()?;
    check_integer(reader, ty)?;
    macro_rules! with_sum {
        ($f:path, $bits:literal) => {
            lanes!(three, |a, b, c| $f(a, b).wrapping_add(c) & int::mask($bits))
        };
    }
    let (run, to) = match (part, ty) {
        (Part::Low, Type::U(16) | Type::S(16)) => (with_sum!(int::mul::<16>, 16), ty),
        (Part::Low, Type::U(32) | Type::S(32)) => (with_sum!(int::mul::<32>, 32), ty),
        (Part::Low, Type::U(64) | Type::S(64)) => (with_sum!(int::mul::<64>, 64), ty),
        (Part::High, Type::U(16)) => (with_sum!(int::mul_high::<16, false>, 16), ty),
        (Part::High, Type::U(32)) => (with_sum!(int::mul_high::<32, false>, 32), ty),
        (Part::High, Type::U(64)) => (with_sum!(int::mul_high::<64, false>, 64), ty),
        (Part::High, Type::S(16)) => (with_sum!(int::mul_high::<16, true>, 16), ty),
        (Part::High, Type::S(32)) => (with_sum!(int::mul_high::<32, true>, 32), ty),
        (Part::High, Type::S(64)) => (with_sum!(int::mul_high::<64, true>, 64), ty),
        (Part::Wide, Type::U(16)) => (with_sum!(int::mul_wide::<16, false>, 32), Type::U(32)),
        (Part::Wide, Type::U(32)) => (with_sum!(int::mul_wide::<32, false>, 64), Type::U(64)),
        (Part::Wide, Type::S(16)) => (with_sum!(int::mul_wide::<16, true>, 32), Type::S(32)),
        (Part::Wide, Type::S(32)) => (with_sum!(int::mul_wide::<32, true>, 64), Type::S(64)),
        _ => return reader.unknown(),
    };
    Ok(Kind::Lanes(run, operands(reader, to, &[ty, ty, to])?))
}

/// `mul24` and `mad24`.
pub fn product_24(reader: &mut Reader) -> Result<Kind, LoadError> {
    let is_low = reader.require(&[("lo", true), ("hi", false)])?;
    let ty = reader.ty()?;
    let adds = reader.instruction.mnemonic == "mad24";
    let run = match (is_low, ty, adds) {
        (true, Type::U(32), false) => lanes!(two, int::mul_24::<false>),
        (true, Type::S(32), false) => lanes!(two, int::mul_24::<true>),
        (true, Type::U(32), true) => lanes!(three, |a, b, c| int::add::<32>(int::mul_24::<false>(a, b), c)),
        (true, Type::S(32), true) => lanes!(three, |a, b, c| int::add::<32>(int::mul_24::<true>(a, b), c)),
        _ => return reader.unknown(),
    };
    uniform(reader, run, ty, if adds { 3 } else { 2 })
}

fn check_integer(reader: &Reader, ty: Type) -> Result<(), LoadError> {
    if matches!(ty, Type::U(16..) | Type::S(16..)) { Ok(()) } else { reader.unknown() }
}

/// Reads `div` or `rem` on integers. The caller has read the type.
pub fn quotient(reader: &mut Reader, ty: Type) -> Result<Kind, LoadError> {
    let run = match reader.instruction.mnemonic {
        "div" => typed!(reader, ty, two, div),
        _ => typed!(reader, ty, two, rem),
    };
    Ok(Kind::Division(run, operands(reader, ty, &[ty, ty])?))
}

/// Reads `min` or `max` on integers. The caller has read the type.
pub fn extremum(reader: &mut Reader, ty: Type) -> Result<Kind, LoadError> {
    let run = match reader.instruction.mnemonic {
        "min" => typed!(reader, ty, two, min),
        _ => typed!(reader, ty, two, max),
    };
    uniform(reader, run, ty, 2)
}

/// Reads `min` or `max` whose negative results become zero. The caller has read `.relu`.
pub fn extremum_above_zero(reader: &mut Reader) -> Result<Kind, LoadError> {
    reader.needs(90, 80)?;
    let run = match (reader.instruction.mnemonic, reader.ty()?) {
        ("min", Type::S(32)) => lanes!(two, |a, b| int::max::<32, true>(int::min::<32, true>(a, b), 0)),
        ("max", Type::S(32)) => lanes!(two, |a, b| int::max::<32, true>(int::max::<32, true>(a, b), 0)),
        _ => return reader.unknown(),
    };
    uniform(reader, run, Type::S(32), 2)
}

/// Reads `abs` or `neg` on integers. The caller has read the type.
pub fn sign(reader: &mut Reader, ty: Type) -> Result<Kind, LoadError> {
    if !matches!(ty, Type::S(_)) {
        return reader.unknown();
    }
    let run = match reader.instruction.mnemonic {
        "abs" => sized!(reader, ty.bits(), one, abs),
        _ => sized!(reader, ty.bits(), one, neg),
    };
    uniform(reader, run, ty, 1)
}

/// `sad`.
pub fn distance(reader: &mut Reader) -> Result<Kind, LoadError> {
    let ty = reader.ty()?;
    let run = typed!(reader, ty, three, sad);
    uniform(reader, run, ty, 3)
}

/// `popc`, `clz`, `brev`.
pub fn count(reader: &mut Reader) -> Result<Kind, LoadError> {
    let ty = reader.ty()?;
    let (run, to) = match (reader.instruction.mnemonic, ty) {
        ("popc", Type::B(32 | 64)) => (lanes!(one, |a: u64| u64::from(a.count_ones())), Type::U(32)),
        ("clz", Type::B(32)) => (lanes!(one, int::clz::<32>), Type::U(32)),
        ("clz", Type::B(64)) => (lanes!(one, int::clz::<64>), Type::U(32)),
        ("brev", Type::B(32)) => (lanes!(one, int::reverse::<32>), ty),
        ("brev", Type::B(64)) => (lanes!(one, int::reverse::<64>), ty),
        _ => return reader.unknown(),
    };
    Ok(Kind::Lanes(run, operands(reader, to, &[ty])?))
}

/// `bfind`.
pub fn find(reader: &mut Reader) -> Result<Kind, LoadError> {
    let shifts = reader.take("shiftamt");
    let ty = reader.ty()?;
    if ty.bits() == 16 {
        return reader.unknown();
    }
    let run = if shifts { typed!(reader, ty, one, bfind, true) } else { typed!(reader, ty, one, bfind, false) };
    Ok(Kind::Lanes(run, operands(reader, Type::U(32), &[ty])?))
}

/// `bfe` and `bfi`.
pub fn field(reader: &mut Reader) -> Result<Kind, LoadError> {
    let ty = reader.ty()?;
    let word = Type::U(32);
    if reader.instruction.mnemonic == "bfi" {
        let run = match ty {
            Type::B(32) => lanes!(four, int::bfi::<32>),
            Type::B(64) => lanes!(four, int::bfi::<64>),
            _ => return reader.unknown(),
        };
        return Ok(Kind::Lanes(run, operands(reader, ty, &[ty, ty, word, word])?));
    }
    if ty.bits() == 16 {
        return reader.unknown();
    }
    let run = typed!(reader, ty, three, bfe);
    Ok(Kind::Lanes(run, operands(reader, ty, &[ty, word, word])?))
}

/// `bmsk` and `szext`.
pub fn bit_mask(reader: &mut Reader) -> Result<Kind, LoadError> {
    let clamps = reader.require(&[("clamp", true), ("wrap", false)])?;
    let ty = reader.ty()?;
    let run = match (reader.instruction.mnemonic, clamps, ty) {
        ("bmsk", true, Type::B(32)) => lanes!(two, int::bmsk::<true>),
        ("bmsk", false, Type::B(32)) => lanes!(two, int::bmsk::<false>),
        ("szext", true, Type::S(32)) => lanes!(two, int::szext::<true, true>),
        ("szext", false, Type::S(32)) => lanes!(two, int::szext::<true, false>),
        ("szext", true, Type::U(32)) => lanes!(two, int::szext::<false, true>),
        ("szext", false, Type::U(32)) => lanes!(two, int::szext::<false, false>),
        _ => return reader.unknown(),
    };
    Ok(Kind::Lanes(run, operands(reader, ty, &[ty, Type::U(32)])?))
}

/// `shl` and `shr`.
pub fn shift(reader: &mut Reader) -> Result<Kind, LoadError> {
    let ty = reader.ty()?;
    let run = match (reader.instruction.mnemonic, ty) {
        ("shl", Type::B(16)) => lanes!(two, int::shl::<16>),
        ("shl", Type::B(32)) => lanes!(two, int::shl::<32>),
        ("shl", Type::B(64)) => lanes!(two, int::shl::<64>),
        ("shl", _) => return reader.unknown(),
        (_, Type::B(bits)) => typed!(reader, Type::U(bits), two, shr),
        _ => typed!(reader, ty, two, shr),
    };
    Ok(Kind::Lanes(run, operands(reader, ty, &[ty, Type::U(32)])?))
}

/// `shf`.
pub fn funnel_shift(reader: &mut Reader) -> Result<Kind, LoadError> {
    let is_left = reader.require(&[("l", true), ("r", false)])?;
    let clamps = reader.require(&[("clamp", true), ("wrap", false)])?;
    let ty = reader.ty()?;
    let run = match (is_left, clamps, ty) {
        (true, true, Type::B(32)) => lanes!(three, int::shift_left::<true>),
        (true, false, Type::B(32)) => lanes!(three, int::shift_left::<false>),
        (false, true, Type::B(32)) => lanes!(three, int::shift_right::<true>),
        (false, false, Type::B(32)) => lanes!(three, int::shift_right::<false>),
        _ => return reader.unknown(),
    };
    Ok(Kind::Lanes(run, operands(reader, ty, &[ty, ty, Type::U(32)])?))
}

/// `prmt`.
pub fn permute(reader: &mut Reader) -> Result<Kind, LoadError> {
    if reader.ty()? != Type::B(32) {
        return reader.unknown();
    }
    macro_rules! by {
        ($pattern:expr) => {
            lanes!(three, |a, b, c| int::permute_by(a, b, c, $pattern))
        };
    }
    let run = match reader.peek() {
        None => lanes!(three, int::permute),
        Some("f4e") => by!(|start, place| start + place),
        Some("b4e") => by!(|start, place| (start + 8 - place) & 7),
        Some("rc8") => by!(|start, _| start),
        Some("ecl") => by!(|start, place| place.max(start)),
        Some("ecr") => by!(|start, place| place.min(start)),
        Some("rc16") => by!(|start, place| (start & 1) * 2 + (place & 1)),
        Some(_) => return reader.unknown(),
    };
    reader.choose(&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"].map(|name| (name, ())));
    uniform(reader, run, Type::B(32), 3)
}

/// `lop3`.
pub fn lookup(reader: &mut Reader) -> Result<Kind, LoadError> {
    if reader.ty()? != Type::B(32) {
        return reader.unknown();
    }
    reader.finish(5)?;
    let mut at = Operands::default();
    for number in 0..3 {
        at.from[number] = reader.source(1 + number, Type::B(32))?;
    }
    at.extra = reader.integer(4)? as u32;
    at.to = reader.dest(0, Type::B(32))?;
    if at.extra > 0xff {
        return reader.error("the table of lop3 has 8 bits");
    }
    Ok(Kind::Lanes(
        |registers, at, mask| {
            let table = at.extra;
            crate::code::three(registers, at, mask, |a, b, c| int::lookup(a, b, c, table));
        },
        at,
    ))
}

/// Reads `and`, `or`, `xor`, `not` or `cnot` on registers. The caller has read the type.
pub fn logic(reader: &mut Reader, ty: Type) -> Result<Kind, LoadError> {
    let Type::B(bits @ (16 | 32 | 64)) = ty else { return reader.unknown() };
    let run = match reader.instruction.mnemonic {
        "and" => lanes!(two, |a, b| a & b),
        "or" => lanes!(two, |a, b| a | b),
        "xor" => lanes!(two, |a, b| a ^ b),
        "not" => sized!(reader, bits, one, not),
        _ => lanes!(one, |a| u64::from(a == 0)),
    };
    let sources = if matches!(reader.instruction.mnemonic, "not" | "cnot") { 1 } else { 2 };
    uniform(reader, run, ty, sources)
}

/// `dp4a` and `dp2a`.
pub fn dot(reader: &mut Reader) -> Result<Kind, LoadError> {
    let is_bytes = reader.instruction.mnemonic == "dp4a";
    let high = if is_bytes { false } else { reader.require(&[("lo", false), ("hi", true)])? };
    let (left, right) = (reader.ty()?, reader.ty()?);
    let run = match (is_bytes, left, right, high) {
        (true, Type::U(32), Type::U(32), _) => lanes!(three, int::dot_bytes::<false, false>),
        (true, Type::U(32), Type::S(32), _) => lanes!(three, int::dot_bytes::<false, true>),
        (true, Type::S(32), Type::U(32), _) => lanes!(three, int::dot_bytes::<true, false>),
        (true, Type::S(32), Type::S(32), _) => lanes!(three, int::dot_bytes::<true, true>),
        (false, Type::U(32), Type::U(32), false) => lanes!(three, int::dot_halves::<false, false, false>),
        (false, Type::U(32), Type::S(32), false) => lanes!(three, int::dot_halves::<false, true, false>),
        (false, Type::S(32), Type::U(32), false) => lanes!(three, int::dot_halves::<true, false, false>),
        (false, Type::S(32), Type::S(32), false) => lanes!(three, int::dot_halves::<true, true, false>),
        (false, Type::U(32), Type::U(32), true) => lanes!(three, int::dot_halves::<false, false, true>),
        (false, Type::U(32), Type::S(32), true) => lanes!(three, int::dot_halves::<false, true, true>),
        (false, Type::S(32), Type::U(32), true) => lanes!(three, int::dot_halves::<true, false, true>),
        (false, Type::S(32), Type::S(32), true) => lanes!(three, int::dot_halves::<true, true, true>),
        _ => return reader.unknown(),
    };
    Ok(Kind::Lanes(run, operands(reader, Type::B(32), &[Type::B(32); 3])?))
}

/// Reads `mov` on registers. The caller has read the type. A `mov` from a vector packs its elements
/// into one register; a `mov` to a vector unpacks a register.
pub fn moved(reader: &mut Reader, ty: Type) -> Result<Kind, LoadError> {
    if !matches!(ty, Type::U(16..) | Type::S(16..) | Type::B(16 | 32 | 64) | Type::F(32 | 64)) {
        return reader.unknown();
    }
    reader.finish(2)?;
    let (to, from) = (reader.elements(0)?, reader.elements(1)?);
    let part = |count: usize| Type::B(ty.bits() / count as u32);
    if from.len() > 1 {
        if !matches!(from.len(), 2 | 4) || !matches!(ty, Type::B(_)) {
            return reader.unknown();
        }
        let mut at = Operands { extra: part(from.len()).bits(), ..Operands::default() };
        for (number, element) in from.iter().enumerate() {
            at.from[number] = reader.source_of(element, part(from.len()), Width::Exact)?;
        }
        at.to = reader.dest(0, ty)?;
        return Ok(Kind::Lanes(if from.len() == 2 { pack_two } else { pack_four }, at));
    }
    if to.len() > 1 {
        if !matches!(to.len(), 2 | 4) || !matches!(ty, Type::B(_)) {
            return reader.unknown();
        }
        let register = reader.source(1, ty)?;
        let elements = to.iter().map(|element| reader.dest_of(element, part(to.len()), Width::Exact));
        let elements = elements.collect::<Result<Vec<_>, _>>()?;
        let last = elements.get(2..).unwrap_or_default();
        // The results are numbered by `from`, as an instruction has only two results.
        let mut at = Operands { to: register, extra: part(to.len()).bits(), from: [elements[0], elements[1], 0, 0] };
        last.iter().enumerate().for_each(|(number, element)| at.from[2 + number] = *element);
        return Ok(Kind::Lanes(if to.len() == 2 { unpack::<2> } else { unpack::<4> }, at));
    }
    uniform(reader, lanes!(one, |a| a), ty, 1)
}

fn pack_two(registers: &mut crate::code::Registers, at: &Operands, mask: u32) {
    let bits = at.extra;
    crate::code::two(registers, at, mask, |a, b| a | b << bits);
}

fn pack_four(registers: &mut crate::code::Registers, at: &Operands, mask: u32) {
    let bits = at.extra;
    crate::code::four(registers, at, mask, |a, b, c, d| a | b << bits | c << (2 * bits) | d << (3 * bits));
}

/// Unpacks a register: reads the register `to`, and writes its parts to the registers `from`.
fn unpack<const N: usize>(registers: &mut crate::code::Registers, at: &Operands, mask: u32) {
    let (value, bits) = (*registers.get(at.to), at.extra);
    for number in 0..N {
        registers.set(at.from[number], mask, |lane| value[lane] >> (bits * number as u32) & int::mask(bits));
    }
}
