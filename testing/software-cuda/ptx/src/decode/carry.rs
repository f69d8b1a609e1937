//! Sums of integers wider than a register. The carry is a hidden predicate of each thread.

use super::reader::Reader;
use crate::code::{Kind, LANES, LaneFn, Operands, Registers, each_lane};
use crate::error::LoadError;
use crate::numbers::integer::{mask as ones, mul_high};
use crate::text::Type;

/// Flags in the upper bits of `extra`. The lower bits contain the number of the carry's predicate.
const READS: u32 = 1 << 31;
const WRITES: u32 = 1 << 30;
const WIDE: u32 = 1 << 29;
const PREDICATE: u32 = WIDE - 1;

/// Whether an instruction reads or writes the carry.
pub fn is_carried(mnemonic: &str, modifiers: &[&str]) -> bool {
    matches!(mnemonic, "addc" | "subc" | "madc") || modifiers.contains(&"cc")
}

/// `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc` and `madc`.
pub fn sum(reader: &mut Reader) -> Result<Kind, LoadError> {
    let mnemonic = reader.instruction.mnemonic;
    let reads = mnemonic.ends_with('c');
    let parts: [(&str, LaneFn); 2] = [("lo", add::<0>), ("hi", add::<1>)];
    let run: LaneFn = match mnemonic {
        "add" | "addc" => add::<2>,
        "sub" | "subc" => add::<3>,
        _ => reader.require(&parts)?,
    };
    let writes = reader.take("cc");
    let ty = reader.ty()?;
    if !matches!(ty, Type::U(32 | 64) | Type::S(32 | 64)) {
        return reader.unknown();
    }
    let is_product = mnemonic.starts_with("mad");
    let sources = if is_product { 3 } else { 2 };
    if is_product && matches!(ty, Type::S(_)) {
        return reader.unknown();
    }
    reader.finish(1 + sources)?;
    let mut at = Operands::default();
    for (number, from) in at.from.iter_mut().take(sources).enumerate() {
        *from = reader.source(1 + number, ty)?;
    }
    let carry = reader.carry(reads, writes);
    at.to = reader.dest(0, ty)?;
    let flags = [(reads, READS), (writes, WRITES), (ty.bits() == 64, WIDE)];
    at.extra = flags.iter().filter(|(is_set, _)| *is_set).fold(carry, |all, (_, flag)| all | flag);
    Ok(Kind::Lanes(run, at))
}

/// Computes a sum with the carry. `OF` selects the sum: 0 adds a number to the low half of a
/// product, 1 adds a number to the high half of a product, 2 adds two numbers, and 3 subtracts two
/// numbers.
fn add<const OF: u32>(registers: &mut Registers, at: &Operands, mask: u32) {
    let [a, b, c, _] = at.from.map(|from| *registers.get(from));
    let bits = if at.extra & WIDE == 0 { 32 } else { 64 };
    let predicate = at.extra & PREDICATE;
    let before = if at.extra & READS == 0 { 0 } else { registers.predicate(predicate) };
    let (mut results, mut carries) = ([0; LANES], 0);
    each_lane(mask, |lane| {
        let (a, b, carry) = (a[lane], b[lane], i128::from(before >> lane & 1));
        let product = |low: u64, high: u64| i128::from(if OF == 0 { low } else { high }) + i128::from(c[lane]);
        let exact = match (OF, bits) {
            (2, _) => i128::from(a) + i128::from(b) + carry,
            (3, _) => i128::from(a) - i128::from(b) - carry,
            (_, 32) => product(a.wrapping_mul(b) & ones(32), mul_high::<32, false>(a, b)) + carry,
            _ => product(a.wrapping_mul(b), mul_high::<64, false>(a, b)) + carry,
        };
        results[lane] = exact as u64 & ones(bits);
        carries |= u32::from(exact < 0 || exact >> bits != 0) << lane;
    });
    registers.set(at.to, mask, |lane| results[lane]);
    if at.extra & WRITES != 0 {
        registers.set_predicate(predicate, mask, carries);
    }
}
