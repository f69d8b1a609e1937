//! Neighbours of floats.

use fusebox_core::hlo::{Comparison, ElementType, Specials};

use super::value::Value;

/// Whether a float type has this property: without the sign bit, the bits of a float are an integer
/// that increases with the float's magnitude, from zero to infinity.
pub(super) fn has_neighbours(element_type: ElementType) -> bool {
    let is_ordered = element_type.float_format().is_some_and(|format| format.specials == Specials::Ieee);
    is_ordered && integers(element_type).is_some()
}

/// Returns the signed integer type that is as wide as a type.
fn integers(element_type: ElementType) -> Option<ElementType> {
    Some(match element_type.bits() {
        8 => ElementType::S8,
        16 => ElementType::S16,
        32 => ElementType::S32,
        64 => ElementType::S64,
        _ => return None,
    })
}

/// Returns the float that follows `x` in the direction of `y`: the float whose bits differ by one
/// from those of `x`. Computes with the bits, because a device may treat subnormal floats as zero.
pub(super) fn next_after<'f>(x: Value<'f>, y: Value<'f>) -> Value<'f> {
    let Some(integers) = integers(x.element_type) else { return x };
    let nan = x.filled(f64::NAN).bits_as(integers);
    let (bits, target) = (x.bits_as(integers), y.bits_as(integers));
    let sign = bits.filled_with_integer(-1 << (x.element_type.bits() - 1));
    let is_nan = x.is(Comparison::Ne, x).or(y.is(Comparison::Ne, y));
    let magnitude = |of: Value<'f>| of.and(sign.not());
    let sign_of = |of: Value<'f>| of.and(sign);

    // A smaller magnitude is nearer to zero, and so is every number with the other sign.
    let is_smaller = magnitude(bits).is(Comparison::Gt, magnitude(target));
    let is_other_sign = sign_of(bits).is(Comparison::Ne, sign_of(target));
    let is_towards_zero = is_smaller.or(is_other_sign);
    let stepped = bits + is_towards_zero.choose(-1.0, bits.filled(1.0));

    let smallest = sign_of(target).or(1.0);
    let from_zero = magnitude(target).is(Comparison::Eq, 0.0).choose(target, smallest);
    let next = magnitude(bits).is(Comparison::Eq, 0.0).choose(from_zero, stepped);
    let next = x.is(Comparison::Eq, y).choose(target, next);
    is_nan.choose(nan, next).bits_as(x.element_type)
}
