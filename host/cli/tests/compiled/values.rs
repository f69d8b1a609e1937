//! Random inputs, and results compared as their types allow.

use fusebox_core::hlo::{ArrayLiteral, ArrayShape, ElementType, FloatFormat, Literal};

/// Integers exactly; floats to a few units in the last place of their type.
pub fn compare(found: &Literal, expected: &Literal, what: &str) {
    let (found, expected) = (found.leaves(), expected.leaves());
    assert_eq!(found.len(), expected.len(), "{what}");
    for (leaf, (found, expected)) in found.iter().zip(expected).enumerate() {
        let (found, expected) = (found.as_array().unwrap(), expected.as_array().unwrap());
        assert_eq!(found.shape(), expected.shape(), "{what}");
        let scalar = found.element_type.real_part();
        let pairs = found.data.chunks(scalar.byte_size()).zip(expected.data.chunks(scalar.byte_size()));
        for (index, (a, b)) in pairs.enumerate() {
            assert!(is_close(scalar, a, b), "{what}\nleaf {leaf} element {index}: {a:?} instead of {b:?}");
        }
    }
}

fn is_close(element_type: ElementType, found: &[u8], expected: &[u8]) -> bool {
    if found == expected {
        return true;
    }
    let Some(format) = FloatFormat::of(element_type) else { return false };
    let value = |bytes: &[u8]| {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        format.decode(u64::from_le_bytes(wide))
    };
    let (found, expected) = (value(found), value(expected));
    let tolerance = match element_type {
        ElementType::F64 => 1e-13,
        ElementType::F32 => 4e-6,
        ElementType::F16 => 2e-3,
        _ => 2e-2,
    };
    (found.is_nan() && expected.is_nan()) || (found - expected).abs() <= tolerance * (1.0 + expected.abs())
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An array of what [`element`](Self::element) gives.
    pub fn array(&mut self, shape: &ArrayShape) -> ArrayLiteral {
        let scalar = shape.element_type.real_part();
        let count = shape.byte_size() as usize / scalar.byte_size();
        let data: Vec<u8> = (0..count).flat_map(|_| self.element(scalar)).collect();
        ArrayLiteral::new(shape.element_type, shape.dims.clone(), data).unwrap()
    }

    /// Floats between -4 and 4 in steps of 1/8, integers of their whole range or small by chance.
    fn element(&mut self, element_type: ElementType) -> Vec<u8> {
        let bits = match FloatFormat::of(element_type) {
            Some(format) => format.encode((self.next() % 64) as f64 / 8.0 - 4.0),
            None if element_type == ElementType::Pred => self.next() & 1,
            None if self.next() & 1 == 0 => self.next() % 8,
            None => self.next(),
        };
        bits.to_le_bytes()[..element_type.byte_size()].to_vec()
    }
}
