//! Operations on the bits of single elements: integers of any width and floats of any format.

use fusebox_core::ir::{Attribute, Combination, Float, OpKind, Operation, Scalar};

/// Decodes a float's bits.
pub(super) fn number(bits: u128, float: Float) -> f64 {
    match float {
        Float::F32 => f64::from(f32::from_bits(bits as u32)),
        Float::F64 => f64::from_bits(bits as u64),
        _ => float.format().map_or(f64::NAN, |format| format.decode(bits as u64)),
    }
}

/// Returns the bits of the float nearest to a number.
pub(super) fn bits(number: f64, float: Float) -> u128 {
    match float {
        Float::F32 => u128::from((number as f32).to_bits()),
        Float::F64 => u128::from(number.to_bits()),
        _ => u128::from(float.format().map_or(0, |format| format.encode(number))),
    }
}

/// Returns the lower `width` bits of a number.
pub(super) fn unsigned(word: u128, width: u32) -> u128 {
    if width >= 128 { word } else { word & ((1 << width) - 1) }
}

/// Sign-extends a number of `width` bits.
pub(super) fn signed(word: u128, width: u32) -> i128 {
    let unused = 128 - width.clamp(1, 128);
    (word << unused) as i128 >> unused
}

/// Applies an operation to one element of each operand. The operands have type `from`; the result
/// has type `to`. Returns `None` if the operation does not work on single elements. An error says
/// why the operation has no result for these operands.
pub(super) fn apply(op: &Operation, from: Scalar, to: Scalar, words: &[u128]) -> Option<Result<u128, String>> {
    if op.kind == OpKind::Select {
        return words.get(1..3).map(|chosen| Ok(if words[0] != 0 { chosen[0] } else { chosen[1] }));
    }
    match (from, words) {
        (Scalar::Float(float), words) => of_floats(op, float, to, words).map(Ok),
        (_, &[a]) => of_integer(op.kind, from.bits(), to, a).map(Ok),
        (_, &[a, b]) => of_integers(op, from.bits(), a, b),
        _ => None,
    }
}

fn of_integer(kind: OpKind, width: u32, to: Scalar, a: u128) -> Option<u128> {
    let (bits, number) = (to.bits(), signed(a, width));
    Some(match kind {
        OpKind::AbsI => unsigned(number.wrapping_abs() as u128, width),
        OpKind::CtPop => u128::from(a.count_ones()),
        OpKind::Ctlz => u128::from(a.leading_zeros().saturating_sub(128 - width)),
        OpKind::Cttz => u128::from(a.trailing_zeros().min(width)),
        OpKind::ExtSI | OpKind::IndexCast => unsigned(number as u128, bits),
        OpKind::ExtUI | OpKind::TruncI | OpKind::IndexCastUI => unsigned(a, bits),
        OpKind::Bitcast => a,
        OpKind::SIToFP | OpKind::UIToFP => {
            let Scalar::Float(float) = to else { return None };
            let (is_negative, magnitude) =
                if kind == OpKind::SIToFP { (number < 0, number.unsigned_abs()) } else { (false, a) };
            let rounded = if float == Float::F32 { f64::from(magnitude as f32) } else { magnitude as f64 };
            self::bits(if is_negative { -rounded } else { rounded }, float)
        }
        _ => return None,
    })
}

fn of_integers(op: &Operation, width: u32, a: u128, b: u128) -> Option<Result<u128, String>> {
    use OpKind::*;
    let (x, y) = (signed(a, width), signed(b, width));
    if matches!(op.kind, DivSI | DivUI | RemSI | RemUI | FloorDivSI | CeilDivSI) && b == 0 {
        return Some(Err("divides by zero".into()));
    }
    // Whether the division leaves a remainder and the signs of the operands are equal (or
    // different).
    let is_cut = |same_signs: bool| x.wrapping_rem(y) != 0 && ((x < 0) == (y < 0)) == same_signs;
    let shift = |shifted: &dyn Fn(u32) -> u128| if b < u128::from(width) { shifted(b as u32) } else { 0 };
    let word = match op.kind {
        AddI => a.wrapping_add(b),
        SubI => a.wrapping_sub(b),
        MulI => a.wrapping_mul(b),
        DivSI => x.wrapping_div(y) as u128,
        DivUI => a / b,
        RemSI => x.wrapping_rem(y) as u128,
        RemUI => a % b,
        FloorDivSI => (x.wrapping_div(y) - i128::from(is_cut(false))) as u128,
        CeilDivSI => (x.wrapping_div(y) + i128::from(is_cut(true))) as u128,
        AndI => a & b,
        OrI => a | b,
        XorI => a ^ b,
        ShlI => shift(&|by| a << by),
        ShrUI => shift(&|by| a >> by),
        ShrSI => shift(&|by| (x >> by) as u128),
        MaxSI => x.max(y) as u128,
        MinSI => x.min(y) as u128,
        MaxUI => a.max(b),
        MinUI => a.min(b),
        CmpI => return compares(op, [a, b], [x, y]).map(|holds| Ok(u128::from(holds))),
        _ => return None,
    };
    Some(Ok(unsigned(word, width)))
}

/// Compares integers. The array `all` lists the comparisons in the order of MLIR's integer
/// predicates.
fn compares(op: &Operation, [a, b]: [u128; 2], [x, y]: [i128; 2]) -> Option<bool> {
    let all = [a == b, a != b, x < y, x <= y, x > y, x >= y, a < b, a <= b, a > b, a >= b];
    all.get(usize::try_from(op.integer("predicate")?).ok()?).copied()
}

/// Returns both halves of a product, the lower one first.
pub(super) fn long_product(is_signed: bool, width: u32, a: u128, b: u128) -> Option<[u128; 2]> {
    if width > 64 {
        return None;
    }
    let product = if is_signed { (signed(a, width) * signed(b, width)) as u128 } else { a * b };
    Some([unsigned(product, width), unsigned(product >> width, width)])
}

/// Whether the operation has a no-overflow flag, but its exact result does not fit into the type.
pub(super) fn overflows(op: &Operation, width: u32, words: &[u128]) -> bool {
    let promises = matches!(op.attribute("overflowFlags"), Some(Attribute::Raw(flags)) if flags.contains("nsw"));
    let &[a, b] = words else { return false };
    let (x, y) = (signed(a, width), signed(b, width));
    let exact = match op.kind {
        OpKind::AddI => x.checked_add(y),
        OpKind::SubI => x.checked_sub(y),
        OpKind::MulI => x.checked_mul(y),
        _ => return false,
    };
    promises && exact.is_none_or(|exact| signed(exact as u128, width) != exact)
}

fn of_floats(op: &Operation, float: Float, to: Scalar, words: &[u128]) -> Option<u128> {
    let numbers: Vec<f64> = words.iter().map(|&word| number(word, float)).collect();
    let sign = float.format().map_or(0, |format| u128::from(format.sign_bit()));
    Some(match (op.kind, words, &numbers[..]) {
        // These operations change or test only bits.
        (OpKind::NegF, &[a], _) => a ^ sign,
        (OpKind::AbsF, &[a], _) => a & !sign,
        (OpKind::CopySign, &[a, b], _) => a & !sign | b & sign,
        (OpKind::Bitcast, &[a], _) => a,
        (OpKind::IsNan, _, [x]) => u128::from(x.is_nan()),
        (OpKind::IsInf, _, [x]) => u128::from(x.is_infinite()),
        (OpKind::IsFinite, _, [x]) => u128::from(x.is_finite()),
        (OpKind::FPToSI, _, [x]) => unsigned(*x as i128 as u128, to.bits()),
        (OpKind::FPToUI, _, [x]) => unsigned(*x as u128, to.bits()),
        (OpKind::ExtF | OpKind::TruncF, _, &[x]) => match to {
            Scalar::Float(to) => bits(x, to),
            _ => return None,
        },
        (OpKind::CmpF, _, &[x, y]) => u128::from(compares_floats(op, x, y)?),
        (OpKind::Fma | OpKind::VectorFma, _, &[x, y, z]) => bits(fused(float, x, y, z), float),
        (kind, _, &[x]) => bits(function(kind, x)?, float),
        (kind, _, &[x, y]) => bits(binary(kind, x, y)?, float),
        _ => return None,
    })
}

fn fused(float: Float, x: f64, y: f64, z: f64) -> f64 {
    if float == Float::F32 { f64::from((x as f32).mul_add(y as f32, z as f32)) } else { x.mul_add(y, z) }
}

/// Compares floats. The arrays `ordered` and `unordered` list the comparisons in the order of
/// MLIR's float predicates. MLIR's ordered predicates come first: always false, six comparisons
/// that are false if an operand is NaN, and a test that no operand is NaN. MLIR's unordered
/// predicates follow the ordered predicates.
fn compares_floats(op: &Operation, x: f64, y: f64) -> Option<bool> {
    let number = usize::try_from(op.integer("predicate")?).ok()?;
    let is_ordered = !x.is_nan() && !y.is_nan();
    let ordered = [false, x == y, x > y, x >= y, x < y, x <= y, x != y, true];
    let unordered = [false, x == y, x > y, x >= y, x < y, x <= y, x != y];
    match number {
        0..8 => Some(is_ordered && ordered[number]),
        8..14 => Some(!is_ordered || unordered[number - 7]),
        14 => Some(!is_ordered),
        15 => Some(true),
        _ => None,
    }
}

fn binary(kind: OpKind, x: f64, y: f64) -> Option<f64> {
    let by_order = |is_first: bool| if is_first { x } else { y };
    Some(match kind {
        OpKind::AddF => x + y,
        OpKind::SubF => x - y,
        OpKind::MulF => x * y,
        OpKind::DivF => x / y,
        OpKind::RemF => x % y,
        OpKind::MaximumF | OpKind::MinimumF if x.is_nan() || y.is_nan() => f64::NAN,
        OpKind::MaximumF | OpKind::MaxNumF if x == y => by_order(x.is_sign_positive()),
        OpKind::MinimumF | OpKind::MinNumF if x == y => by_order(x.is_sign_negative()),
        OpKind::MaximumF | OpKind::MaxNumF => x.max(y),
        OpKind::MinimumF | OpKind::MinNumF => x.min(y),
        OpKind::PowF => x.powf(y),
        OpKind::Atan2 => x.atan2(y),
        _ => return None,
    })
}

fn function(kind: OpKind, x: f64) -> Option<f64> {
    Some(match kind {
        OpKind::Sqrt => x.sqrt(),
        OpKind::Floor => x.floor(),
        OpKind::Ceil => x.ceil(),
        OpKind::Trunc => x.trunc(),
        OpKind::Round => x.round(),
        OpKind::RoundEven => x.round_ties_even(),
        OpKind::Exp => x.exp(),
        OpKind::Exp2 => x.exp2(),
        OpKind::Expm1 => x.exp_m1(),
        OpKind::Log => x.ln(),
        OpKind::Log2 => x.log2(),
        OpKind::Log10 => x.log10(),
        OpKind::Log1p => x.ln_1p(),
        OpKind::Sin => x.sin(),
        OpKind::Cos => x.cos(),
        OpKind::Tan => x.tan(),
        OpKind::Sinh => x.sinh(),
        OpKind::Cosh => x.cosh(),
        OpKind::Tanh => x.tanh(),
        OpKind::Asin => x.asin(),
        OpKind::Acos => x.acos(),
        OpKind::Atan => x.atan(),
        OpKind::Asinh => libm::asinh(x),
        OpKind::Acosh => libm::acosh(x),
        OpKind::Atanh => libm::atanh(x),
        OpKind::Cbrt => x.cbrt(),
        OpKind::Rsqrt => 1.0 / x.sqrt(),
        OpKind::Erf => libm::erf(x),
        OpKind::Erfc => libm::erfc(x),
        _ => return None,
    })
}

/// Returns the operation by which a reduction combines two lanes.
pub(super) fn combination(by: Combination, is_float: bool) -> OpKind {
    match by {
        Combination::Add if is_float => OpKind::AddF,
        Combination::Add => OpKind::AddI,
        Combination::Mul if is_float => OpKind::MulF,
        Combination::Mul => OpKind::MulI,
        Combination::And => OpKind::AndI,
        Combination::Or => OpKind::OrI,
        Combination::Xor => OpKind::XorI,
        Combination::MinSi => OpKind::MinSI,
        Combination::MaxSi => OpKind::MaxSI,
        Combination::MinUi => OpKind::MinUI,
        Combination::MaxUi => OpKind::MaxUI,
        Combination::MinimumF => OpKind::MinimumF,
        Combination::MaximumF => OpKind::MaximumF,
        Combination::MinNumF => OpKind::MinNumF,
        Combination::MaxNumF => OpKind::MaxNumF,
    }
}
