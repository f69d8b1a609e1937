//! Evaluation of computations, and control flow.

use fusebox_core::hlo::{ComputationId, InstrId, ManualComputation, Module, Op, Shape};

use crate::caller::Caller;
use crate::calls::live;
use crate::devices::Device;
use crate::error::{Fault, InstructionError, Outcome, ensure, malformed};
use crate::int4;
use crate::memory;
use crate::operation;
use crate::random::Generator;
use crate::value::{Scalar, Value};

/// The state of one evaluation.
pub(crate) struct Evaluator<'m> {
    module: &'m Module,
    /// Source of random numbers for `rng`.
    generator: Generator,
    /// The device that this evaluation simulates, if the program is for several devices.
    device: Option<Device<'m>>,
}

impl<'m> Evaluator<'m> {
    pub fn new(module: &'m Module, device: Option<Device<'m>>) -> Self {
        Evaluator { module, generator: Generator::default(), device }
    }

    pub fn computation(&mut self, id: ComputationId, arguments: Vec<Value>) -> Result<Value, InstructionError> {
        let computation = self.module.computation(id);
        let live = live(computation);
        let mut values: Vec<Value> = Vec::with_capacity(computation.instructions.len());
        for (instr, is_live) in computation.ids().zip(live) {
            let instruction = computation.instruction(instr);
            let value = match instruction.op {
                _ if !is_live => Ok(Value::Token),
                Op::Parameter { number } => argument(&arguments, number),
                _ => {
                    let operands = instruction.operands.iter().map(|operand| values.get(operand.index()).cloned());
                    match operands.collect::<Option<Vec<_>>>() {
                        Some(operands) => self.instruction(id, instr, operands),
                        None => malformed("an operand comes after its user"),
                    }
                }
            };
            values.push(value.map_err(|fault| InstructionError::locate(self.module, computation, instr, fault))?);
        }
        Ok(values.swap_remove(computation.root.index()))
    }

    /// Evaluates one instruction and checks that the result has the instruction's shape.
    pub fn instruction(&mut self, id: ComputationId, instr: InstrId, mut operands: Vec<Value>) -> Outcome<Value> {
        let computation = self.module.computation(id);
        let instruction = computation.instruction(instr);
        memory::ensure_for(instruction, &operands)?;
        int4::cut_operands(instruction, &mut operands);
        let value = match &instruction.op {
            Op::Constant(literal) => Value::from_literal(literal)?,
            Op::Call { to_apply } if self.module.computation(*to_apply).name.starts_with(ManualComputation::BODY) => {
                self.call_on_device(*to_apply, operands)?
            }
            Op::Call { to_apply } | Op::Fusion { calls: to_apply, .. } => self.call(*to_apply, operands)?,
            Op::While { condition, body } => self.run_while(*condition, *body, operands)?,
            Op::Conditional { branches } => self.conditional(branches, operands)?,
            _ => operation::evaluate(self, computation, instruction, operands)?,
        };
        let fits = fits(&value, &instruction.shape);
        ensure!(fits, "the result is {:?}, but is declared as {:?}", value.shape(), instruction.shape);
        Ok(value)
    }

    fn run_while(&mut self, condition: ComputationId, body: ComputationId, operands: Vec<Value>) -> Outcome<Value> {
        let Ok([mut state]) = <[Value; 1]>::try_from(operands) else {
            return malformed("while takes one operand");
        };
        while self.call(condition, vec![state.clone()])?.array()?.single()? != Scalar::Int(0) {
            state = self.call(body, vec![state])?;
        }
        Ok(state)
    }

    fn conditional(&mut self, branches: &[ComputationId], mut operands: Vec<Value>) -> Outcome<Value> {
        let fits = !branches.is_empty() && operands.len() == branches.len() + 1;
        ensure!(fits, "conditional takes a predicate or index and one argument per branch");
        let selector = operands[0].array()?;
        let index = selector.single_int()?;
        let branch = if selector.ty == fusebox_core::hlo::ElementType::Pred {
            usize::from(index == 0)
        } else {
            usize::try_from(index).unwrap_or(usize::MAX).min(branches.len() - 1)
        };
        let argument = operands.swap_remove(branch + 1);
        self.call(branches[branch], vec![argument])
    }
}

impl Caller for Evaluator<'_> {
    fn module(&self) -> &Module {
        self.module
    }

    fn generator(&mut self) -> &mut Generator {
        &mut self.generator
    }

    fn device(&self) -> Option<&Device<'_>> {
        self.device.as_ref()
    }

    fn call_on_device(&mut self, id: ComputationId, arguments: Vec<Value>) -> Outcome<Value> {
        self.device.iter().for_each(Device::enter);
        let result = self.call(id, arguments);
        self.device.iter().for_each(Device::leave);
        result
    }

    fn call(&mut self, id: ComputationId, arguments: Vec<Value>) -> Outcome<Value> {
        self.computation(id, arguments).map_err(|error| Fault::Called(Box::new(error)))
    }
}

fn argument(arguments: &[Value], number: i64) -> Outcome<Value> {
    let argument = usize::try_from(number).ok().and_then(|number| arguments.get(number));
    argument
        .map_or_else(|| malformed(format!("there is no argument for parameter {number}")), |value| Ok(value.clone()))
}

fn fits(value: &Value, shape: &Shape) -> bool {
    match (value, shape) {
        (Value::Array(array), Shape::Array(shape)) => {
            let dims: Vec<i64> = array.dims.iter().map(|&size| size as i64).collect();
            array.ty == shape.element_type && shape.admits(&dims)
        }
        (Value::Tuple(values), Shape::Tuple(shapes)) => {
            values.len() == shapes.len() && values.iter().zip(shapes).all(|(v, s)| fits(v, s))
        }
        (Value::Token, Shape::Token) => true,
        _ => false,
    }
}
