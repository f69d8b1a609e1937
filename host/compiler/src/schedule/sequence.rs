//! The steps of one computation.

use fusebox_core::hlo::print_module;
use fusebox_core::hlo::{ArrayLiteral, ComputationId, InstrId, Instruction, Literal, Op, Shape};
use fusebox_runtime::{HostOp, Slice, Thunk};

use super::{Scheduler, leaf_bytes, leaf_count};
use crate::CompileError;
use crate::host_module;

/// Slices of a value's array leaves.
pub type Value = Vec<Slice>;

/// A computation while its steps are made.
pub struct Frame {
    /// The computation.
    pub id: ComputationId,
    /// Per instruction, where its value stands.
    pub values: Vec<Value>,
}

impl Frame {
    /// Values of an instruction's operands, one after the other.
    pub fn operands(&self, instruction: &Instruction) -> Value {
        instruction.operands.iter().flat_map(|o| self.values[o.index()].clone()).collect()
    }
}

impl Scheduler<'_> {
    /// Appends the steps of a computation whose parameters stand in `arguments`; gives its result.
    pub fn sequence(
        &mut self,
        id: ComputationId,
        arguments: &[Value],
        thunks: &mut Vec<Thunk>,
    ) -> Result<Value, CompileError> {
        let module = self.module;
        let computation = module.computation(id);
        let mut frame = Frame { id, values: Vec::with_capacity(computation.instructions.len()) };
        for (instr, instruction) in computation.ids().zip(&computation.instructions) {
            let value = match &instruction.op {
                Op::Parameter { number } => arguments[*number as usize].clone(),
                _ => self.instruction(&frame, instr, instruction, thunks)?,
            };
            frame.values.push(value);
        }
        Ok(frame.values.swap_remove(computation.root.index()))
    }

    fn instruction(
        &mut self,
        frame: &Frame,
        id: InstrId,
        instruction: &Instruction,
        thunks: &mut Vec<Thunk>,
    ) -> Result<Value, CompileError> {
        match &instruction.op {
            Op::Constant(literal) => Ok(self.constant(literal)),
            Op::Tuple | Op::Reshape => Ok(frame.operands(instruction)),
            Op::GetTupleElement { index } => Ok(self.element(frame, instruction, *index as usize)),
            Op::AfterAll => Ok(Vec::new()),
            Op::Fusion { .. } => self.kernel(frame, id, instruction, thunks),
            Op::While { condition, body } => self.repeat(frame, instruction, *condition, *body, thunks),
            Op::Conditional { branches } => self.branch(frame, instruction, branches, thunks),
            _ => Ok(self.host_op(frame, instruction, thunks)),
        }
    }

    fn constant(&mut self, literal: &Literal) -> Value {
        literal.leaves().into_iter().filter_map(Literal::as_array).map(|array| self.constant_array(array)).collect()
    }

    fn constant_array(&mut self, array: &ArrayLiteral) -> Slice {
        if let Some(slice) = self.constants.get(&*array.data) {
            return *slice;
        }
        let slice = self.buffers.constant(array.data.to_vec());
        self.constants.insert(array.data.to_vec(), slice);
        slice
    }

    fn element(&self, frame: &Frame, instruction: &Instruction, index: usize) -> Value {
        let operand = instruction.operands[0];
        let shape = &self.module.computation(frame.id).instruction(operand).shape;
        let elements = shape.as_tuple().unwrap_or(&[]);
        let first: usize = elements[..index].iter().map(leaf_count).sum();
        frame.values[operand.index()][first..first + leaf_count(&elements[index])].to_vec()
    }

    fn kernel(
        &mut self,
        frame: &Frame,
        id: InstrId,
        instruction: &Instruction,
        thunks: &mut Vec<Thunk>,
    ) -> Result<Value, CompileError> {
        let unit = *self.kernels.of.get(&(frame.id, id)).ok_or_else(|| CompileError::Internal {
            phase: "schedule",
            message: format!("no kernel was made for {}", instruction.name),
        })?;
        let results = self.new_value(&instruction.shape);
        let mut arguments = frame.operands(instruction);
        self.fill_outputs(unit, &arguments, &results, thunks);
        arguments.extend(&results);
        self.buffers.step();
        self.buffers.touch(&arguments);
        thunks.push(Thunk::Kernel { kernel: unit as u32, arguments });
        Ok(results)
    }

    /// Outputs that start from a parameter's value get it.
    fn fill_outputs(&mut self, unit: usize, parameters: &[Slice], results: &[Slice], thunks: &mut Vec<Thunk>) {
        let Some(plan) = self.plans.get(unit) else { return };
        for (output, &result) in plan.outputs.iter().zip(results) {
            if let Some(&parameter) = output.initial.and_then(|number| parameters.get(number as usize)) {
                self.copy(parameter, result, thunks);
            }
        }
    }

    fn host_op(&mut self, frame: &Frame, instruction: &Instruction, thunks: &mut Vec<Thunk>) -> Value {
        let computation = self.module.computation(frame.id);
        let shapes: Vec<Shape> =
            instruction.operands.iter().map(|&o| computation.instruction(o).shape.clone()).collect();
        let module = host_module::of(self.module, instruction, &shapes);
        let op = self.host_ops.len() as u32;
        self.host_ops.push(HostOp {
            name: instruction.name.clone(),
            opcode: instruction.opcode().name().into(),
            hlo: print_module(&module),
        });
        let (arguments, results) = (frame.operands(instruction), self.new_value(&instruction.shape));
        self.buffers.step();
        self.buffers.touch(arguments.iter().chain(&results));
        thunks.push(Thunk::HostOp { op, arguments, results: results.clone() });
        results
    }

    /// Fresh buffers for a value of that shape.
    pub fn new_value(&mut self, shape: &Shape) -> Value {
        leaf_bytes(shape).map(|bytes| self.buffers.temporary(bytes)).collect()
    }

    /// Appends copies of `from` to `to`, as if all were made at once.
    pub fn copy_all(&mut self, from: &[Slice], to: &[Slice], thunks: &mut Vec<Thunk>) {
        let staged: Vec<Slice> = from
            .iter()
            .zip(to)
            .map(|(source, target)| {
                let is_overwritten = source != target && to.contains(source);
                if is_overwritten { self.staged_copy(*source, thunks) } else { *source }
            })
            .collect();
        for (&source, &target) in staged.iter().zip(to) {
            if source != target {
                self.copy(source, target, thunks);
            }
        }
    }

    fn staged_copy(&mut self, source: Slice, thunks: &mut Vec<Thunk>) -> Slice {
        let stage = self.buffers.temporary(source.bytes);
        self.copy(source, stage, thunks);
        stage
    }

    fn copy(&mut self, from: Slice, to: Slice, thunks: &mut Vec<Thunk>) {
        self.buffers.step();
        self.buffers.touch([&from, &to]);
        if from.bytes > 0 {
            thunks.push(Thunk::Copy { from, to });
        }
    }
}
