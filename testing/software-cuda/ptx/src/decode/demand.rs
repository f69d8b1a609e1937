//! Finds the bits of each register that have an effect: on an address, a branch, a result or a
//! stored byte. A load may read bytes that were never written, if none of their bits has an effect.

use super::names::{Meaning, Names, Slot};
use crate::code::Access;
use crate::numbers::integer::mask;
use crate::text::{Instruction, Operand, Type};

/// Bits of a register that an instruction copies to another register, or uses itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    from: u32,
    /// The register that receives the bits, or `None` if the instruction itself uses them.
    to: Option<u32>,
    /// Mask of the passed bits in the source register.
    bits: u64,
    /// Number of places by which the instruction shifts the bits to the left. A negative number
    /// stands for a shift to the right.
    up: i32,
    /// Bits of the result that are copies of the highest passed bit.
    copies: u64,
}

/// A register and the number of its bits.
type Sized = (u32, u32);

fn register(names: &Names, operand: &Operand) -> Option<Sized> {
    let Operand::Name(name) = operand else { return None };
    match names.find(name)? {
        Meaning::Slot(Slot::Register(register), ty) => Some((register, ty.bits())),
        _ => None,
    }
}

/// Returns the bits that an instruction passes on. Returns `None` if all bits of its operands may
/// change its results.
pub fn passed(instruction: &Instruction, names: &Names) -> Option<Vec<Passed>> {
    let Instruction { mnemonic, modifiers, operands, .. } = instruction;
    let types: Vec<Type> = modifiers.iter().filter_map(|name| Type::named(name)).collect();
    let reader = Bits { names, operands };
    match (*mnemonic, &types[..]) {
        ("mov", [ty]) => reader.moved(ty.bits()),
        ("not", [ty]) => reader.bitwise(&[1], mask(ty.bits())),
        ("and", [ty]) => reader.with_mask(ty.bits(), |number| number),
        ("or", [ty]) => reader.with_mask(ty.bits(), |number| !number),
        ("xor", [ty]) => reader.bitwise(&[1, 2], mask(ty.bits())),
        ("selp", [ty]) => reader.bitwise(&[1, 2], mask(ty.bits())),
        ("lop3", [_]) if modifiers.len() == 1 => reader.bitwise(&[1, 2, 3], mask(32)),
        ("shl", [ty]) => reader.shifted(ty.bits(), true, false),
        ("shr", [ty]) => reader.shifted(ty.bits(), false, matches!(ty, Type::S(_))),
        ("cvt", [to, from]) if modifiers.len() == 2 => reader.converted(*to, *from),
        ("prmt", [_]) if modifiers.len() == 1 => reader.permuted(),
        ("st", [ty]) => reader.stored(ty.bits()),
        _ => None,
    }
}

/// The operands of an instruction.
struct Bits<'i, 't> {
    names: &'i Names<'t>,
    operands: &'i [Operand<'t>],
}

impl<'t> Bits<'_, 't> {
    fn register(&self, number: usize) -> Option<Sized> {
        register(self.names, self.operands.get(number)?)
    }

    fn number(&self, number: usize) -> Option<u64> {
        match self.operands.get(number)? {
            Operand::Integer(value) => Some(*value as u64),
            _ => None,
        }
    }

    /// Returns the bits that an instruction passes on from the operands `sources` without a shift.
    fn bitwise(&self, sources: &[usize], bits: u64) -> Option<Vec<Passed>> {
        let (to, _) = self.register(0)?;
        let registers = sources.iter().filter_map(|number| self.register(*number));
        Some(registers.map(|(from, _)| Passed { from, to: Some(to), bits, up: 0, copies: 0 }).collect())
    }

    /// Returns the bits that `and` or `or` passes on. If one operand is a number, it hides bits of
    /// the other operand.
    fn with_mask(&self, size: u32, kept: impl Fn(u64) -> u64) -> Option<Vec<Passed>> {
        let number = self.number(1).or_else(|| self.number(2));
        self.bitwise(&[1, 2], number.map_or(u64::MAX, kept) & mask(size))
    }

    /// Returns the bits that `mov` passes on. A `mov` may also pack several registers into one
    /// register, or unpack a register.
    fn moved(&self, size: u32) -> Option<Vec<Passed>> {
        let part = |parts: &[Operand<'t>]| size / parts.len().max(1) as u32;
        match (self.operands.first()?, self.operands.get(1)?) {
            (Operand::Vector(to), from) => {
                let (width, (from, _)) = (part(to), register(self.names, from)?);
                let piece = |(number, to): (u32, &Operand)| {
                    let (to, _) = register(self.names, to)?;
                    let first = number * width;
                    Some(Passed { from, to: Some(to), bits: mask(width) << first, up: -(first as i32), copies: 0 })
                };
                Some((0..).zip(to).filter_map(piece).collect())
            }
            (to, Operand::Vector(from)) => {
                let (width, (to, _)) = (part(from), register(self.names, to)?);
                let piece = |(number, from): (u32, &Operand)| {
                    let (from, _) = register(self.names, from)?;
                    Some(Passed { from, to: Some(to), bits: mask(width), up: (number * width) as i32, copies: 0 })
                };
                Some((0..).zip(from).filter_map(piece).collect())
            }
            _ => self.bitwise(&[1], mask(size)),
        }
    }

    fn shifted(&self, size: u32, goes_up: bool, is_signed: bool) -> Option<Vec<Passed>> {
        let ((to, _), (from, _)) = (self.register(0)?, self.register(1)?);
        // A number of places that is not in the text comes from a register, which decides all.
        let places = u32::try_from(self.number(2)?).ok()?.min(size);
        let (kept, up) =
            if goes_up { (mask(size - places), places as i32) } else { (mask(size) & !mask(places), -(places as i32)) };
        let sign = 1u64 << (size - 1);
        let copies = if is_signed { mask(size) & !mask(size).checked_shr(places).unwrap_or(0) } else { 0 };
        let bits = if is_signed { kept | sign } else { kept };
        Some(vec![Passed { from, to: Some(to), bits, up, copies }])
    }

    /// Returns the bits that a conversion between integers passes on.
    fn converted(&self, to_type: Type, from_type: Type) -> Option<Vec<Passed>> {
        let is_integer = |ty| matches!(ty, Type::U(_) | Type::S(_) | Type::B(_));
        let ((to, width), (from, _)) = (self.register(0)?, self.register(1)?);
        if !is_integer(to_type) || !is_integer(from_type) {
            return None;
        }
        let bits = mask(from_type.bits().min(to_type.bits()));
        let extends = from_type.bits() < width && matches!(from_type, Type::S(_));
        let copies = if extends { mask(width) & !mask(from_type.bits()) } else { 0 };
        Some(vec![Passed { from, to: Some(to), bits, up: 0, copies }])
    }

    /// Returns the bits that `prmt` passes on, if a number selects the bytes.
    fn permuted(&self) -> Option<Vec<Passed>> {
        let (to, _) = self.register(0)?;
        let selector = self.number(3)?;
        let mut all = Vec::with_capacity(4);
        for byte in 0..4 {
            let choice = (selector >> (4 * byte) & 0xf) as u32;
            let (source, place) = if choice & 7 < 4 { (1, choice & 3) } else { (2, choice & 3) };
            let Some((from, _)) = self.register(source) else { continue };
            let bits = 0xff << (8 * place);
            // The highest bit of the selection asks for copies of the sign.
            let (bits, copies) = if choice & 8 == 0 { (bits, 0) } else { (bits & 0x8080_8080, 0xff << (8 * byte)) };
            all.push(Passed { from, to: Some(to), bits, up: 8 * (byte - place as i32), copies });
        }
        Some(all)
    }

    /// Returns the bits that `st` uses: all bits of the address, and the low bits of the stored
    /// registers.
    fn stored(&self, size: u32) -> Option<Vec<Passed>> {
        let used = |from, bits| Passed { from, to: None, bits, up: 0, copies: 0 };
        let Operand::Address(base, _) = self.operands.first()? else { return None };
        let values = match self.operands.get(1)? {
            Operand::Vector(all) => &all[..],
            single => std::slice::from_ref(single),
        };
        let base = register(self.names, base).map(|(register, _)| used(register, u64::MAX));
        let values = values.iter().filter_map(|value| register(self.names, value));
        Some(base.into_iter().chain(values.map(|(register, _)| used(register, mask(size)))).collect())
    }
}

impl Passed {
    /// Returns the bits of the source that have an effect. `result` states which bits of the result
    /// have an effect.
    fn demand(&self, result: u64) -> u64 {
        let places = self.up.unsigned_abs();
        let moved = if self.up >= 0 { result.checked_shr(places) } else { result.checked_shl(places) }.unwrap_or(0);
        let highest = self.bits & !(self.bits >> 1);
        let copied = if result & self.copies == 0 { 0 } else { highest };
        self.bits & (moved | copied)
    }
}

/// An instruction of the kernel: the registers that it reads, and the bits that it passes on.
pub struct Reading<'d> {
    pub reads: &'d [Slot],
    pub passed: &'d Option<Vec<Passed>>,
}

/// Returns for each register the bits that have an effect.
pub fn deciding(code: &[Reading], registers: usize) -> Vec<u64> {
    let mut all = vec![0u64; registers];
    let mut changes = true;
    while changes {
        changes = false;
        let mut add = |all: &mut Vec<u64>, register: u32, bits: u64| {
            let known = &mut all[register as usize];
            changes |= bits & !*known != 0;
            *known |= bits;
        };
        for Reading { reads, passed } in code.iter().rev() {
            match passed {
                None => reads.iter().for_each(|slot| {
                    if let Slot::Register(register) = slot {
                        add(&mut all, *register, u64::MAX);
                    }
                }),
                Some(passed) => {
                    for piece in passed {
                        let bits = piece.to.map_or(piece.bits, |to| piece.demand(all[to as usize]));
                        add(&mut all, piece.from, bits);
                    }
                }
            }
        }
    }
    all
}

/// Returns a mask that states which bytes of a load have an effect. Returns `None` if all bytes or
/// no bytes have an effect.
pub fn deciding_bytes(access: &Access, deciding: &[u64]) -> Option<u64> {
    let bytes = access.bytes;
    let of_element = |element: &Option<u32>| {
        let bits = element.map_or(0, |register| deciding[register as usize]);
        let own = (0..bytes).filter(|byte| bits >> (8 * byte) & 0xff != 0).fold(0u64, |all, byte| all | 1 << byte);
        let is_extended = access.signed_bits.is_some() && 8 * bytes < 64 && bits >> (8 * bytes) != 0;
        if is_extended { own | 1 << (bytes - 1) } else { own }
    };
    let used =
        (0..).zip(&*access.elements).fold(0, |all, (number, element)| all | of_element(element) << (number * bytes));
    let is_partial = used != 0 && used != mask(bytes * access.elements.len() as u32);
    is_partial.then_some(used)
}
