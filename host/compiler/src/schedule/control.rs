//! Loops and branches.

use fusebox_core::hlo::{ComputationId, Instruction};
use fusebox_runtime::Thunk;

use super::Scheduler;
use super::sequence::{Frame, Value};
use crate::CompileError;

impl Scheduler<'_> {
    /// A loop keeps its state in buffers of its own: the operand is copied in, each iteration's result is
    /// copied back.
    pub fn repeat(
        &mut self,
        frame: &Frame,
        instruction: &Instruction,
        condition: ComputationId,
        body: ComputationId,
        thunks: &mut Vec<Thunk>,
    ) -> Result<Value, CompileError> {
        let state = self.new_value(&instruction.shape);
        self.copy_all(&frame.operands(instruction), &state, thunks);
        self.buffers.step();
        self.buffers.touch(&state);
        let mut condition_thunks = Vec::new();
        let predicate = self.sequence(condition, std::slice::from_ref(&state), &mut condition_thunks)?;
        self.buffers.step();
        self.buffers.touch(&predicate);
        let mut body_thunks = Vec::new();
        let next = self.sequence(body, std::slice::from_ref(&state), &mut body_thunks)?;
        self.copy_all(&next, &state, &mut body_thunks);
        self.buffers.step();
        self.buffers.touch(&state);
        thunks.push(Thunk::While {
            name: instruction.name.clone(),
            condition: condition_thunks,
            predicate: predicate[0],
            body: body_thunks,
        });
        Ok(state)
    }

    /// Every branch copies its result to the same buffers.
    pub fn branch(
        &mut self,
        frame: &Frame,
        instruction: &Instruction,
        branches: &[ComputationId],
        thunks: &mut Vec<Thunk>,
    ) -> Result<Value, CompileError> {
        let index = frame.values[instruction.operands[0].index()][0];
        let results = self.new_value(&instruction.shape);
        self.buffers.step();
        self.buffers.touch(results.iter().chain([&index]));
        let mut sequences = Vec::new();
        for (&branch, argument) in branches.iter().zip(&instruction.operands[1..]) {
            let mut steps = Vec::new();
            let argument = frame.values[argument.index()].clone();
            let value = self.sequence(branch, &[argument], &mut steps)?;
            self.copy_all(&value, &results, &mut steps);
            sequences.push(steps);
        }
        self.buffers.step();
        self.buffers.touch(&results);
        thunks.push(Thunk::Conditional { name: instruction.name.clone(), index, branches: sequences });
        Ok(results)
    }
}
