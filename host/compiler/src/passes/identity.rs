//! Identities of operations and combiners: values that, as one operand, leave the other operand
//! unchanged.

use fusebox_core::hlo::{ArrayLiteral, BinaryOp, Computation, ElementType, InstrId, Op};

/// Returns the identity of a combiner as a literal of one element: the `e` with `op(e, x) = x`.
/// `None` if the combiner does anything else than apply one operation to two scalars.
pub fn identity_of(combiner: &Computation) -> Option<ArrayLiteral> {
    let op = combining(combiner)?;
    let element_type = combiner.root_instruction().shape.as_array()?.element_type;
    let data = neutral(op, element_type)?;
    Some(ArrayLiteral { element_type, dims: Vec::new(), data: data.into() })
}

/// Returns the operation that a combiner applies to its first and second scalar. `None` if the
/// combiner does anything else.
pub fn combining(combiner: &Computation) -> Option<BinaryOp> {
    let root = combiner.root_instruction();
    let Op::Binary(op) = root.op else { return None };
    let numbers: Vec<i64> = root.operands.iter().filter_map(|&id| parameter_number(combiner, id)).collect();
    (numbers == [0, 1] || numbers == [1, 0] && op.is_commutative()).then_some(op)
}

fn parameter_number(computation: &Computation, id: InstrId) -> Option<i64> {
    match computation.instruction(id).op {
        Op::Parameter { number } => Some(number),
        _ => None,
    }
}

/// Returns the bytes of `e` with `op(e, x) = op(x, e) = x` for every `x`.
pub fn neutral(op: BinaryOp, ty: ElementType) -> Option<Vec<u8>> {
    match ty {
        ElementType::Pred => pred(op).map(|value| vec![value]),
        ElementType::F16 => float(op, [0x8000, 0x3c00, 0xfc00, 0x7c00], 2),
        ElementType::BF16 => float(op, [0x8000, 0x3f80, 0xff80, 0x7f80], 2),
        ElementType::F32 => float(op, [0x8000_0000, 0x3f80_0000, 0xff80_0000, 0x7f80_0000], 4),
        ElementType::F64 => {
            float(op, [1 << 63, 1.0f64.to_bits(), f64::NEG_INFINITY.to_bits(), f64::INFINITY.to_bits()], 8)
        }
        _ if ty.is_integer() && ty.bits() >= 8 => integer(op, ty),
        _ => None,
    }
}

/// Returns the bytes of `e` with `op(e, x) = op(x, e) = e` for every `x`.
pub fn absorbing(op: BinaryOp, ty: ElementType) -> Option<Vec<u8>> {
    match op {
        BinaryOp::And => neutral(BinaryOp::Or, ty),
        BinaryOp::Or => neutral(BinaryOp::And, ty),
        BinaryOp::Multiply if !ty.is_float() => neutral(BinaryOp::Or, ty),
        _ => None,
    }
}

fn pred(op: BinaryOp) -> Option<u8> {
    match op {
        BinaryOp::Or | BinaryOp::Xor | BinaryOp::Maximum => Some(0),
        BinaryOp::And | BinaryOp::Minimum | BinaryOp::Multiply => Some(1),
        _ => None,
    }
}

/// Picks the identity from the bits of -0, 1, -inf and inf. For sums it is -0, because only adding
/// -0 leaves zeros of both signs unchanged.
fn float(op: BinaryOp, [zero, one, least, greatest]: [u64; 4], size: usize) -> Option<Vec<u8>> {
    let bits = match op {
        BinaryOp::Add => zero,
        BinaryOp::Multiply => one,
        BinaryOp::Maximum => least,
        BinaryOp::Minimum => greatest,
        _ => return None,
    };
    Some(bits.to_le_bytes()[..size].to_vec())
}

fn integer(op: BinaryOp, ty: ElementType) -> Option<Vec<u8>> {
    let top = 1u64 << (ty.bits() - 1);
    let ones = top | (top - 1);
    let (least, greatest) = if ty.is_signed_integer() { (top, top - 1) } else { (0, ones) };
    let value = match op {
        BinaryOp::Add | BinaryOp::Or | BinaryOp::Xor => 0,
        BinaryOp::Multiply => 1,
        BinaryOp::And => ones,
        BinaryOp::Maximum => least,
        BinaryOp::Minimum => greatest,
        _ => return None,
    };
    Some(value.to_le_bytes()[..ty.byte_size()].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fusebox_core::hlo::{Literal, parse_module};

    #[test]
    fn operands_are_exchanged_where_they_may_be() {
        for (operation, expected) in [
            ("subtract(p, q)", Some(BinaryOp::Subtract)),
            ("subtract(q, p)", None),
            ("add(q, p)", Some(BinaryOp::Add)),
            ("add(p, p)", None),
        ] {
            let text =
                format!("f {{ p = f32[] parameter(0)\n  q = f32[] parameter(1)\n  ROOT r = f32[] {operation} }}");
            let module = parse_module(&text, "test.hlo").unwrap();
            assert_eq!(combining(&module.computations[0]), expected, "{operation}");
        }
    }

    /// Applies the combiner to its identity and some values with the interpreter.
    #[test]
    fn the_identity_changes_nothing() {
        let samples = |ty: ElementType| -> Vec<Vec<u8>> {
            let size = ty.byte_size();
            let patterns: &[u64] = if ty == ElementType::Pred { &[0, 1] } else { &[0, 1, 0x7b, 0x85, 0x3c5a, 0x80] };
            let top = 1u64 << (ty.bits() - 1);
            let with_top: Vec<u64> = if ty == ElementType::Pred { Vec::new() } else { vec![top, top | 0x11] };
            patterns.iter().chain(&with_top).map(|value| value.to_le_bytes()[..size].to_vec()).collect()
        };
        let mut tried = 0;
        for ty in ["pred", "s8", "u8", "s16", "u32", "s64", "u64", "bf16", "f16", "f32", "f64"] {
            for op in ["add", "multiply", "maximum", "minimum", "and", "or", "xor"] {
                let text =
                    format!("f {{ p = {ty}[] parameter(0)\n  q = {ty}[] parameter(1)\n  ROOT r = {ty}[] {op}(q, p) }}");
                let Ok(module) = parse_module(&text, "test.hlo") else { continue };
                let Some(identity) = identity_of(module.entry_computation().unwrap()) else { continue };
                tried += 1;
                for sample in samples(identity.element_type) {
                    let value = Literal::Array(ArrayLiteral { data: sample.clone().into(), ..identity.clone() });
                    let result =
                        fusebox_interpreter::evaluate(&module, &[Literal::Array(identity.clone()), value]).unwrap();
                    assert_eq!(&result.as_array().unwrap().data[..], sample, "{op} of {ty}");
                }
            }
        }
        assert!(tried > 55, "{tried}");
    }

    #[test]
    fn another_computation_has_none() {
        for root in ["subtract(p, q)", "add(p, p)", "add(p, s)"] {
            let text = format!(
                "f {{ p = f32[] parameter(0)\n  q = f32[] parameter(1)\n  s = f32[] negate(q)\n  ROOT r = f32[] {root} }}"
            );
            let module = parse_module(&text, "test.hlo").unwrap();
            assert_eq!(identity_of(module.entry_computation().unwrap()), None, "{root}");
        }
    }
}
