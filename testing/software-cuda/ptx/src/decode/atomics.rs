//! `atom` and `red`.

use super::memory::{ADVICE, Order, checked_space, order, take_all, untyped};
use super::reader::Reader;
use crate::code::{Access, Atomic, Kind};
use crate::error::LoadError;
use crate::fault::Space;
use crate::numbers::integer as int;
use crate::numbers::{Bf16, F16, F32, Float, canonical, flush};
use crate::text::Type;

type Combine = fn(u64, u64, u64) -> u64;

/// Returns the function that computes the new value of an atomic update.
fn combine(op: &str, ty: Type, is_flushed: bool) -> Option<Combine> {
    macro_rules! typed {
        ($f:ident) => {
            match ty {
                Type::U(32) => Some(|old, new, _| int::$f::<32, false>(old, new)),
                Type::U(64) => Some(|old, new, _| int::$f::<64, false>(old, new)),
                Type::S(32) => Some(|old, new, _| int::$f::<32, true>(old, new)),
                Type::S(64) => Some(|old, new, _| int::$f::<64, true>(old, new)),
                _ => None,
            }
        };
    }
    fn sum<T: Float>(a: u64, b: u64) -> u64 {
        T::encode(T::decode(a) + T::decode(b))
    }
    fn single_sum(a: u64, b: u64) -> u64 {
        canonical(f32::from_bits(a as u32) + f32::from_bits(b as u32))
    }
    match (op, ty) {
        ("and", Type::B(32 | 64)) => Some(|old, new, _| old & new),
        ("or", Type::B(32 | 64)) => Some(|old, new, _| old | new),
        ("xor", Type::B(32 | 64)) => Some(|old, new, _| old ^ new),
        ("exch", Type::B(32 | 64)) => Some(|_, new, _| new),
        ("cas", Type::B(16 | 32 | 64)) => Some(|old, compare, new| if old == compare { new } else { old }),
        ("add", Type::U(32) | Type::S(32)) => Some(|old, new, _| int::add::<32>(old, new)),
        ("add", Type::U(64)) => Some(|old, new, _| int::add::<64>(old, new)),
        ("add", Type::F(32)) if is_flushed => {
            Some(|old, new, _| flush::<F32>(single_sum(flush::<F32>(old), flush::<F32>(new))))
        }
        ("add", Type::F(32)) => Some(|old, new, _| single_sum(old, new)),
        ("add", Type::F(64)) => Some(|old, new, _| (f64::from_bits(old) + f64::from_bits(new)).to_bits()),
        ("add", Type::F(16)) => Some(|old, new, _| sum::<F16>(old, new)),
        ("add", Type::Bf16) => Some(|old, new, _| sum::<Bf16>(old, new)),
        ("add", Type::F16x2) => {
            Some(|old, new, _| sum::<F16>(old & 0xffff, new & 0xffff) | sum::<F16>(old >> 16, new >> 16) << 16)
        }
        ("add", Type::Bf16x2) => {
            Some(|old, new, _| sum::<Bf16>(old & 0xffff, new & 0xffff) | sum::<Bf16>(old >> 16, new >> 16) << 16)
        }
        ("inc", Type::U(32)) => Some(|old, limit, _| if old >= limit { 0 } else { old + 1 }),
        ("dec", Type::U(32)) => Some(|old, limit, _| if old == 0 || old > limit { limit } else { old - 1 }),
        ("min", _) => typed!(min),
        ("max", _) => typed!(max),
        _ => None,
    }
}

const UPDATES: [&str; 10] = ["and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max"];

/// `atom` and `red`.
pub fn atomic(reader: &mut Reader) -> Result<Kind, LoadError> {
    let returns = reader.instruction.mnemonic == "atom";
    let (order, space) = order(reader, Order::Relaxed)?;
    if matches!(order, Order::Weak | Order::Volatile) || !matches!(space, None | Some(Space::Global | Space::Shared)) {
        return reader.unknown();
    }
    let op = reader.require(&UPDATES.map(|name| (name, name)))?;
    let noftz = reader.take("noftz");
    take_all(reader, &ADVICE);
    let ty = reader.ty()?;
    let is_narrow = matches!(ty, Type::F(16) | Type::Bf16 | Type::F16x2 | Type::Bf16x2);
    match ty {
        Type::Bf16 | Type::Bf16x2 => reader.needs(90, 78)?,
        Type::F(16) => reader.needs(70, 63)?,
        _ => {}
    }
    let combine = combine(op, ty, space != Some(Space::Shared));
    let Some(combine) = combine.filter(|_| noftz == is_narrow && (returns || !matches!(op, "exch" | "cas"))) else {
        return reader.unknown();
    };
    let sources = if op == "cas" { 2 } else { 1 };
    let first = usize::from(returns);
    reader.finish(first + 1 + sources)?;
    let (base, offset, of_variable) = reader.address(first)?;
    let operand_type = if is_narrow { untyped(ty) } else { ty };
    let mut from = [0; 2];
    for (number, from) in from.iter_mut().take(sources).enumerate() {
        *from = reader.source(first + 1 + number, operand_type)?;
    }
    let to = if returns { Some(reader.dest(0, operand_type)?) } else { None };
    let space = checked_space(reader, space, of_variable)?;
    let access = Access { is_strong: true, ..Access::plain(space, ty.bytes(), base, offset) };
    Ok(Kind::Atomic(Box::new(Atomic { access, to, from, combine })))
}
