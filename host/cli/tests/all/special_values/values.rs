//! Returns the special values of each element type, as bytes.

use fusebox_core::hlo::{ArrayLiteral, ElementType, FloatFormat};

/// Zero, numbers near the ends of the types' ranges, infinity, NaN and other numbers.
const FLOATS: [f64; 24] = [
    0.0,
    1.0,
    0.5,
    1.5,
    2.5,
    3.0,
    0.1,
    7.25,
    20.0,
    100.0,
    127.5,
    448.0,
    65504.0,
    2147483648.0,
    4294967296.0,
    9.3e18,
    1.9e19,
    1e-3,
    1e-7,
    1e30,
    3.3e38,
    1e300,
    f64::INFINITY,
    f64::NAN,
];

/// Selection of `FLOATS` for operations with two operands.
const PAIRED_FLOATS: [f64; 14] =
    [0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 0.1, 20.0, 100.0, 448.0, 65504.0, 1e-3, f64::INFINITY, f64::NAN];

/// Parts of complex numbers.
const PARTS: [f64; 10] = [0.0, 1.0, 0.5, 3.0, 30.0, 800.0, 1e-10, 1e-160, f64::INFINITY, f64::NAN];

/// Selection of `PARTS` for operations with two operands.
const PAIRED_PARTS: [f64; 4] = [0.0, 1.0, f64::INFINITY, f64::NAN];

/// Returns the values for operations with one operand.
pub fn single(ty: ElementType) -> Vec<Vec<u8>> {
    match ty {
        _ if ty.is_complex() => complex(ty, &PARTS),
        _ if ty.bits() <= 8 => (0..1u64 << ty.bits()).map(|bits| pattern(ty, bits)).collect(),
        _ if ty.is_float() => [floats(ty, &FLOATS), edges(ty)].concat(),
        _ => integers(ty),
    }
}

/// Returns the values for operations with two operands. All pairs of these values are operands.
pub fn paired(ty: ElementType) -> Vec<Vec<u8>> {
    match ty {
        _ if ty.is_complex() => complex(ty, &PAIRED_PARTS),
        _ if ty.bits() <= 4 => single(ty),
        _ if ty.is_float() => {
            let mut values = [floats(ty, &PAIRED_FLOATS), edges(ty)].concat();
            values.sort();
            values.dedup();
            values
        }
        _ => integers(ty),
    }
}

/// Returns an array with one dimension.
pub fn array(ty: ElementType, values: impl IntoIterator<Item = Vec<u8>>) -> ArrayLiteral {
    let data: Vec<u8> = values.into_iter().flatten().collect();
    let count = data.len() / ty.byte_size();
    ArrayLiteral::new(ty, vec![count as i64], data).unwrap()
}

/// Returns the array after replacing subnormal numbers by zeros of the same sign. A number is
/// replaced if it is subnormal in the type of the computation.
pub fn with_zeros_for_subnormals(array: &ArrayLiteral) -> ArrayLiteral {
    let part = array.element_type.real_part();
    let is_computed_in = matches!(part, ElementType::F64 | ElementType::F32 | ElementType::BF16);
    let Some(format) = FloatFormat::of(part).filter(|_| is_computed_in) else { return array.clone() };
    let flushed = |bytes: &[u8]| {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        let (bits, sign) = (u64::from_le_bytes(wide), format.sign_bit());
        let is_subnormal = bits & !sign < 1 << format.mantissa_bits;
        let bits = if is_subnormal { bits & sign } else { bits };
        bits.to_le_bytes()[..bytes.len()].to_vec()
    };
    let data: Vec<u8> = array.data.chunks(part.byte_size()).flat_map(flushed).collect();
    ArrayLiteral::new(array.element_type, array.dims.clone(), data).unwrap()
}

/// Returns the bytes that store a bit pattern of a type of at most 8 bits.
fn pattern(ty: ElementType, bits: u64) -> Vec<u8> {
    let unused = 64 - ty.bits();
    let extended = if ty.is_signed_integer() { (bits << unused) as i64 >> unused } else { bits as i64 };
    vec![extended as u8]
}

/// Returns the numbers and their negatives.
fn floats(ty: ElementType, numbers: &[f64]) -> Vec<Vec<u8>> {
    let format = FloatFormat::of(ty).unwrap();
    let both = numbers.iter().flat_map(|&x| [x, -x]);
    both.map(|x| format.encode(x).to_le_bytes()[..ty.byte_size()].to_vec()).collect()
}

/// Returns numbers with both signs: the smallest and the largest subnormal number, the smallest
/// normal number, the neighbours of 1, and the largest finite number.
fn edges(ty: ElementType) -> Vec<Vec<u8>> {
    let format = FloatFormat::of(ty).unwrap();
    let normal = 1u64 << format.mantissa_bits;
    let one = format.encode(1.0);
    let magnitudes = [1, normal - 1, normal, one - 1, one + 1, format.max_finite_bits()];
    let both = magnitudes.into_iter().flat_map(|bits| [bits, bits | format.sign_bit()]);
    both.map(|bits| bits.to_le_bytes()[..ty.byte_size()].to_vec()).collect()
}

fn complex(ty: ElementType, parts: &[f64]) -> Vec<Vec<u8>> {
    let parts = floats(ty.real_part(), parts);
    parts.iter().flat_map(|re| parts.iter().map(move |im| [re.clone(), im.clone()].concat())).collect()
}

fn integers(ty: ElementType) -> Vec<Vec<u8>> {
    if ty == ElementType::Pred {
        return vec![vec![0], vec![1]];
    }
    let smallest = -1i128 << (ty.bits() - 1);
    let numbers =
        [0, 1, 2, 3, 7, 8, 31, 32, 63, 64, 100, -1, -2, -3, -100, smallest, smallest + 1, -smallest - 1, -smallest - 2];
    numbers.iter().map(|&x| (x as i64).to_le_bytes()[..ty.byte_size()].to_vec()).collect()
}
