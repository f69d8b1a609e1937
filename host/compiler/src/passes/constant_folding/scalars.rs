//! Elementwise operations on single elements. Only operations for which all targets compute the
//! same value are folded.
//!
//! ```text
//! integers and pred    everything except powers, and division by zero
//! floats               operations that IEEE rounds correctly. Not folded: functions, operations that
//!                      involve NaN, whose bits differ between targets, and operations that involve
//!                      subnormal numbers, which only some targets flush to zero
//! all types            selects, and conversions that keep the bits
//! ```
//!
//! Floats of at most 32 bits are computed in `f64` and rounded. The rounded result equals the
//! result of the operation in `f32`, because `f64` has more than twice as many digits as `f32`.

use fusebox_core::hlo::{BinaryOp, Comparison, ComparisonType, ElementType, FloatFormat, Op, UnaryOp};

/// An element of a constant.
#[derive(Clone, Copy)]
pub struct Scalar<'a> {
    pub ty: ElementType,
    pub bytes: &'a [u8],
}

/// A number, without its type.
#[derive(Clone, Copy)]
enum Number {
    /// An integer, or 0 or 1 for a `pred`.
    Int(i128),
    /// A float that is neither NaN nor subnormal.
    Float(f64),
}

/// Returns the bytes of the result, whose type is `ty`. `None` if the operation is not folded.
pub fn apply(op: &Op, ty: ElementType, operands: &[Scalar]) -> Option<Vec<u8>> {
    match (op, operands) {
        (Op::Select, [condition, on_true, on_false]) => {
            Some(if condition.bytes.first()? != &0 { on_true } else { on_false }.bytes.to_vec())
        }
        (Op::BitcastConvert, [x]) => {
            let keeps_bits = |ty: ElementType| ty.bits() as usize == 8 * x.bytes.len();
            (keeps_bits(x.ty) && keeps_bits(ty)).then(|| x.bytes.to_vec())
        }
        // Some targets round to `f32` in between.
        (Op::Convert, [x]) if x.ty == ElementType::F64 && ty.is_float() && ty.bits() < 32 => None,
        (Op::Convert, [x]) if ty.is_complex() => {
            let mut bytes = apply(op, ty.real_part(), operands)?;
            // The imaginary part is 0.
            bytes.resize(ty.byte_size(), 0);
            (!x.ty.is_complex()).then_some(bytes)
        }
        (Op::Convert, [x]) => encoded(ty, converted(x.number()?, ty)?),
        (Op::Unary(UnaryOp::IsFinite), [x]) => encoded(ty, Number::Int(i128::from(x.bits_as_float()?.is_finite()))),
        (Op::Unary(op), [x]) => encoded(ty, unary(*op, ty, x.number()?)?),
        (Op::Binary(op), [a, b]) => encoded(ty, binary(*op, ty, a.number()?, b.number()?)?),
        (Op::Compare { direction, order }, [a, b]) if order != &Some(ComparisonType::TotalOrder) => {
            encoded(ty, Number::Int(i128::from(compared(*direction, a.number()?, b.number()?)?)))
        }
        _ => None,
    }
}

impl Scalar<'_> {
    fn bits(self) -> u64 {
        self.bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
    }

    /// Decodes the element as a float, which may be NaN or subnormal. Returns `None` if [`format`]
    /// returns `None` for the element's type.
    fn bits_as_float(self) -> Option<f64> {
        Some(format(self.ty)?.decode(self.bits()))
    }

    fn number(self) -> Option<Number> {
        let bits = self.bits();
        match self.ty {
            ElementType::Pred => Some(Number::Int(i128::from(bits))),
            ty if ty.is_integer() => Some(Number::Int(wrapped(ty, i128::from(bits)))),
            ty => self.bits_as_float().filter(|&value| is_usual(ty, value)).map(Number::Float),
        }
    }
}

/// Returns the format of a float type. Returns `None` if operations of this type are not folded.
fn format(ty: ElementType) -> Option<FloatFormat> {
    let is_folded = matches!(ty, ElementType::F16 | ElementType::BF16 | ElementType::F32 | ElementType::F64);
    ty.float_format().filter(|_| is_folded)
}

/// Whether a value is neither NaN nor subnormal. For `f64`, the smallest normal number is that of
/// `f64`. For all other types, the smallest normal number is that of `f32`, because targets compute
/// these types in `f32`.
fn is_usual(ty: ElementType, value: f64) -> bool {
    let least = if ty == ElementType::F64 { f64::MIN_POSITIVE } else { f64::from(f32::MIN_POSITIVE) };
    value == 0.0 || value.abs() >= least
}

/// Returns the bytes of a number that is rounded to type `ty`.
fn encoded(ty: ElementType, number: Number) -> Option<Vec<u8>> {
    let bits = match number {
        Number::Int(value) => value as u64,
        Number::Float(value) => format(ty).filter(|_| is_usual(ty, value))?.encode(value),
    };
    Some(bits.to_le_bytes()[..ty.byte_size()].to_vec())
}

/// Wraps an integer to the width of its type.
fn wrapped(ty: ElementType, value: i128) -> i128 {
    let unused = 128 - ty.bits();
    if ty.is_signed_integer() { value << unused >> unused } else { ((value as u128) << unused >> unused) as i128 }
}

fn converted(x: Number, ty: ElementType) -> Option<Number> {
    match x {
        Number::Int(x) if ty == ElementType::Pred => Some(Number::Int(i128::from(x != 0))),
        Number::Float(x) if ty == ElementType::Pred => Some(Number::Int(i128::from(x != 0.0))),
        Number::Int(x) if ty.is_integer() => Some(Number::Int(wrapped(ty, x))),
        Number::Float(x) if ty.is_integer() => {
            let whole = x.trunc() as i128;
            (x.is_finite() && wrapped(ty, whole) == whole).then_some(Number::Int(whole))
        }
        // Larger numbers might be rounded twice.
        Number::Int(x) => (ty == ElementType::F64 || x.abs() <= 1 << 24).then_some(Number::Float(x as f64)),
        Number::Float(x) => Some(Number::Float(x)),
    }
}

fn unary(op: UnaryOp, ty: ElementType, x: Number) -> Option<Number> {
    Some(match x {
        Number::Int(x) if ty == ElementType::Pred => match op {
            UnaryOp::Not => Number::Int(1 - x),
            _ => return None,
        },
        Number::Int(x) => Number::Int(wrapped(
            ty,
            match op {
                UnaryOp::Abs => x.abs(),
                UnaryOp::Negate => -x,
                UnaryOp::Not => !x,
                UnaryOp::Sign => x.signum(),
                _ => return None,
            },
        )),
        Number::Float(x) => Number::Float(match op {
            UnaryOp::Abs => x.abs(),
            UnaryOp::Negate => -x,
            UnaryOp::Sign if x == 0.0 => x,
            UnaryOp::Sign => x.signum(),
            UnaryOp::Floor => x.floor(),
            UnaryOp::Ceil => x.ceil(),
            UnaryOp::Sqrt => x.sqrt(),
            _ => return None,
        }),
    })
}

fn binary(op: BinaryOp, ty: ElementType, a: Number, b: Number) -> Option<Number> {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) if ty == ElementType::Pred => of_truths(op, a, b).map(Number::Int),
        (Number::Int(a), Number::Int(b)) => Some(Number::Int(wrapped(ty, of_integers(op, ty, a, b)?))),
        (Number::Float(a), Number::Float(b)) => of_floats(op, a, b).map(Number::Float),
        _ => None,
    }
}

fn of_truths(op: BinaryOp, a: i128, b: i128) -> Option<i128> {
    match op {
        BinaryOp::And | BinaryOp::Multiply | BinaryOp::Minimum => Some(a & b),
        BinaryOp::Or | BinaryOp::Add | BinaryOp::Maximum => Some(a | b),
        BinaryOp::Xor => Some(a ^ b),
        _ => None,
    }
}

/// Returns the result of an integer operation before it is wrapped to the width of its type.
fn of_integers(op: BinaryOp, ty: ElementType, a: i128, b: i128) -> Option<i128> {
    let bits = i128::from(ty.bits());
    match op {
        BinaryOp::Add => Some(a + b),
        BinaryOp::Subtract => Some(a - b),
        BinaryOp::Multiply => Some(a.wrapping_mul(b)),
        BinaryOp::Divide if b != 0 => Some(a / b),
        BinaryOp::Remainder if b != 0 => Some(a % b),
        BinaryOp::Maximum => Some(a.max(b)),
        BinaryOp::Minimum => Some(a.min(b)),
        BinaryOp::And => Some(a & b),
        BinaryOp::Or => Some(a | b),
        BinaryOp::Xor => Some(a ^ b),
        BinaryOp::ShiftLeft if (0..bits).contains(&b) => Some(a << b),
        BinaryOp::ShiftRightLogical if (0..bits).contains(&b) => Some((a & ((1 << bits) - 1)) >> b),
        BinaryOp::ShiftRightArithmetic if (0..bits).contains(&b) && ty.is_signed_integer() => Some(a >> b),
        _ => None,
    }
}

fn of_floats(op: BinaryOp, a: f64, b: f64) -> Option<f64> {
    match op {
        BinaryOp::Add => Some(a + b),
        BinaryOp::Subtract => Some(a - b),
        BinaryOp::Multiply => Some(a * b),
        BinaryOp::Divide => Some(a / b),
        BinaryOp::Remainder => Some(a % b),
        // Targets differ in the maximum of zeros with different signs.
        BinaryOp::Maximum if a != b => Some(a.max(b)),
        BinaryOp::Minimum if a != b => Some(a.min(b)),
        BinaryOp::Maximum | BinaryOp::Minimum => (a.to_bits() == b.to_bits()).then_some(a),
        _ => None,
    }
}

fn compared(direction: Comparison, a: Number, b: Number) -> Option<bool> {
    let order = match (a, b) {
        (Number::Int(a), Number::Int(b)) => a.cmp(&b),
        (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b)?,
        _ => return None,
    };
    Some(match direction {
        Comparison::Eq => order.is_eq(),
        Comparison::Ne => order.is_ne(),
        Comparison::Ge => order.is_ge(),
        Comparison::Gt => order.is_gt(),
        Comparison::Le => order.is_le(),
        Comparison::Lt => order.is_lt(),
    })
}
