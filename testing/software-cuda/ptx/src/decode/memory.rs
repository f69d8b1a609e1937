//! Accesses to memory.

use super::integer::operands;
use super::reader::{Reader, Width};
use crate::code::{Access, Kind, LOCAL_WINDOW, LaneFn, Operands, SHARED_WINDOW, WINDOW_BYTES, lanes};
use crate::error::LoadError;
use crate::fault::Space;
use crate::text::{Operand, Type};

const SPACES: [(&str, Space); 7] = [
    ("global", Space::Global),
    ("shared", Space::Shared),
    ("shared::cta", Space::Shared),
    ("local", Space::Local),
    ("const", Space::Constant),
    ("param", Space::Parameter),
    ("param::entry", Space::Parameter),
];
const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];
/// Modifiers that advise the caches.
pub const ADVICE: [&str; 20] = [
    "ca",
    "cg",
    "cs",
    "lu",
    "cv",
    "wb",
    "wt",
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
    "L2::evict_normal",
    "L2::evict_first",
    "L2::evict_last",
    "L2::cache_hint",
    "L2::64B",
    "L2::128B",
    "L2::256B",
    "mmio",
];

/// How an access is ordered with other accesses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Weak,
    Relaxed,
    Volatile,
    Acquire,
    Release,
    AcquireRelease,
}

const ORDERS: [(&str, Order); 6] = [
    ("weak", Order::Weak),
    ("relaxed", Order::Relaxed),
    ("volatile", Order::Volatile),
    ("acquire", Order::Acquire),
    ("release", Order::Release),
    ("acq_rel", Order::AcquireRelease),
];

pub fn take_all(reader: &mut Reader, names: &[&str]) -> bool {
    let mut any = false;
    while names.iter().any(|name| reader.take(name)) {
        any = true;
    }
    any
}

/// Reads the order, the scope and the state space. Only relaxed, acquiring and releasing accesses
/// have a scope.
pub fn order(reader: &mut Reader, default: Order) -> Result<(Order, Option<Space>), LoadError> {
    let order = reader.choose(&ORDERS).unwrap_or(default);
    let has_scope = SCOPES.iter().any(|name| reader.take(name));
    if has_scope && matches!(order, Order::Weak | Order::Volatile) {
        return reader.error("only relaxed, acquiring and releasing accesses have a scope");
    }
    Ok((order, reader.choose(&SPACES)))
}

/// `ld`.
pub fn load(reader: &mut Reader) -> Result<Kind, LoadError> {
    let (order, space) = order(reader, Order::Weak)?;
    if matches!(order, Order::Release | Order::AcquireRelease) {
        return reader.unknown();
    }
    take_all(reader, &ADVICE);
    let is_invariant = reader.take("nc");
    if is_invariant && (space != Some(Space::Global) || order != Order::Weak) {
        return reader.unknown();
    }
    take_all(reader, &ADVICE);
    let (ty, count) = vector(reader, space)?;
    reader.finish_between(2, 3)?;
    let results = reader.elements(0)?;
    if results.len() != count {
        return reader.error(format!("the access has {count} elements and {} registers", results.len()));
    }
    let (base, offset, of_variable) = reader.address(1)?;
    let bits = results.first().and_then(|result| register_bits(reader, result));
    let signed_bits = bits.filter(|_| matches!(ty, Type::S(_)));
    let mut elements = Vec::with_capacity(count);
    for result in results {
        elements.push(match result {
            Operand::Discard => None,
            result => Some(reader.dest_of(result, untyped(ty), Width::Relaxed)?),
        });
    }
    let space = of_call(reader, base, checked_space(reader, space, of_variable)?);
    let (elements, is_strong) = (elements.into(), order != Order::Weak);
    let plain = Access::plain(space, ty.bytes(), base, offset);
    let access = Access { signed_bits, elements, is_strong, is_invariant, ..plain };
    Ok(parameter(reader, &access).unwrap_or(Kind::Load(access)))
}

/// Returns a move that replaces a load of a parameter from a constant address: the value of a
/// parameter is a constant, too.
fn parameter(reader: &mut Reader, access: &Access) -> Option<Kind> {
    let [Some(to)] = *access.elements else { return None };
    let place = reader.names.value_of(access.base).filter(|_| access.space == Some(Space::Parameter))?;
    let offset = u32::try_from(place.wrapping_add_signed(access.offset)).ok()?;
    let Access { bytes, signed_bits, .. } = *access;
    let constant = crate::code::Constant::Parameter { offset, bytes, signed_bits };
    let from = reader.names.constant(constant);
    Some(Kind::Lanes(lanes!(one, |a| a), Operands { to, from: [from, 0, 0, 0], extra: 0 }))
}

fn register_bits(reader: &Reader, operand: &Operand) -> Option<u32> {
    let Operand::Name(name) = operand else { return None };
    match reader.names.find(name)? {
        super::names::Meaning::Slot(_, ty) => Some(ty.bits()),
        super::names::Meaning::Variable { .. } => None,
    }
}

/// Returns the type of untyped bits that has the size of `ty`. Loads and stores need this type,
/// because they accept registers of any type.
pub fn untyped(ty: Type) -> Type {
    Type::B(ty.bits())
}

/// Reads the number of elements and their type.
fn vector(reader: &mut Reader, space: Option<Space>) -> Result<(Type, usize), LoadError> {
    let count = reader.choose(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1);
    let ty = reader.ty()?;
    let bytes = ty.bytes() as usize * count;
    if !matches!(ty, Type::B(8..=64) | Type::U(_) | Type::S(_) | Type::F(32 | 64)) || bytes > 32 {
        return reader.unknown();
    }
    if bytes > 16 && space != Some(Space::Global) {
        return reader.unknown();
    }
    if bytes > 16 {
        reader.needs(100, 88)?;
    }
    Ok((ty, count))
}

/// Returns the state space of an access. Fails if the address names a variable in another state
/// space.
pub fn checked_space(
    reader: &Reader,
    stated: Option<Space>,
    of_variable: Option<Space>,
) -> Result<Option<Space>, LoadError> {
    match (stated, of_variable) {
        (None, Some(Space::Global) | None) | (Some(_), None) => Ok(stated),
        (Some(stated), Some(of)) if stated == of => Ok(Some(of)),
        (stated, Some(of)) => {
            let stated = stated.map_or("generic".into(), |space| space.to_string());
            reader.error(format!("a variable in {of} memory is accessed as {stated} memory"))
        }
    }
}

/// Returns the state space of an access. Returns `None`, which means a generic address, if the
/// access is to a parameter of a call. Parameters of calls are in local memory and have generic
/// addresses.
fn of_call(reader: &Reader, base: u32, space: Option<Space>) -> Option<Space> {
    let is_of_call = reader.names.value_of(base).is_some_and(|address| address >= LOCAL_WINDOW);
    if is_of_call && space == Some(Space::Parameter) { None } else { space }
}

/// `st`.
pub fn store(reader: &mut Reader) -> Result<Kind, LoadError> {
    let (order, space) = order(reader, Order::Weak)?;
    if matches!(order, Order::Acquire | Order::AcquireRelease) || space == Some(Space::Constant) {
        return reader.unknown();
    }
    take_all(reader, &ADVICE);
    let (ty, count) = vector(reader, space)?;
    reader.finish_between(2, 3)?;
    let (base, offset, of_variable) = reader.address(0)?;
    let values = reader.elements(1)?;
    if values.len() != count {
        return reader.error(format!("the access has {count} elements and {} registers", values.len()));
    }
    let mut elements = Vec::with_capacity(count);
    for value in values {
        elements.push(match value {
            Operand::Discard => None,
            value => Some(reader.source_of(value, untyped(ty), Width::Relaxed)?),
        });
    }
    let space = of_call(reader, base, checked_space(reader, space, of_variable)?);
    if space == Some(Space::Parameter) {
        return reader.error("a parameter of a kernel is written");
    }
    let is_strong = order != Order::Weak;
    Ok(Kind::Store(Access { elements: elements.into(), is_strong, ..Access::plain(space, ty.bytes(), base, offset) }))
}

/// `fence`, `membar`.
pub fn fence(reader: &mut Reader) -> Result<Kind, LoadError> {
    let is_membar = reader.instruction.mnemonic == "membar";
    if is_membar {
        reader.require(&["cta", "gl", "sys"].map(|name| (name, ())))?;
    } else if reader.take("proxy") {
        reader.require(&["async", "async.shared::cta", "async.global", "alias"].map(|name| (name, ())))?;
        let is_global = reader.take("global");
        reader.choose(&[("shared::cta", ()), ("shared::cluster", ())]);
        reader.needs(90, 80)?;
        reader.finish(0)?;
        return Ok(if is_global { Kind::Nothing } else { Kind::AsyncFence });
    } else {
        reader.choose(&["sc", "acq_rel", "acquire", "release"].map(|name| (name, ())));
        reader.require(&SCOPES.map(|name| (name, ())))?;
    }
    reader.finish(0)?;
    Ok(Kind::Nothing)
}

/// `prefetch`, `prefetchu`.
pub fn prefetch(reader: &mut Reader) -> Result<Kind, LoadError> {
    reader.choose(&SPACES);
    reader.require(&["L1", "L2", "L2::evict_last", "L2::evict_normal"].map(|name| (name, ())))?;
    reader.finish(1)?;
    reader.address(0)?;
    Ok(Kind::Nothing)
}

/// Returns the address of a space's window.
fn window(space: Space) -> u64 {
    match space {
        Space::Shared => SHARED_WINDOW,
        Space::Local => LOCAL_WINDOW,
        _ => 0,
    }
}

/// `cvta`.
pub fn convert_address(reader: &mut Reader) -> Result<Kind, LoadError> {
    let leaves = reader.take("to");
    let space = reader.require(&SPACES)?;
    let ty = reader.ty()?;
    if ty != Type::U(64) {
        return reader.unknown();
    }
    let run: LaneFn = match (leaves, window(space)) {
        (_, 0) => lanes!(one, |a| a),
        (true, SHARED_WINDOW) => lanes!(one, |a| a.wrapping_sub(SHARED_WINDOW)),
        (true, _) => lanes!(one, |a| a.wrapping_sub(LOCAL_WINDOW)),
        (false, SHARED_WINDOW) => lanes!(one, |a| a.wrapping_add(SHARED_WINDOW)),
        (false, _) => lanes!(one, |a| a.wrapping_add(LOCAL_WINDOW)),
    };
    Ok(Kind::Lanes(run, operands(reader, ty, &[ty])?))
}

/// `isspacep`.
pub fn is_space(reader: &mut Reader) -> Result<Kind, LoadError> {
    let space = reader.require(&SPACES)?;
    let run: LaneFn = match space {
        Space::Shared => lanes!(test, |a| a.wrapping_sub(SHARED_WINDOW) < WINDOW_BYTES),
        Space::Local => lanes!(test, |a| a.wrapping_sub(LOCAL_WINDOW) < WINDOW_BYTES),
        Space::Global => lanes!(test, |a| a >= LOCAL_WINDOW + WINDOW_BYTES),
        _ => return reader.unknown(),
    };
    reader.finish(2)?;
    let from = reader.source(1, Type::B(64))?;
    let to = reader.predicate_dest(reader.operand(0)?)?;
    Ok(Kind::Lanes(run, Operands { to, from: [from, 0, 0, 0], extra: 0 }))
}
