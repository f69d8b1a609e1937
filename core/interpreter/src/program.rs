//! Computations on scalars, flattened: what reduce, sort, scatter and their like apply per element.
//!
//! The steps are the same elementwise functions the interpreter uses on arrays; only the walk over
//! instructions and the allocation of values per element are saved.

use fusebox_core::hlo::{
    BinaryOp, Comparison, ComparisonType, ComputationId, ElementType, Instruction, Literal, Module, Op, Shape, UnaryOp,
};

use crate::error::{Outcome, ensure, malformed};
use crate::number;
use crate::value::{Array, Data, Scalar};

type Register = usize;

/// An elementwise operation, with the types that decide what it does.
#[derive(Clone, Copy)]
enum Operation {
    Unary { op: UnaryOp, ty: ElementType, result: ElementType },
    Binary { op: BinaryOp, ty: ElementType },
    Compare { direction: Comparison, order: Option<ComparisonType>, ty: ElementType },
    Select,
    Clamp { ty: ElementType },
    Convert { from: ElementType, to: ElementType },
    BitcastConvert { from: ElementType, to: ElementType },
    ReducePrecision { ty: ElementType, exponent_bits: u32, mantissa_bits: u32 },
}

struct Step {
    operation: Operation,
    /// As many as the operation takes, in operand order.
    operands: [Register; 3],
    result: Register,
}

/// A computation on scalars. Registers: parameters, then one per constant or step.
pub(crate) struct Program {
    parameters: usize,
    /// What registers hold before a run.
    registers: Vec<Scalar>,
    steps: Vec<Step>,
    results: Vec<Register>,
}

/// A value while a program is built.
#[derive(Clone)]
enum Slot {
    Register(Register),
    Tuple(Vec<Slot>),
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
        let registers = vec![Scalar::Int(0); parameters.len()];
        let mut program = Program { parameters: parameters.len(), registers, steps: Vec::new(), results: Vec::new() };
        let leaves = match program.inline(module, id, (0..parameters.len()).map(Slot::Register).collect())? {
            Slot::Tuple(elements) => elements,
            single => vec![single],
        };
        program.results = leaves.iter().map(Slot::register).collect::<Option<_>>()?;
        Some(program)
    }

    /// If the program is one binary operation on its two parameters: the operation and its type.
    pub fn as_binary(&self) -> Option<(BinaryOp, ElementType)> {
        match (self.steps.as_slice(), self.results.as_slice()) {
            ([Step { operation: Operation::Binary { op, ty }, operands: [a, b, _], result }], [root])
                if root == result =>
            {
                ((*a, *b) == (0, 1) || (*a, *b) == (1, 0) && commutes(*op)).then_some((*op, *ty))
            }
            _ => None,
        }
    }

    /// Registers to run with.
    pub fn registers(&self) -> Vec<Scalar> {
        self.registers.clone()
    }

    /// Runs the program; `registers` come from [`Program::registers`].
    pub fn run(&self, registers: &mut [Scalar], arguments: &[Scalar], results: &mut Vec<Scalar>) -> Outcome<()> {
        ensure!(arguments.len() == self.parameters, "{} arguments for {} parameters", arguments.len(), self.parameters);
        registers[..arguments.len()].copy_from_slice(arguments);
        for step in &self.steps {
            registers[step.result] = step.run(registers)?;
        }
        results.clear();
        results.extend(self.results.iter().map(|&r| registers[r]));
        Ok(())
    }

    fn inline(&mut self, module: &Module, id: ComputationId, arguments: Vec<Slot>) -> Option<Slot> {
        let computation = module.computations.get(id.index())?;
        let mut slots: Vec<Slot> = Vec::with_capacity(computation.instructions.len());
        for instruction in &computation.instructions {
            let operands = instruction.operands.iter().map(|o| slots.get(o.index()).cloned()).collect::<Option<_>>()?;
            let types = instruction.operands.iter().map(|o| scalar_type(&computation.instruction(*o).shape));
            slots.push(self.slot(module, instruction, operands, &types.collect::<Vec<_>>(), &arguments)?);
            if self.steps.len() > MAX_STEPS {
                return None;
            }
        }
        slots.get(computation.root.index()).cloned()
    }

    fn slot(
        &mut self,
        module: &Module,
        instruction: &Instruction,
        mut operands: Vec<Slot>,
        types: &[Option<ElementType>],
        arguments: &[Slot],
    ) -> Option<Slot> {
        match &instruction.op {
            Op::Parameter { number } => arguments.get(usize::try_from(*number).ok()?).cloned(),
            Op::Tuple => Some(Slot::Tuple(operands)),
            Op::GetTupleElement { index } => match operands.first()? {
                Slot::Tuple(elements) => elements.get(usize::try_from(*index).ok()?).cloned(),
                Slot::Register(_) => None,
            },
            Op::Call { to_apply } | Op::Fusion { calls: to_apply, .. } => self.inline(module, *to_apply, operands),
            Op::Constant(Literal::Array(literal)) if literal.dims.is_empty() => {
                Some(self.add_register(Array::from_literal(literal).ok()?.single().ok()?))
            }
            // On scalars these change nothing.
            Op::Copy | Op::Reshape | Op::Broadcast { .. } | Op::Transpose { .. } | Op::OptBarrier
                if operands.len() == 1 && types.first()? == &scalar_type(&instruction.shape) =>
            {
                operands.pop()
            }
            op => {
                let types = types.iter().copied().collect::<Option<Vec<_>>>()?;
                let operation = operation(op, scalar_type(&instruction.shape)?, &types)?;
                let mut registers = [0; 3];
                for (place, operand) in registers.iter_mut().zip(&operands) {
                    *place = operand.register()?;
                }
                self.steps.push(Step { operation, operands: registers, result: self.registers.len() });
                Some(self.add_register(Scalar::Int(0)))
            }
        }
    }

    fn add_register(&mut self, value: Scalar) -> Slot {
        self.registers.push(value);
        Slot::Register(self.registers.len() - 1)
    }
}

impl Slot {
    fn register(&self) -> Option<Register> {
        match self {
            Slot::Register(register) => Some(*register),
            Slot::Tuple(_) => None,
        }
    }
}

fn commutes(op: BinaryOp) -> bool {
    use BinaryOp as B;
    matches!(op, B::Add | B::Multiply | B::Maximum | B::Minimum | B::And | B::Or | B::Xor)
}

fn scalar_type(shape: &Shape) -> Option<ElementType> {
    shape.as_array().filter(|array| array.rank() == 0).map(|array| array.element_type)
}

/// The operation on operands of these types, if it is elementwise and takes so many.
fn operation(op: &Op, result: ElementType, types: &[ElementType]) -> Option<Operation> {
    Some(match (op, types) {
        (&Op::Unary(op), &[ty]) => Operation::Unary { op, ty, result },
        (&Op::Binary(op), &[ty, _]) => Operation::Binary { op, ty },
        (&Op::Compare { direction, order }, &[ty, _]) => Operation::Compare { direction, order, ty },
        (Op::Select, [_, _, _]) => Operation::Select,
        (Op::Clamp, &[ty, _, _]) => Operation::Clamp { ty },
        (Op::Convert, &[from]) => Operation::Convert { from, to: result },
        (Op::BitcastConvert, &[from]) if from.bits() == result.bits() => Operation::BitcastConvert { from, to: result },
        (&Op::ReducePrecision { exponent_bits: e @ 1..=11, mantissa_bits: m @ 0..=52 }, &[ty]) => {
            Operation::ReducePrecision { ty, exponent_bits: e as u32, mantissa_bits: m as u32 }
        }
        _ => return None,
    })
}

impl Step {
    /// Reads no more registers than the operation takes: comparators of sorts run a million times.
    fn run(&self, registers: &[Scalar]) -> Outcome<Scalar> {
        let operand = |number: usize| registers[self.operands[number]];
        match self.operation {
            Operation::Unary { op, ty, result } => number::unary(op, ty, result, operand(0)),
            Operation::Binary { op, ty } => number::binary(op, ty, operand(0), operand(1)),
            Operation::Compare { direction, order, ty } => {
                Ok(Scalar::Int(i64::from(number::compare(direction, order, ty, operand(0), operand(1))?)))
            }
            Operation::Select if operand(0) == Scalar::Int(0) => Ok(operand(2)),
            Operation::Select => Ok(operand(1)),
            Operation::Clamp { ty } => number::clamp(ty, operand(0), operand(1), operand(2)),
            Operation::Convert { from, to } => Ok(number::convert(from, to, operand(0))),
            Operation::BitcastConvert { from, to } => {
                Ok(number::bitcast(from, to, &Data::filled(operand(0), 1))?.get(0))
            }
            Operation::ReducePrecision { ty, exponent_bits, mantissa_bits } => match operand(0) {
                Scalar::Float(x) => Ok(Scalar::Float(number::reduce_precision(ty, exponent_bits, mantissa_bits, x))),
                _ => malformed("reduce-precision of a type that is no float"),
            },
        }
    }
}
