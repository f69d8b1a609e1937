//! Evaluation of computations, and control flow.

use std::collections::HashMap;
use std::rc::Rc;

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Literal, Module, Op, Shape};

use crate::error::{Fault, InstructionError, Outcome, ensure, malformed};
use crate::int4;
use crate::memory;
use crate::operation;
use crate::plan::Plan;
use crate::program::Program;
use crate::random::Generator;
use crate::value::{Scalar, Value};

/// The state of one evaluation: the module, and what was worked out about it so far.
pub(crate) struct Evaluator<'m> {
    pub module: &'m Module,
    /// Source of `rng`'s numbers.
    pub generator: Generator,
    constants: HashMap<(ComputationId, InstrId), Value>,
    plans: HashMap<ComputationId, Rc<Plan>>,
    programs: HashMap<ComputationId, Option<Rc<Program>>>,
}

impl<'m> Evaluator<'m> {
    pub fn new(module: &'m Module) -> Self {
        Evaluator {
            module,
            generator: Generator::default(),
            constants: HashMap::new(),
            plans: HashMap::new(),
            programs: HashMap::new(),
        }
    }

    pub fn computation(&mut self, id: ComputationId, arguments: Vec<Value>) -> Result<Value, InstructionError> {
        let computation = self.module.computation(id);
        let plan = self.plan(id);
        let mut arguments: Vec<Option<Value>> = arguments.into_iter().map(Some).collect();
        let mut values: Vec<Option<Value>> = vec![None; computation.instructions.len()];
        for instr in computation.ids().filter(|instr| plan.live[instr.index()]) {
            let value = match computation.instruction(instr).op {
                Op::Parameter { number } => argument(&mut arguments, number),
                Op::GetTupleElement { index } if plan.takes_element[instr.index()] => {
                    take_element(&mut values, computation, instr, index)
                }
                _ => operands(&mut values, computation, instr, &plan)
                    .and_then(|operands| self.instruction(id, instr, operands)),
            };
            let located = |fault| InstructionError::locate(self.module, computation, instr, fault);
            values[instr.index()] = Some(value.map_err(located)?);
        }
        let missing = || {
            let fault = Fault::Malformed("the computation has no result".into());
            InstructionError::locate(self.module, computation, computation.root, fault)
        };
        values[computation.root.index()].take().ok_or_else(missing)
    }

    /// Runs a computation for an operation that calls it.
    pub fn call(&mut self, id: ComputationId, arguments: Vec<Value>) -> Outcome<Value> {
        self.computation(id, arguments).map_err(|error| Fault::Called(Box::new(error)))
    }

    /// Evaluates one instruction and checks that the result has the shape it announces.
    pub fn instruction(&mut self, id: ComputationId, instr: InstrId, mut operands: Vec<Value>) -> Outcome<Value> {
        let computation = self.module.computation(id);
        let instruction = computation.instruction(instr);
        memory::ensure_for(instruction, &operands)?;
        int4::cut_operands(instruction, &mut operands);
        let value = match &instruction.op {
            Op::Constant(literal) => self.constant(id, instr, literal)?,
            Op::Call { to_apply } | Op::Fusion { calls: to_apply, .. } => self.call(*to_apply, operands)?,
            Op::While { condition, body } => self.run_while(*condition, *body, operands)?,
            Op::Conditional { branches } => self.conditional(branches, operands)?,
            _ => operation::evaluate(self, computation, instruction, operands)?,
        };
        let fits = fits(&value, &instruction.shape);
        ensure!(fits, "the result is {:?}, announced is {:?}", value.shape(), instruction.shape);
        Ok(value)
    }

    /// The computation as a program on scalars, if it is one.
    pub fn program(&mut self, id: ComputationId) -> Option<Rc<Program>> {
        let module = self.module;
        self.programs.entry(id).or_insert_with(|| Program::compile(module, id).map(Rc::new)).clone()
    }

    fn plan(&mut self, id: ComputationId) -> Rc<Plan> {
        let module = self.module;
        self.plans.entry(id).or_insert_with(|| Rc::new(Plan::new(module.computation(id)))).clone()
    }

    fn constant(&mut self, id: ComputationId, instr: InstrId, literal: &Literal) -> Outcome<Value> {
        if let Some(value) = self.constants.get(&(id, instr)) {
            return Ok(value.clone());
        }
        let value = Value::from_literal(literal)?;
        self.constants.insert((id, instr), value.clone());
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

fn argument(arguments: &mut [Option<Value>], number: i64) -> Outcome<Value> {
    let slot = usize::try_from(number).ok().and_then(|n| arguments.get_mut(n));
    match slot.and_then(Option::take) {
        Some(value) => Ok(value),
        None => malformed(format!("there is no argument for parameter {number}")),
    }
}

fn take_element(values: &mut [Option<Value>], computation: &Computation, instr: InstrId, index: i64) -> Outcome<Value> {
    let tuple = computation.instruction(instr).operands[0];
    let elements = match values[tuple.index()].as_mut() {
        Some(Value::Tuple(elements)) => elements,
        _ => return malformed("the operand of get-tuple-element is no tuple"),
    };
    match usize::try_from(index).ok().and_then(|i| elements.get_mut(i)) {
        Some(element) => Ok(std::mem::replace(element, Value::Token)),
        None => malformed(format!("the tuple has no element {index}")),
    }
}

/// The operands' values: moved where this is the last use, so that they can be changed in place.
fn operands(
    values: &mut [Option<Value>],
    computation: &Computation,
    instr: InstrId,
    plan: &Plan,
) -> Outcome<Vec<Value>> {
    let ids = &computation.instruction(instr).operands;
    let mut result = Vec::with_capacity(ids.len());
    for (i, id) in ids.iter().enumerate() {
        let last = plan.last_use[id.index()] == Some(instr) && !ids[i + 1..].contains(id);
        let slot = &mut values[id.index()];
        match if last { slot.take() } else { slot.clone() } {
            Some(value) => result.push(value),
            None => return malformed("an operand stands after its user"),
        }
    }
    Ok(result)
}

fn fits(value: &Value, shape: &Shape) -> bool {
    match (value, shape) {
        (Value::Array(array), Shape::Array(shape)) => {
            array.ty == shape.element_type
                && array.dims.len() == shape.dims.len()
                && array.dims.iter().zip(&shape.dims).all(|(&a, &b)| a as i64 == b)
        }
        (Value::Tuple(values), Shape::Tuple(shapes)) => {
            values.len() == shapes.len() && values.iter().zip(shapes).all(|(v, s)| fits(v, s))
        }
        (Value::Token, Shape::Token) => true,
        _ => false,
    }
}
