//! Recognises combiners that apply a single operation to two scalars. `reduce`, `reduce-window` and
//! `scatter` have combiners.

use super::{ArrayLiteral, BinaryOp, Computation, ElementType, InstrId, Op};

/// A computation that applies one operation to its first two parameters. Both parameters are
/// scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combiner {
    /// The operation.
    pub op: BinaryOp,
    /// Type of the parameters and of the result.
    pub element_type: ElementType,
    /// The type in which the operation computes. This type differs from `element_type` if the
    /// computation converts its parameters and its result. Combiners of narrow types usually
    /// contain these conversions.
    pub computes_in: ElementType,
    /// Whether the second parameter is the operation's first operand. The value is always false for
    /// commutative operations.
    pub is_exchanged: bool,
}

impl Combiner {
    /// Returns the operation that a computation applies to two scalars; `None` if the computation
    /// does anything else.
    pub fn of(computation: &Computation) -> Option<Combiner> {
        let element_type = computation.root_instruction().shape.as_array()?.element_type;
        let converted = |id: InstrId| match computation.instruction(id).op {
            Op::Convert => computation.instruction(id).operands.first().copied(),
            _ => None,
        };
        let (root, operand): (InstrId, &dyn Fn(InstrId) -> Option<InstrId>) = match converted(computation.root) {
            Some(root) => (root, &converted),
            None => (computation.root, &Some),
        };
        let root = computation.instruction(root);
        let Op::Binary(op) = root.op else { return None };
        let number = |&id: &InstrId| {
            let parameter = computation.instruction(operand(id)?);
            let is_scalar =
                parameter.shape.as_array().is_some_and(|it| it.rank() == 0 && it.element_type == element_type);
            match parameter.op {
                Op::Parameter { number } if is_scalar => Some(number),
                _ => None,
            }
        };
        let numbers: Vec<Option<i64>> = root.operands.iter().map(number).collect();
        let is_exchanged = match numbers[..] {
            [Some(0), Some(1)] => false,
            [Some(1), Some(0)] => !op.is_commutative(),
            _ => return None,
        };
        let computes_in = root.shape.as_array()?.element_type;
        Some(Combiner { op, element_type, computes_in, is_exchanged })
    }

    /// Returns the operation if two conditions hold. The operation must compute in the parameters'
    /// type. The operation must also be commutative, or read the parameters in their order.
    pub fn in_order(self) -> Option<BinaryOp> {
        (!self.is_exchanged && self.computes_in == self.element_type).then_some(self.op)
    }

    /// Returns the scalar `e` for which `op(e, x) = op(x, e) = x` holds for every `x`.
    pub fn identity(self) -> Option<ArrayLiteral> {
        let data = self.in_order()?.identity(self.element_type)?;
        Some(ArrayLiteral { element_type: self.element_type, dims: Vec::new(), data: data.into() })
    }
}

impl BinaryOp {
    /// Returns the bytes of the value `e` for which `op(e, x) = op(x, e) = x` holds for every `x`.
    /// For sums of floats, `e` is -0, because adding +0 would change the sign of -0.
    pub fn identity(self, element_type: ElementType) -> Option<Vec<u8>> {
        let bits = match element_type {
            ElementType::Pred => self.identity_of_pred()?,
            ElementType::F16 | ElementType::BF16 | ElementType::F32 | ElementType::F64 => {
                let value = self.identity_of_floats()?;
                element_type.float_format()?.encode(value)
            }
            _ if element_type.is_integer() && element_type.bits() >= 8 => self.identity_of_integers(element_type)?,
            _ => return None,
        };
        Some(bits.to_le_bytes()[..element_type.byte_size()].to_vec())
    }

    /// Returns the bytes of the value `e` for which `op(e, x) = op(x, e) = e` holds for every `x`.
    pub fn absorbing(self, element_type: ElementType) -> Option<Vec<u8>> {
        match self {
            BinaryOp::And => BinaryOp::Or.identity(element_type),
            BinaryOp::Or => BinaryOp::And.identity(element_type),
            BinaryOp::Multiply if !element_type.is_float() => BinaryOp::Or.identity(element_type),
            _ => None,
        }
    }

    fn identity_of_pred(self) -> Option<u64> {
        match self {
            BinaryOp::Or | BinaryOp::Xor | BinaryOp::Maximum => Some(0),
            BinaryOp::And | BinaryOp::Minimum | BinaryOp::Multiply => Some(1),
            _ => None,
        }
    }

    fn identity_of_floats(self) -> Option<f64> {
        match self {
            BinaryOp::Add => Some(-0.0),
            BinaryOp::Multiply => Some(1.0),
            BinaryOp::Maximum => Some(f64::NEG_INFINITY),
            BinaryOp::Minimum => Some(f64::INFINITY),
            _ => None,
        }
    }

    fn identity_of_integers(self, element_type: ElementType) -> Option<u64> {
        let top = 1u64 << (element_type.bits() - 1);
        let ones = top | (top - 1);
        let (least, greatest) = if element_type.is_signed_integer() { (top, top - 1) } else { (0, ones) };
        match self {
            BinaryOp::Add | BinaryOp::Or | BinaryOp::Xor => Some(0),
            BinaryOp::Multiply => Some(1),
            BinaryOp::And => Some(ones),
            BinaryOp::Maximum => Some(least),
            BinaryOp::Minimum => Some(greatest),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_module;

    fn combiner(root: &str) -> Option<Combiner> {
        let text = format!(
            "f {{ p = bf16[] parameter(0)\n q = bf16[] parameter(1)\n a = f32[] convert(p)\n b = f32[] convert(q)
              w = f32[] subtract(b, a)\n n = bf16[] negate(q)\n ROOT r = bf16[] {root} }}"
        );
        Combiner::of(&parse_module(&text, "test.hlo").unwrap().computations[0])
    }

    #[test]
    fn operands_are_exchanged_where_they_may_be() {
        for (root, op, order) in [
            ("subtract(p, q)", BinaryOp::Subtract, Some(BinaryOp::Subtract)),
            ("subtract(q, p)", BinaryOp::Subtract, None),
            ("add(q, p)", BinaryOp::Add, Some(BinaryOp::Add)),
            ("convert(w)", BinaryOp::Subtract, None),
        ] {
            let found = combiner(root).unwrap();
            assert_eq!((found.op, found.in_order()), (op, order), "{root}");
        }
        let converted = combiner("convert(w)").unwrap();
        assert!(converted.is_exchanged && converted.computes_in == ElementType::F32, "{converted:?}");
    }

    #[test]
    fn another_computation_is_no_combiner() {
        for root in ["add(p, p)", "add(p, n)", "negate(p)", "convert(a)"] {
            assert_eq!(combiner(root), None, "{root}");
        }
    }
}
