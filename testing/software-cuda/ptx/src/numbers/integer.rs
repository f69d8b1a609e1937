//! Integers of 16, 32 and 64 bits in registers of 64 bits, with zeros above. `B` is the number of
//! bits and `S` states whether the type is signed.

/// Returns a number with ones in the lowest bits.
#[inline(always)]
pub const fn mask(bits: u32) -> u64 {
    if bits == 0 { 0 } else { u64::MAX >> (64 - bits) }
}

/// Returns the ranges of adjacent ones in a mask.
pub fn runs(mut mask: u64) -> impl Iterator<Item = std::ops::Range<usize>> {
    std::iter::from_fn(move || {
        let start = mask.trailing_zeros();
        let length = mask.checked_shr(start)?.trailing_ones();
        mask &= u64::MAX.checked_shl(start + length).unwrap_or(0);
        Some(start as usize..(start + length) as usize)
    })
}

/// Returns the value of the lowest bits as a signed number.
#[inline(always)]
pub const fn signed(value: u64, bits: u32) -> i64 {
    ((value << (64 - bits)) as i64) >> (64 - bits)
}

/// Extends the lowest bits by the sign or by zeros.
#[inline(always)]
pub const fn extend(value: u64, bits: u32, is_signed: bool) -> u64 {
    if is_signed { signed(value, bits) as u64 } else { value & mask(bits) }
}

#[inline(always)]
pub fn add<const B: u32>(a: u64, b: u64) -> u64 {
    a.wrapping_add(b) & mask(B)
}

#[inline(always)]
pub fn sub<const B: u32>(a: u64, b: u64) -> u64 {
    a.wrapping_sub(b) & mask(B)
}

/// Adds signed numbers and clamps the sum.
pub fn add_saturated(a: u64, b: u64) -> u64 {
    u64::from((a as i32).saturating_add(b as i32) as u32)
}

/// Subtracts signed numbers and clamps the difference.
pub fn sub_saturated(a: u64, b: u64) -> u64 {
    u64::from((a as i32).saturating_sub(b as i32) as u32)
}

#[inline(always)]
pub fn mul<const B: u32>(a: u64, b: u64) -> u64 {
    a.wrapping_mul(b) & mask(B)
}

/// Returns the upper half of a product.
#[inline(always)]
pub fn mul_high<const B: u32, const S: bool>(a: u64, b: u64) -> u64 {
    let product = if S {
        (i128::from(signed(a, B)) * i128::from(signed(b, B))) >> B
    } else {
        ((u128::from(a) * u128::from(b)) >> B) as i128
    };
    product as u64 & mask(B)
}

/// Returns a product with twice the bits of the factors.
#[inline(always)]
pub fn mul_wide<const B: u32, const S: bool>(a: u64, b: u64) -> u64 {
    extend(a, B, S).wrapping_mul(extend(b, B, S)) & mask(2 * B)
}

/// Returns the low 32 bits of the product of the low 24 bits.
pub fn mul_24<const S: bool>(a: u64, b: u64) -> u64 {
    extend(a, 24, S).wrapping_mul(extend(b, 24, S)) & mask(32)
}

/// Returns a quotient. Callers check that the divisor is not zero.
pub fn div<const B: u32, const S: bool>(a: u64, b: u64) -> u64 {
    if S {
        signed(a, B).checked_div(signed(b, B)).map_or(a, |quotient| quotient as u64) & mask(B)
    } else {
        a.checked_div(b).unwrap_or(mask(B))
    }
}

/// Returns a remainder. Callers check that the divisor is not zero.
pub fn rem<const B: u32, const S: bool>(a: u64, b: u64) -> u64 {
    if S {
        signed(a, B).checked_rem(signed(b, B)).map_or(0, |rest| rest as u64) & mask(B)
    } else {
        a.checked_rem(b).unwrap_or(a)
    }
}

/// Whether `a` is less than `b`.
#[inline(always)]
pub fn less<const B: u32, const S: bool>(a: u64, b: u64) -> bool {
    if S { signed(a, B) < signed(b, B) } else { a < b }
}

#[inline(always)]
pub fn min<const B: u32, const S: bool>(a: u64, b: u64) -> u64 {
    if less::<B, S>(b, a) { b } else { a }
}

#[inline(always)]
pub fn max<const B: u32, const S: bool>(a: u64, b: u64) -> u64 {
    if less::<B, S>(a, b) { b } else { a }
}

#[inline(always)]
pub fn abs<const B: u32>(a: u64) -> u64 {
    signed(a, B).unsigned_abs() & mask(B)
}

#[inline(always)]
pub fn neg<const B: u32>(a: u64) -> u64 {
    a.wrapping_neg() & mask(B)
}

#[inline(always)]
pub fn not<const B: u32>(a: u64) -> u64 {
    !a & mask(B)
}

/// Shifts to the left; amounts beyond the width give zero.
#[inline(always)]
pub fn shl<const B: u32>(a: u64, amount: u64) -> u64 {
    if amount >= u64::from(B) { 0 } else { a << amount & mask(B) }
}

/// Shifts to the right; amounts beyond the width count as the width.
#[inline(always)]
pub fn shr<const B: u32, const S: bool>(a: u64, amount: u64) -> u64 {
    if S {
        (signed(a, B) >> amount.min(u64::from(B - 1))) as u64 & mask(B)
    } else if amount >= u64::from(B) {
        0
    } else {
        a >> amount
    }
}

/// Returns the sum of `c` and the absolute difference of `a` and `b`.
pub fn sad<const B: u32, const S: bool>(a: u64, b: u64, c: u64) -> u64 {
    let (low, high) = (min::<B, S>(a, b), max::<B, S>(a, b));
    c.wrapping_add(high.wrapping_sub(low)) & mask(B)
}

/// Returns the number of leading zeros.
pub fn clz<const B: u32>(a: u64) -> u64 {
    u64::from(a.leading_zeros() - (64 - B))
}

/// Returns the position of the highest bit that differs from the sign. With `SHIFT`, returns the
/// number of places by which a shift moves this bit to the top. Returns 32 ones if there is no such
/// bit.
pub fn bfind<const B: u32, const S: bool, const SHIFT: bool>(a: u64) -> u64 {
    let magnitude = if S && signed(a, B) < 0 { !a & mask(B) } else { a };
    if magnitude == 0 {
        return mask(32);
    }
    let position = 63 - magnitude.leading_zeros();
    u64::from(if SHIFT { B - 1 - position } else { position })
}

pub fn reverse<const B: u32>(a: u64) -> u64 {
    a.reverse_bits() >> (64 - B)
}

/// Returns `length` bits of `a` from a position, extended by zeros or by the field's sign.
pub fn bfe<const B: u32, const S: bool>(a: u64, position: u64, length: u64) -> u64 {
    let (position, length) = ((position & 0xff) as u32, (length & 0xff) as u32);
    let last = (position + length.max(1) - 1).min(B - 1);
    let sign = if S && length > 0 && a >> last & 1 == 1 { mask(B) } else { 0 };
    let field = if position >= B { 0 } else { a >> position };
    let available = length.min(B.saturating_sub(position)).min(B);
    field & mask(available) | sign & !mask(available) & mask(B)
}

/// Replaces `length` bits of `b`, from a position on, by the lowest bits of `a`.
pub fn bfi<const B: u32>(a: u64, b: u64, position: u64, length: u64) -> u64 {
    let (position, length) = ((position & 0xff) as u32, (length & 0xff) as u32);
    if position >= B || length == 0 {
        return b;
    }
    let field = mask(length.min(B - position)) << position;
    b & !field | a << position & field
}

/// Returns a mask of `length` ones from a position on.
pub fn bmsk<const CLAMP: bool>(position: u64, length: u64) -> u64 {
    let (position, length) = if CLAMP { (position, length) } else { (position & 31, length & 31) };
    if position >= 32 { 0 } else { mask(length.min(32) as u32) << position & mask(32) }
}

/// Extends the lowest `bits` bits of `a` by the sign or by zeros.
pub fn szext<const S: bool, const CLAMP: bool>(a: u64, bits: u64) -> u64 {
    let bits = if CLAMP { bits.min(32) as u32 } else { (bits & 31) as u32 };
    match bits {
        0 => 0,
        32.. => a,
        _ => extend(a, bits, S) & mask(32),
    }
}

/// Shifts a number of 64 bits, with `b` as upper and `a` as lower half, to the left. Returns the
/// upper half of the result.
pub fn shift_left<const CLAMP: bool>(a: u64, b: u64, amount: u64) -> u64 {
    let amount = if CLAMP { amount.min(32) } else { amount & 31 };
    ((b << 32 | a) << amount) >> 32
}

/// Shifts a number of 64 bits, with `b` as upper and `a` as lower half, to the right. Returns the
/// lower half of the result.
pub fn shift_right<const CLAMP: bool>(a: u64, b: u64, amount: u64) -> u64 {
    let amount = if CLAMP { amount.min(32) } else { amount & 31 };
    (b << 32 | a) >> amount & mask(32)
}

/// Chooses four of the eight bytes of `b` and `a` by the four nibbles of `selector`. If the highest
/// bit of a nibble is set, fills the byte of the result with the sign of the chosen byte.
pub fn permute(a: u64, b: u64, selector: u64) -> u64 {
    let all = b << 32 | a;
    (0..4).fold(0, |result, place| {
        let nibble = selector >> (4 * place) & 15;
        let byte = all >> (8 * (nibble & 7)) & 0xff;
        let byte = if nibble & 8 == 0 { byte } else { signed(byte, 8) as u64 >> 7 & 0xff };
        result | byte << (8 * place)
    })
}

/// Chooses four of the eight bytes of `b` and `a` by a pattern. The lowest two bits of `selector`
/// are the pattern's argument.
pub fn permute_by(a: u64, b: u64, selector: u64, pattern: fn(u64, u64) -> u64) -> u64 {
    let places = (0..4).fold(0, |all, place| all | pattern(selector & 3, place) << (4 * place));
    permute(a, b, places)
}

/// Applies a truth table to each bit of three numbers.
#[inline(always)]
pub fn lookup(a: u64, b: u64, c: u64, table: u32) -> u64 {
    (0..8).filter(|row| table >> row & 1 == 1).fold(0, |result, row| {
        let [a, b, c] = [(a, 4), (b, 2), (c, 1)].map(|(value, bit)| if row & bit == 0 { !value } else { value });
        result | a & b & c
    }) & mask(32)
}

/// Adds to `c` the products of the bytes of `a` and `b`.
pub fn dot_bytes<const SA: bool, const SB: bool>(a: u64, b: u64, c: u64) -> u64 {
    let byte = |value: u64, place: u32, is_signed| extend(value >> (8 * place) & 0xff, 8, is_signed);
    let products = (0..4).map(|place| byte(a, place, SA).wrapping_mul(byte(b, place, SB)));
    products.fold(c, u64::wrapping_add) & mask(32)
}

/// Adds to `c` the products of the two halves of `a` with two bytes of `b`.
pub fn dot_halves<const SA: bool, const SB: bool, const HIGH: bool>(a: u64, b: u64, c: u64) -> u64 {
    let first = if HIGH { 16 } else { 0 };
    let product = |place: u32| {
        let half = extend(a >> (16 * place) & 0xffff, 16, SA);
        half.wrapping_mul(extend(b >> (first + 8 * place) & 0xff, 8, SB))
    };
    c.wrapping_add(product(0)).wrapping_add(product(1)) & mask(32)
}
