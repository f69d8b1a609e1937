//! Compares the results of two programs. Counts the elements that differ, and finds the largest
//! difference.

use fusebox_core::hlo::{ArrayLiteral, ElementType, FloatFormat, Literal};
use serde::Serialize;

/// Number and size of the differences between two results.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Agreement {
    /// Number of elements of all arrays.
    pub elements: u64,
    /// Number of elements that differ. Two NaNs are equal, even with different bits.
    pub different: u64,
    /// The largest difference of two elements. Floats are compared in units in the last place,
    /// integers as numbers. The difference of a NaN and a number is `u64::MAX`.
    pub ulps: u64,
    /// Position of the largest difference.
    pub worst: Option<ElementPosition>,
}

/// An element of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ElementPosition {
    /// Index of the array in the result, whose tuples are flattened.
    pub array: usize,
    /// Index of the element in the array, in row-major order.
    pub element: usize,
}

impl Agreement {
    /// Compares two results, which must have the same shape.
    pub fn of(a: &Literal, b: &Literal) -> Agreement {
        let mut agreement = Agreement::default();
        let arrays = a.leaves().into_iter().zip(b.leaves()).enumerate();
        for (array, (a, b)) in arrays {
            if let (Some(a), Some(b)) = (a.as_array(), b.as_array()) {
                agreement.add(array, a, b);
            }
        }
        agreement
    }

    /// Whether no element differs.
    pub fn is_exact(&self) -> bool {
        self.different == 0
    }

    fn add(&mut self, array: usize, a: &ArrayLiteral, b: &ArrayLiteral) {
        let width = a.element_type.byte_size();
        let part = a.element_type.real_part();
        let elements = a.data.chunks_exact(width).zip(b.data.chunks_exact(width));
        self.elements += elements.len() as u64;
        for (element, (a, b)) in elements.enumerate().filter(|(_, (a, b))| a != b) {
            let parts = a.chunks_exact(part.byte_size()).zip(b.chunks_exact(part.byte_size()));
            let Some(ulps) = parts.filter_map(|(a, b)| distance(part, a, b)).max() else { continue };
            self.different += 1;
            if ulps > self.ulps || self.worst.is_none() {
                self.ulps = ulps;
                self.worst = Some(ElementPosition { array, element });
            }
        }
    }
}

/// Returns the number of representable values between two scalars; `None` if they have the same
/// bits or both are NaN.
fn distance(element_type: ElementType, a: &[u8], b: &[u8]) -> Option<u64> {
    let (a, b) = (bits(a), bits(b));
    if let Some(format) = FloatFormat::of(element_type) {
        let in_order = |bits: u64| match bits & format.sign_bit() {
            0 => bits as i64,
            sign => -((bits ^ sign) as i64),
        };
        return match (format.decode(a).is_nan(), format.decode(b).is_nan()) {
            (true, true) => None,
            (false, false) => (a != b).then(|| in_order(a).abs_diff(in_order(b))),
            _ => Some(u64::MAX),
        };
    }
    let unused = 64 - 8 * element_type.byte_size() as u32;
    let extended = |bits: u64| (bits << unused) as i64 >> unused;
    let distance = if element_type.is_signed_integer() { extended(a).abs_diff(extended(b)) } else { a.abs_diff(b) };
    (distance > 0).then_some(distance)
}

fn bits(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f32]) -> Literal {
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Literal::Array(ArrayLiteral::new(ElementType::F32, vec![values.len() as i64], data).unwrap())
    }

    #[test]
    fn differences_are_counted_in_units_in_the_last_place() {
        let next = f32::from_bits(1.0f32.to_bits() + 3);
        let agreement = Agreement::of(&floats(&[1.0, 2.0, 5.0]), &floats(&[next, 2.0, 5.0]));
        let worst = Some(ElementPosition { array: 0, element: 0 });
        assert_eq!(agreement, Agreement { elements: 3, different: 1, ulps: 3, worst });
        let across_zero = Agreement::of(&floats(&[f32::from_bits(1)]), &floats(&[-f32::from_bits(2)]));
        assert_eq!(across_zero.ulps, 3);
        let zeros = Agreement::of(&floats(&[0.0]), &floats(&[-0.0]));
        assert_eq!((zeros.different, zeros.ulps), (1, 0));
    }

    #[test]
    fn nan_equals_nan_and_nothing_else() {
        let nan = f32::from_bits(0x7fc0_0001);
        assert!(Agreement::of(&floats(&[nan]), &floats(&[f32::NAN])).is_exact());
        assert_eq!(Agreement::of(&floats(&[nan]), &floats(&[1.0])).ulps, u64::MAX);
    }

    #[test]
    fn integers_differ_by_whole_numbers() {
        let bytes = |value: i8| {
            Literal::Array(ArrayLiteral::new(ElementType::S8, vec![1], value.to_le_bytes().to_vec()).unwrap())
        };
        assert_eq!(Agreement::of(&bytes(-3), &bytes(4)).ulps, 7);
    }
}
