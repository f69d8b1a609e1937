//! Combines arrays element by element.

use fusebox_core::hlo::{BinaryOp, ElementType, FloatFormat};

/// A function that combines the elements of two arrays, and writes the results to the first array.
pub type Combine = fn(BinaryOp, ElementType, &mut [u8], &[u8]);

/// Returns the function that combines two arrays by the operation `op`. Both arrays have the
/// element type `element`. Returns `None` if the operation is not defined for the element type.
pub fn combine(op: BinaryOp, element: ElementType) -> Option<Combine> {
    use BinaryOp::{Add, And, Maximum, Minimum, Multiply, Or, Xor};
    let is_bitwise = matches!(op, And | Or | Xor);
    let is_known = is_bitwise || matches!(op, Add | Multiply | Maximum | Minimum);
    match element {
        _ if !is_known => None,
        ElementType::F32 if !is_bitwise => Some(|op, _, to, from| {
            each(to, from, |a, b| {
                (floats(op, f32::from_le_bytes(a).into(), f32::from_le_bytes(b).into()) as f32).to_le_bytes()
            });
        }),
        ElementType::F64 if !is_bitwise => Some(|op, _, to, from| {
            each(to, from, |a, b| floats(op, f64::from_le_bytes(a), f64::from_le_bytes(b)).to_le_bytes());
        }),
        ElementType::C64 | ElementType::C128 if matches!(op, Add | Multiply) => Some(complex),
        _ if element.is_integer_or_pred() && !element.is_integer() => {
            Some(|op, _, to, from| each(to, from, |[a], [b]| [pred(op, a != 0, b != 0).into()]))
        }
        _ if element.is_integer() => Some(integers),
        _ if element.float_format().is_some() && !is_bitwise => Some(narrow),
        _ => None,
    }
}

fn each<const N: usize>(to: &mut [u8], from: &[u8], f: impl Fn([u8; N], [u8; N]) -> [u8; N]) {
    for (to, from) in to.as_chunks_mut::<N>().0.iter_mut().zip(from.as_chunks::<N>().0) {
        *to = f(*to, *from);
    }
}

/// Combines two numbers in `f64`. In `f64`, the sum or product of two `f32` numbers is exact or
/// rounded only once, so rounding it to `f32` gives the result of arithmetic in `f32`.
fn floats(op: BinaryOp, a: f64, b: f64) -> f64 {
    match op {
        BinaryOp::Add => a + b,
        BinaryOp::Multiply => a * b,
        _ if a.is_nan() => a,
        _ if b.is_nan() => b,
        BinaryOp::Maximum if a == b => {
            if a.is_sign_negative() {
                b
            } else {
                a
            }
        }
        BinaryOp::Maximum => a.max(b),
        _ if a == b => {
            if a.is_sign_negative() {
                a
            } else {
                b
            }
        }
        _ => a.min(b),
    }
}

fn pred(op: BinaryOp, a: bool, b: bool) -> bool {
    match op {
        BinaryOp::And | BinaryOp::Multiply | BinaryOp::Minimum => a & b,
        BinaryOp::Xor => a ^ b,
        _ => a | b,
    }
}

fn narrow(op: BinaryOp, element: ElementType, to: &mut [u8], from: &[u8]) {
    let Some(format) = element.float_format() else { return };
    let combined = |format: FloatFormat, a: u64, b: u64| format.encode(floats(op, format.decode(a), format.decode(b)));
    match element.byte_size() {
        1 => each(to, from, |[a], [b]| [combined(format, a.into(), b.into()) as u8]),
        _ => each(to, from, |a, b| {
            let (a, b) = (u16::from_le_bytes(a), u16::from_le_bytes(b));
            (combined(format, a.into(), b.into()) as u16).to_le_bytes()
        }),
    }
}

fn complex(op: BinaryOp, element: ElementType, to: &mut [u8], from: &[u8]) {
    let product = |[a, b]: [f64; 2], [c, d]: [f64; 2]| match op {
        BinaryOp::Add => [a + c, b + d],
        _ => [a * c - b * d, a * d + b * c],
    };
    if element == ElementType::C128 {
        each::<16>(to, from, |a, b| {
            let part = |bytes: [u8; 16]| [0, 8].map(|at| f64::from_le_bytes(std::array::from_fn(|i| bytes[at + i])));
            let [re, im] = product(part(a), part(b)).map(f64::to_le_bytes);
            std::array::from_fn(|i| if i < 8 { re[i] } else { im[i - 8] })
        });
    } else {
        each::<8>(to, from, |a, b| {
            let part =
                |bytes: [u8; 8]| [0, 4].map(|at| f32::from_le_bytes(std::array::from_fn(|i| bytes[at + i])).into());
            let [re, im] = product(part(a), part(b)).map(|part| (part as f32).to_le_bytes());
            std::array::from_fn(|i| if i < 4 { re[i] } else { im[i - 4] })
        });
    }
}

/// Integers narrower than a byte occupy a byte.
fn integers(op: BinaryOp, element: ElementType, to: &mut [u8], from: &[u8]) {
    let (bits, is_signed) = (element.bits(), element.is_signed_integer());
    let result = |a: u64, b: u64| integer(op, (a, b), bits, is_signed);
    match element.byte_size() {
        1 => each(to, from, |[a], [b]| [result(a.into(), b.into()) as u8]),
        2 => each(to, from, |a, b| {
            (result(u16::from_le_bytes(a).into(), u16::from_le_bytes(b).into()) as u16).to_le_bytes()
        }),
        4 => each(to, from, |a, b| {
            (result(u32::from_le_bytes(a).into(), u32::from_le_bytes(b).into()) as u32).to_le_bytes()
        }),
        _ => each(to, from, |a, b| result(u64::from_le_bytes(a), u64::from_le_bytes(b)).to_le_bytes()),
    }
}

fn integer(op: BinaryOp, (a, b): (u64, u64), bits: u32, is_signed: bool) -> u64 {
    let unused = 64 - bits;
    let extended = |value: u64| {
        let high = value << unused;
        if is_signed { ((high as i64) >> unused) as u64 } else { high >> unused }
    };
    let (a, b) = (extended(a), extended(b));
    let is_less = if is_signed { (a as i64) < b as i64 } else { a < b };
    extended(match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Multiply => a.wrapping_mul(b),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Minimum => {
            if is_less {
                a
            } else {
                b
            }
        }
        _ => {
            if is_less {
                b
            } else {
                a
            }
        }
    })
}
