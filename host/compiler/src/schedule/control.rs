//! Creates the thunks of loops and branches.

use std::collections::HashSet;

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction};
use fusebox_runtime::{Slice, Thunk};

use super::Scheduler;
use super::sequence::{Arguments, Frame, ValueSlices};
use super::uses::LeafUses;
use crate::CompileError;
use crate::passes::stated_iterations;

impl Scheduler<'_> {
    /// Appends a loop. An element of the state that the body passes on unchanged remains in the
    /// operand's buffer. An element of the state that the body changes is in a buffer that the loop
    /// may write. The buffers that the loop may write start with the operand's value, and each
    /// iteration writes the next state into these buffers.
    pub fn repeat(
        &mut self,
        frame: &Frame,
        id: InstrId,
        condition: ComputationId,
        body: ComputationId,
        thunks: &mut Vec<Thunk>,
    ) -> Result<ValueSlices, CompileError> {
        let instruction = self.module.computation(frame.id).instruction(id);
        let (state, borrowed) = self.loop_state(frame, id, instruction, body, thunks);
        self.buffers.step();
        self.buffers.touch(&state);
        let mut condition_thunks = Vec::new();
        let looks = Arguments { values: vec![state.clone()], borrowed: allocations(&state), targets: Vec::new() };
        let predicate = self.sequence(condition, &looks, &mut condition_thunks)?;
        self.buffers.step();
        self.buffers.touch(&predicate);
        let mut body_thunks = Vec::new();
        let iterates =
            Arguments { values: vec![state.clone()], borrowed, targets: state.iter().copied().map(Some).collect() };
        let next = self.sequence(body, &iterates, &mut body_thunks)?;
        self.copy_all(&next, &state, &mut body_thunks);
        self.buffers.step();
        self.buffers.touch(&state);
        thunks.push(Thunk::While {
            name: instruction.name.clone(),
            condition: condition_thunks,
            predicate: predicate[0],
            body: body_thunks,
            iterations: stated_iterations(instruction),
        });
        Ok(state)
    }

    /// Returns the slices of the state, and the numbers of the state's buffers that the body must
    /// not write.
    fn loop_state(
        &mut self,
        frame: &Frame,
        id: InstrId,
        instruction: &Instruction,
        body: ComputationId,
        thunks: &mut Vec<Thunk>,
    ) -> (ValueSlices, HashSet<u32>) {
        let operand = frame.operands(instruction);
        let is_invariant = passed_on(self.module.computation(body));
        let mut state = self.results(frame, id, &instruction.shape);
        for (leaf, &initial) in operand.iter().enumerate() {
            if is_invariant[leaf] || self.may_take(frame, id, &initial, &operand) {
                state[leaf] = initial;
            }
        }
        for (&initial, &place) in operand.iter().zip(&state).filter(|(initial, place)| initial != place) {
            self.copy(initial, place, thunks);
        }
        let borrowed = state.iter().zip(&is_invariant).filter(|(_, invariant)| **invariant).map(|(s, _)| s.allocation);
        let borrowed = borrowed.collect();
        (state, borrowed)
    }

    /// Appends a conditional. All branches write their results into the same buffers. If a result
    /// may replace an operand that is no longer needed, the result uses the operand's buffer.
    pub fn branch(
        &mut self,
        frame: &Frame,
        id: InstrId,
        branches: &[ComputationId],
        thunks: &mut Vec<Thunk>,
    ) -> Result<ValueSlices, CompileError> {
        let instruction = self.module.computation(frame.id).instruction(id);
        let index = frame.values[instruction.operands[0].index()][0];
        let arguments: Vec<ValueSlices> =
            instruction.operands[1..].iter().map(|operand| frame.values[operand.index()].clone()).collect();
        let mut results = self.results(frame, id, &instruction.shape);
        self.take_places(frame, id, branches, &arguments, &mut results);
        self.buffers.step();
        self.buffers.touch(results.iter().chain([&index]));
        let mut sequences = Vec::new();
        for (&branch, argument) in branches.iter().zip(arguments) {
            let mut steps = Vec::new();
            let is_kept = |slice: &&Slice| !self.may_take(frame, id, slice, &argument);
            let borrowed = argument.iter().filter(is_kept).map(|slice| slice.allocation).collect();
            let arguments =
                Arguments { values: vec![argument], borrowed, targets: results.iter().copied().map(Some).collect() };
            let value = self.sequence(branch, &arguments, &mut steps)?;
            self.copy_all(&value, &results, &mut steps);
            sequences.push(steps);
        }
        self.buffers.step();
        self.buffers.touch(&results);
        thunks.push(Thunk::Conditional { name: instruction.name.clone(), index, branches: sequences });
        Ok(results)
    }

    /// Assigns an operand's buffer to a result of a conditional, if the caller wants the result in
    /// this buffer. Also uses the operand's buffer if a branch returns this operand unchanged,
    /// because the branch then need not copy the operand.
    fn take_places(
        &self,
        frame: &Frame,
        id: InstrId,
        branches: &[ComputationId],
        arguments: &[ValueSlices],
        results: &mut ValueSlices,
    ) {
        let returned_parameters: Vec<Vec<Option<usize>>> =
            branches.iter().map(|&branch| returned_parameters(self.module.computation(branch))).collect();
        for leaf in 0..results.len() {
            let wanted = frame.wanted(id, leaf);
            if wanted == Some(results[leaf]) {
                continue;
            }
            let given =
                returned_parameters.iter().zip(arguments).filter_map(|(given, value)| Some(value[given[leaf]?]));
            let may_be = |place: &Slice| {
                let shows = |value: &&ValueSlices| value.iter().any(|other| other.overlaps(place));
                let mut shown = arguments.iter().filter(shows).peekable();
                let is_operand = shown.peek().is_some();
                is_operand
                    && place.bytes == results[leaf].bytes
                    && !results.iter().any(|other| other.overlaps(place))
                    && shown.all(|value| self.may_take(frame, id, place, value))
            };
            if let Some(place) = wanted.into_iter().chain(given).find(may_be) {
                results[leaf] = place;
            }
        }
    }
}

/// Returns, for each leaf of a loop's state, whether the body passes it on unchanged.
fn passed_on(body: &Computation) -> Vec<bool> {
    returned_parameters(body).into_iter().enumerate().map(|(number, leaf)| leaf == Some(number)).collect()
}

/// Returns, for each leaf of the result, the leaf of the parameter that has the same value. `None`
/// if there is no such leaf.
fn returned_parameters(computation: &Computation) -> Vec<Option<usize>> {
    let uses = LeafUses::in_program_order(computation);
    let given = computation.parameters().first().map_or(&[][..], |&id| uses.leaves(id));
    uses.result().iter().map(|result| given.iter().position(|leaf| leaf == result)).collect()
}

fn allocations(value: &[Slice]) -> HashSet<u32> {
    value.iter().map(|slice| slice.allocation).collect()
}
