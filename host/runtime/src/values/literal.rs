//! Builds literals from the bytes that kernels and routines write.

use std::borrow::Cow;

use fusebox_core::hlo::{ArrayLiteral, ElementType, Literal, Shape};

use crate::RunError;

/// Converts elements that kernels have written to elements of literals. For integers narrower than
/// a byte, kernels leave the unused bits of the byte undefined. In literals, these integers are
/// extended to the whole byte.
pub fn canonical(ty: ElementType, bytes: &[u8]) -> Result<Cow<'_, [u8]>, RunError> {
    if !ty.is_integer() || ty.bits() >= 8 {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut extended = copy(bytes)?;
    let unused = 8 - ty.bits();
    if ty.is_signed_integer() {
        extended.iter_mut().for_each(|byte| *byte = ((*byte << unused) as i8 >> unused) as u8)
    } else {
        extended.iter_mut().for_each(|byte| *byte = *byte << unused >> unused)
    }
    Ok(Cow::Owned(extended))
}

/// Copies bytes. Fails if memory is short.
pub fn copy(bytes: &[u8]) -> Result<Vec<u8>, RunError> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len()).map_err(|_| RunError::Memory { bytes: bytes.len() as u64 })?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// Builds a literal of a shape from its array leaves, in order. Along a dynamic dimension, an array
/// may be smaller than the shape states. Fails if there are too few arrays.
pub fn assemble(shape: &Shape, leaves: &mut impl Iterator<Item = ArrayLiteral>) -> Option<Literal> {
    Some(match shape {
        Shape::Array(_) => Literal::Array(leaves.next()?),
        Shape::Tuple(elements) => {
            Literal::Tuple(elements.iter().map(|element| assemble(element, leaves)).collect::<Option<_>>()?)
        }
        Shape::Token | Shape::Opaque => Literal::Token,
    })
}
