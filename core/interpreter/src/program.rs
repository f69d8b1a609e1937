//! Computations on scalars, flattened: what reduce, sort, scatter and their like apply per element.
//!
//! The steps are the same elementwise functions the interpreter uses on arrays; only the walk over
//! instructions and the allocation of values per element are saved.

use fusebox_core::hlo::{
    BinaryOp, Comparison, ComparisonType, ComputationId, ElementType, Literal, Module, Op, Shape, UnaryOp,
};

use crate::error::{Outcome, malformed};
use crate::number;
use crate::value::{Array, Data, Scalar};

/// Index of a register.
type Register = usize;

enum Step {
    Unary { op: UnaryOp, ty: ElementType, result: ElementType, x: Register },
    Binary { op: BinaryOp, ty: ElementType, a: Register, b: Register },
    Compare { direction: Comparison, order: Option<ComparisonType>, ty: ElementType, a: Register, b: Register },
    Select { predicate: Register, on_true: Register, on_false: Register },
    Clamp { ty: ElementType, low: Register, x: Register, high: Register },
    Convert { from: ElementType, to: ElementType, x: Register },
    BitcastConvert { from: ElementType, to: ElementType, x: Register },
    ReducePrecision { ty: ElementType, exponent_bits: u32, mantissa_bits: u32, x: Register },
}

/// A computation on scalars. Registers: parameters, then constants, then one per step.
pub(crate) struct Program {
    parameters: usize,
    constants: Vec<Scalar>,
    steps: Vec<Step>,
    results: Vec<Register>,
}

/// A value while a program is built.
#[derive(Clone)]
enum Slot {
    Parameter(usize),
    Constant(usize),
    Step(usize),
    Tuple(Vec<Slot>),
}

struct Builder<'m> {
    module: &'m Module,
    constants: Vec<Scalar>,
    steps: Vec<(Step, Vec<Slot>)>,
}

/// Longest program; larger computations are left to the general way.
const MAX_STEPS: usize = 2000;

impl Program {
    /// The computation as a program; `None` if it does anything but elementwise work on scalars.
    pub fn compile(module: &Module, id: ComputationId) -> Option<Program> {
        let computation = module.computation(id);
        let parameters = computation.parameters();
        if !parameters.iter().all(|&p| scalar_type(&computation.instruction(p).shape).is_some()) {
            return None;
        }
        let mut builder = Builder { module, constants: Vec::new(), steps: Vec::new() };
        let arguments = (0..parameters.len()).map(Slot::Parameter).collect();
        let root = builder.inline(id, arguments)?;
        let leaves = match root {
            Slot::Tuple(elements) => elements,
            single => vec![single],
        };
        let (count, constants) = (parameters.len(), builder.constants);
        let register = |slot: &Slot| match slot {
            Slot::Parameter(i) => Some(*i),
            Slot::Constant(i) => Some(count + i),
            Slot::Step(i) => Some(count + constants.len() + i),
            Slot::Tuple(_) => None,
        };
        let results = leaves.iter().map(register).collect::<Option<_>>()?;
        let mut steps = Vec::with_capacity(builder.steps.len());
        for (mut step, slots) in builder.steps {
            let registers = slots.iter().map(register).collect::<Option<Vec<_>>>()?;
            step.connect(&registers)?;
            steps.push(step);
        }
        Some(Program { parameters: count, constants, steps, results })
    }

    /// If the program is one binary operation on its two parameters: the operation and its type.
    pub fn as_binary(&self) -> Option<(BinaryOp, ElementType)> {
        match (self.steps.as_slice(), self.results.as_slice()) {
            ([Step::Binary { op, ty, a, b }], [result]) if *result == self.parameters + self.constants.len() => {
                ((*a, *b) == (0, 1) || (*a, *b) == (1, 0) && commutes(*op)).then_some((*op, *ty))
            }
            _ => None,
        }
    }

    /// Registers to run with.
    pub fn registers(&self) -> Vec<Scalar> {
        let mut registers = vec![Scalar::Int(0); self.parameters];
        registers.extend_from_slice(&self.constants);
        registers.resize(registers.len() + self.steps.len(), Scalar::Int(0));
        registers
    }

    /// Runs the program; `registers` come from [`Program::registers`].
    pub fn run(&self, registers: &mut [Scalar], arguments: &[Scalar], results: &mut Vec<Scalar>) -> Outcome<()> {
        if arguments.len() != self.parameters {
            return malformed(format!("{} arguments for {} parameters", arguments.len(), self.parameters));
        }
        registers[..arguments.len()].copy_from_slice(arguments);
        let first = self.parameters + self.constants.len();
        for (i, step) in self.steps.iter().enumerate() {
            registers[first + i] = step.run(registers)?;
        }
        results.clear();
        results.extend(self.results.iter().map(|&r| registers[r]));
        Ok(())
    }
}

fn commutes(op: BinaryOp) -> bool {
    use BinaryOp as B;
    matches!(op, B::Add | B::Multiply | B::Maximum | B::Minimum | B::And | B::Or | B::Xor)
}

impl Step {
    /// Puts the operands' registers in, in operand order.
    fn connect(&mut self, registers: &[Register]) -> Option<()> {
        let fields: Vec<&mut Register> = match self {
            Step::Unary { x, .. }
            | Step::Convert { x, .. }
            | Step::BitcastConvert { x, .. }
            | Step::ReducePrecision { x, .. } => vec![x],
            Step::Binary { a, b, .. } | Step::Compare { a, b, .. } => vec![a, b],
            Step::Select { predicate, on_true, on_false } => vec![predicate, on_true, on_false],
            Step::Clamp { low, x, high, .. } => vec![low, x, high],
        };
        if fields.len() != registers.len() {
            return None;
        }
        fields.into_iter().zip(registers).for_each(|(field, &register)| *field = register);
        Some(())
    }

    fn run(&self, r: &[Scalar]) -> Outcome<Scalar> {
        match *self {
            Step::Unary { op, ty, result, x } => number::unary(op, ty, result, r[x]),
            Step::Binary { op, ty, a, b } => number::binary(op, ty, r[a], r[b]),
            Step::Compare { direction, order, ty, a, b } => {
                Ok(Scalar::Int(i64::from(number::compare(direction, order, ty, r[a], r[b])?)))
            }
            Step::Select { predicate, on_true, on_false } => {
                Ok(if r[predicate] == Scalar::Int(0) { r[on_false] } else { r[on_true] })
            }
            Step::Clamp { ty, low, x, high } => number::clamp(ty, r[low], r[x], r[high]),
            Step::Convert { from, to, x } => Ok(number::convert(from, to, r[x])),
            Step::BitcastConvert { from, to, x } => bitcast(from, to, r[x]),
            Step::ReducePrecision { ty, exponent_bits, mantissa_bits, x } => match r[x] {
                Scalar::Float(x) => Ok(Scalar::Float(number::reduce_precision(ty, exponent_bits, mantissa_bits, x))),
                _ => malformed("reduce-precision of a type that is no float"),
            },
        }
    }
}

fn bitcast(from: ElementType, to: ElementType, x: Scalar) -> Outcome<Scalar> {
    let data = match x {
        Scalar::Int(x) => Data::Int(vec![x]),
        Scalar::Float(x) => Data::Float(vec![x]),
        Scalar::Complex(x) => Data::Complex(vec![x]),
    };
    Ok(number::bitcast(from, to, &data)?.get(0))
}

fn scalar_type(shape: &Shape) -> Option<ElementType> {
    shape.as_array().filter(|array| array.rank() == 0).map(|array| array.element_type)
}

impl Builder<'_> {
    fn inline(&mut self, id: ComputationId, arguments: Vec<Slot>) -> Option<Slot> {
        let computation = self.module.computations.get(id.index())?;
        let mut slots: Vec<Slot> = Vec::with_capacity(computation.instructions.len());
        for instruction in &computation.instructions {
            let operands: Vec<Slot> =
                instruction.operands.iter().map(|o| slots.get(o.index()).cloned()).collect::<Option<_>>()?;
            let types: Vec<Option<ElementType>> =
                instruction.operands.iter().map(|o| scalar_type(&computation.instruction(*o).shape)).collect();
            slots.push(self.slot(&instruction.op, &instruction.shape, operands, &types, &arguments)?);
            if self.steps.len() > MAX_STEPS {
                return None;
            }
        }
        slots.get(computation.root.index()).cloned()
    }

    fn slot(
        &mut self,
        op: &Op,
        shape: &Shape,
        mut operands: Vec<Slot>,
        types: &[Option<ElementType>],
        arguments: &[Slot],
    ) -> Option<Slot> {
        match op {
            Op::Parameter { number } => arguments.get(usize::try_from(*number).ok()?).cloned(),
            Op::Tuple => Some(Slot::Tuple(operands)),
            Op::GetTupleElement { index } => match operands.first()? {
                Slot::Tuple(elements) => elements.get(usize::try_from(*index).ok()?).cloned(),
                _ => None,
            },
            Op::Call { to_apply } | Op::Fusion { calls: to_apply, .. } => self.inline(*to_apply, operands),
            Op::Constant(Literal::Array(literal)) if literal.dims.is_empty() => {
                let value = Array::from_literal(literal).ok()?.single().ok()?;
                self.constants.push(value);
                Some(Slot::Constant(self.constants.len() - 1))
            }
            // On scalars these change nothing.
            Op::Copy | Op::Reshape | Op::Broadcast { .. } | Op::Transpose { .. } | Op::OptBarrier
                if operands.len() == 1 && types.first()? == &scalar_type(shape) =>
            {
                operands.pop()
            }
            _ => {
                let types = types.iter().copied().collect::<Option<Vec<_>>>()?;
                let step = step(op, scalar_type(shape)?, &types)?;
                self.steps.push((step, operands));
                Some(Slot::Step(self.steps.len() - 1))
            }
        }
    }
}

fn step(op: &Op, result: ElementType, types: &[ElementType]) -> Option<Step> {
    let ty = *types.first()?;
    Some(match *op {
        Op::Unary(op) => Step::Unary { op, ty, result, x: 0 },
        Op::Binary(op) => Step::Binary { op, ty, a: 0, b: 0 },
        Op::Compare { direction, order } => Step::Compare { direction, order, ty, a: 0, b: 0 },
        Op::Select => Step::Select { predicate: 0, on_true: 0, on_false: 0 },
        Op::Clamp => Step::Clamp { ty, low: 0, x: 0, high: 0 },
        Op::Convert => Step::Convert { from: ty, to: result, x: 0 },
        Op::BitcastConvert if ty.bits() == result.bits() => Step::BitcastConvert { from: ty, to: result, x: 0 },
        Op::ReducePrecision { exponent_bits: e @ 1..=11, mantissa_bits: m @ 0..=52 } => {
            Step::ReducePrecision { ty, exponent_bits: e as u32, mantissa_bits: m as u32, x: 0 }
        }
        _ => return None,
    })
}
