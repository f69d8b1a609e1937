//! Scalar computations that operations apply to elements: combiners, comparators, selectors.

use fusebox_core::hlo::{BinaryOp, Computation, ComputationId, ElementType, Op};

use crate::caller::Caller;
use crate::error::{Outcome, ensure, malformed};
use crate::number::{self, Complex, LongSum};
use crate::value::{Array, Scalar, Value};

/// A computation applied to elements.
pub(crate) struct Function {
    id: ComputationId,
    parameter_types: Vec<ElementType>,
    /// The operation and its type, if the function is one binary operation on its parameters.
    pub binary: Option<(BinaryOp, ElementType)>,
}

impl Function {
    /// Creates a function from a computation on scalars.
    pub fn new(caller: &dyn Caller, id: ComputationId) -> Outcome<Self> {
        let computation = caller.module().computation(id);
        let types = computation.parameters().into_iter().map(|p| computation.instruction(p).shape.as_array());
        let Some(shapes) = types.collect::<Option<Vec<_>>>() else {
            return malformed(format!("`{}` takes a tuple where scalars are passed", computation.name));
        };
        let parameter_types: Vec<ElementType> = shapes.into_iter().map(|shape| shape.element_type).collect();
        let binary = binary(computation).zip(parameter_types.first().copied());
        Ok(Function { id, parameter_types, binary })
    }

    /// Calls the function.
    pub fn call(&self, caller: &mut dyn Caller, arguments: &[Scalar]) -> Outcome<Vec<Scalar>> {
        let fits = arguments.len() == self.parameter_types.len();
        ensure!(fits, "{} arguments for {} parameters", arguments.len(), self.parameter_types.len());
        let values = arguments.iter().zip(&self.parameter_types).map(|(&x, &ty)| Array::scalar(ty, x).into());
        match caller.call(self.id, values.collect())? {
            Value::Tuple(elements) => elements.iter().map(|element| element.array()?.single()).collect(),
            single => Ok(vec![single.array()?.single()?]),
        }
    }

    /// Calls the function and returns its only result.
    pub fn call_for_one(&self, caller: &mut dyn Caller, arguments: &[Scalar]) -> Outcome<Scalar> {
        match self.call(caller, arguments)?[..] {
            [result] => Ok(result),
            ref results => malformed(format!("expected one result, found {}", results.len())),
        }
    }

    /// Calls the function and returns its result as a truth value.
    pub fn holds(&self, caller: &mut dyn Caller, arguments: &[Scalar]) -> Outcome<bool> {
        Ok(self.call_for_one(caller, arguments)? != Scalar::Int(0))
    }
}

/// If a computation consists of one binary operation on its two parameters, returns this operation.
fn binary(computation: &Computation) -> Option<BinaryOp> {
    use BinaryOp as B;
    let (root, parameters) = (computation.root_instruction(), computation.parameters());
    let Op::Binary(op) = root.op else { return None };
    let commutes = matches!(op, B::Add | B::Multiply | B::Maximum | B::Minimum | B::And | B::Or | B::Xor);
    let is_swapped = commutes && root.operands.iter().eq(parameters.iter().rev());
    (root.operands == parameters || is_swapped).then_some(op)
}

/// An accumulator that combines elements with one binary operation. Sums and products of floats are
/// rounded only at the end, so that the results hardly depend on the order of the elements. Sums
/// have twice the precision of `f64`.
#[derive(Clone, Copy)]
pub(crate) enum Accumulator {
    Sum(LongSum),
    ComplexSum(LongSum, LongSum),
    Product(f64),
    Other(BinaryOp, Scalar),
}

impl Accumulator {
    /// Creates an accumulator for a binary operation, with the value `initial`.
    pub fn new(op: BinaryOp, initial: Scalar) -> Self {
        match (op, initial) {
            (BinaryOp::Add, Scalar::Float(x)) => Accumulator::Sum(LongSum::new(x)),
            (BinaryOp::Add, Scalar::Complex(z)) => Accumulator::ComplexSum(LongSum::new(z.re), LongSum::new(z.im)),
            (BinaryOp::Multiply, Scalar::Float(x)) => Accumulator::Product(x),
            (op, initial) => Accumulator::Other(op, initial),
        }
    }

    /// Combines the accumulator with one more element.
    pub fn add(&mut self, ty: ElementType, x: Scalar) -> Outcome<()> {
        match (self, x) {
            (Accumulator::Sum(sum), Scalar::Float(x)) => sum.add(x),
            (Accumulator::Product(product), Scalar::Float(x)) => *product *= x,
            (Accumulator::ComplexSum(re, im), Scalar::Complex(z)) => {
                re.add(z.re);
                im.add(z.im);
            }
            (Accumulator::Other(op, held), x) => *held = number::binary(*op, ty, *held, x)?,
            _ => return malformed("an operand has another type than the initial value"),
        }
        Ok(())
    }

    /// Returns the combination, rounded to the element type.
    pub fn value(&self, ty: ElementType) -> Scalar {
        match self {
            Accumulator::Sum(sum) => Scalar::Float(number::round(ty, sum.value())),
            Accumulator::Product(product) => Scalar::Float(number::round(ty, *product)),
            Accumulator::ComplexSum(re, im) => {
                Scalar::Complex(number::round_complex(ty, Complex { re: re.value(), im: im.value() }))
            }
            Accumulator::Other(_, held) => *held,
        }
    }
}
