//! Numbers of element types.

use std::sync::LazyLock;

use fusebox_core::hlo::ElementType;

use crate::error::{Answer, Error};

/// Names of the element types in HLO, by their numbers in the interface.
const NAMES: [&str; 34] = [
    "",
    "pred",
    "s8",
    "s16",
    "s32",
    "s64",
    "u8",
    "u16",
    "u32",
    "u64",
    "f16",
    "f32",
    "f64",
    "bf16",
    "c64",
    "c128",
    "f8e5m2",
    "f8e4m3fn",
    "f8e4m3b11fnuz",
    "f8e5m2fnuz",
    "f8e4m3fnuz",
    "s4",
    "u4",
    "token",
    "s2",
    "u2",
    "f8e4m3",
    "f8e3m4",
    "f8e8m0fnu",
    "f4e2m1fn",
    "s1",
    "u1",
    "f6e2m3fn",
    "f6e3m2fn",
];

/// The element types, indexed by their numbers in the interface. The entry is `None` if the number
/// belongs to another type.
static ELEMENTS: LazyLock<[Option<ElementType>; NAMES.len()]> = LazyLock::new(|| NAMES.map(|name| name.parse().ok()));

/// The number that identifies a type in the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct BufferType(pub i32);

impl BufferType {
    /// A token, which has no elements.
    pub const TOKEN: BufferType = BufferType(23);
    /// Booleans. JAX passes a new token as an array of booleans that has no elements.
    pub const BOOLEANS: BufferType = BufferType(1);

    /// Returns the type of the elements.
    pub fn element(self) -> Answer<ElementType> {
        let element = usize::try_from(self.0).ok().and_then(|number| ELEMENTS.get(number).copied()?);
        element.ok_or_else(|| Error::invalid(format!("fusebox has no element type with the number {}", self.0)))
    }

    /// Returns the number that identifies an element type in the interface.
    pub fn of(element: ElementType) -> BufferType {
        let number = NAMES.iter().position(|&name| name == element.name());
        BufferType(number.map_or(0, |number| number as i32))
    }
}

/// Whether the elements of a type are integers of less than 8 bits, each of which occupies a byte.
pub fn is_narrow(element: ElementType) -> bool {
    element.is_integer() && element.bits() < 8
}

/// Extends each integer that is narrower than a byte to its whole byte. Does not change elements of
/// other types.
pub fn extend(element: ElementType, bytes: &mut [u8]) {
    if !is_narrow(element) {
        return;
    }
    let unused = 8 - element.bits();
    let is_signed = element.is_signed_integer();
    for byte in bytes {
        *byte = if is_signed { ((*byte << unused) as i8 >> unused) as u8 } else { *byte << unused >> unused };
    }
}

#[cfg(test)]
mod tests {
    use fusebox_core::hlo::ElementType;

    use super::BufferType;

    #[test]
    fn every_element_type_has_a_number() {
        for &element in ElementType::ALL {
            assert_eq!(BufferType::of(element).element(), Ok(element));
        }
        assert_eq!((BufferType(11).element(), BufferType(13).element()), (Ok(ElementType::F32), Ok(ElementType::BF16)));
        assert!(BufferType::TOKEN.element().is_err() && BufferType(-1).element().is_err());
    }
}
