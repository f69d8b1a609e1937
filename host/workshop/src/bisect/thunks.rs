//! Finds the wrong step of the compiled program. For each instruction, the interpreter computes the
//! result from the operands that the program computed. Then the search compares the program's value
//! of the instruction with the interpreter's result.

use std::collections::HashMap;

use fusebox_core::hlo::{ComputationId, InstrId, Literal, Module, Op};
use fusebox_interpreter::EvalError;

use super::{BisectionSettings, LocatedFault, Suspect, for_part, kernel};
use crate::WorkshopError;
use crate::case::Case;
use crate::closeness::{difference_beyond_rounding, jitter};
use crate::probe::{Probe, is_computed};

/// Returns the first instruction whose value is wrong, in a module with fusions.
///
/// # Errors
/// If the interpreter or the program fails.
pub fn first_wrong(case: &Case, settings: &BisectionSettings) -> Result<Option<LocatedFault>, WorkshopError> {
    let Some(entry) = case.module.entry else { return Ok(None) };
    let mut search = ThunkSearch { module: &case.module, settings, probes: HashMap::new() };
    search.sequence(entry, &case.inputs)
}

struct ThunkSearch<'s> {
    module: &'s Module,
    settings: &'s BisectionSettings,
    /// Compiled sequences of instructions. Each sequence is compiled once, even if a loop runs it
    /// many times.
    probes: HashMap<ComputationId, Probe>,
}

impl ThunkSearch<'_> {
    fn sequence(&mut self, id: ComputationId, inputs: &[Literal]) -> Result<Option<LocatedFault>, WorkshopError> {
        let sequence = self.module.computation(id);
        let values = self.probe(id)?.values(inputs)?;
        for instruction in sequence.ids().filter(|&id| is_computed(sequence, id)) {
            let operands: Vec<Literal> =
                sequence.instruction(instruction).operands.iter().map(|it| values[it.index()].clone()).collect();
            let found = self.instruction(id, instruction, &operands, &values[instruction.index()])?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn probe(&mut self, id: ComputationId) -> Result<&mut Probe, WorkshopError> {
        if !self.probes.contains_key(&id) {
            let sequence = self.module.computation(id);
            let options = for_part(&self.settings.compile);
            let probe = Probe::new(self.module, id, sequence.ids(), &options, &self.settings.run)?;
            self.probes.insert(id, probe);
        }
        let missing = || WorkshopError::Interface("a sequence was not compiled".into());
        self.probes.get_mut(&id).ok_or_else(missing)
    }

    fn instruction(
        &mut self,
        sequence: ComputationId,
        id: InstrId,
        operands: &[Literal],
        found: &Literal,
    ) -> Result<Option<LocatedFault>, WorkshopError> {
        let module = self.module;
        let instruction = module.computation(sequence).instruction(id);
        // The interpreter evaluates each random-number instruction from the initial state. In a
        // program all random-number instructions use one state, so their values differ.
        if matches!(instruction.op, Op::Rng { .. } | Op::RngGetAndUpdateState { .. }) {
            return Ok(None);
        }
        let evaluate = |operands: &[Literal]| fusebox_interpreter::evaluate_instruction(module, sequence, id, operands);
        let expected = evaluate(operands)?;
        let jittered = || Ok([expected.clone(), evaluate(&operands.iter().map(jitter).collect::<Vec<_>>())?]);
        let Some(difference) = difference_beyond_rounding::<EvalError>(found, &expected, jittered)? else {
            return Ok(None);
        };
        let inside = match &instruction.op {
            Op::While { condition, body } => self.in_loop(*condition, *body, &operands[0])?,
            Op::Conditional { branches } => self.in_branches(branches, operands)?,
            Op::Fusion { .. } => return self.in_kernel(sequence, id, operands, difference).map(Some),
            _ => None,
        };
        let (name, opcode) = (instruction.name.clone(), instruction.opcode().to_string());
        let suspect = Suspect::Thunk { instruction: name, opcode };
        Ok(Some(inside.unwrap_or(LocatedFault { suspect, difference, wrong: None })))
    }

    /// Checks each iteration of a loop. The interpreter computes the state with which an iteration
    /// starts.
    fn in_loop(
        &mut self,
        condition: ComputationId,
        body: ComputationId,
        state: &Literal,
    ) -> Result<Option<LocatedFault>, WorkshopError> {
        let mut state = vec![state.clone()];
        loop {
            if let Some(found) = self.sequence(condition, &state)? {
                return Ok(Some(found));
            }
            let goes_on = fusebox_interpreter::evaluate_computation(self.module, condition, &state)?;
            if goes_on.as_array().is_none_or(|array| array.data.first() == Some(&0)) {
                return Ok(None);
            }
            if let Some(found) = self.sequence(body, &state)? {
                return Ok(Some(found));
            }
            state = vec![fusebox_interpreter::evaluate_computation(self.module, body, &state)?];
        }
    }

    /// Checks every branch, including branches that the program does not take.
    fn in_branches(
        &mut self,
        branches: &[ComputationId],
        operands: &[Literal],
    ) -> Result<Option<LocatedFault>, WorkshopError> {
        for (&branch, argument) in branches.iter().zip(&operands[1..]) {
            if let Some(found) = self.sequence(branch, std::slice::from_ref(argument))? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn in_kernel(
        &mut self,
        sequence: ComputationId,
        id: InstrId,
        operands: &[Literal],
        difference: String,
    ) -> Result<LocatedFault, WorkshopError> {
        let name = &self.module.computation(sequence).instruction(id).name;
        let settings = self.settings;
        let kernels = &self.probe(sequence)?.compilation.kernels;
        match kernels.iter().find(|kernel| kernel.unit.uses.contains(name)) {
            Some(kernel) => kernel::examine(kernel, operands, difference, settings),
            None => Err(WorkshopError::Interface(format!("fusion {name} has no kernel"))),
        }
    }
}
