//! Executes thunks. Each machine implements launches, copies and host operations. The execution of
//! sequences, loops and branches is common to all machines.

use std::borrow::Cow;
use std::time::Duration;

use crate::{RunError, Slice, Thunk};

/// A program and its memory on a device, during one execution. Callers must ensure that slices lie
/// within their allocations, and that the two slices of a copy have equal sizes and do not overlap.
pub trait Machine {
    /// Executes thunks and waits for their end. Returns the elapsed time.
    fn execute(&mut self, thunks: &[Thunk]) -> Result<Duration, RunError>;

    /// Executes thunks and waits for their end.
    fn execute_untimed(&mut self, thunks: &[Thunk]) -> Result<(), RunError> {
        self.execute(thunks).map(|_| ())
    }

    fn launch(&mut self, kernel: u32, arguments: &[Slice]) -> Result<(), RunError>;

    fn copy(&mut self, from: &Slice, to: &Slice) -> Result<(), RunError>;

    /// Returns the bytes of a slice. Waits for the end of all work that was started before.
    fn read(&self, slice: &Slice) -> Result<Cow<'_, [u8]>, RunError>;

    /// Writes `bytes` to a slice of the same size.
    fn write(&mut self, slice: &Slice, bytes: &[u8]) -> Result<(), RunError>;

    /// Executes an operation by a host routine. No result may share memory with an argument or
    /// another result.
    fn host_op(&mut self, op: u32, arguments: &[Slice], results: &[Slice]) -> Result<(), RunError>;

    fn run(&mut self, thunks: &[Thunk]) -> Result<(), RunError> {
        in_order(self, thunks, &mut |machine, thunk| machine.step(thunk))
    }

    fn step(&mut self, thunk: &Thunk) -> Result<(), RunError> {
        match thunk {
            Thunk::Kernel { kernel, arguments } => self.launch(*kernel, arguments),
            Thunk::Copy { from, to } => self.copy(from, to),
            Thunk::HostOp { op, arguments, results } => self.host_op(*op, arguments, results),
            Thunk::While { .. } | Thunk::Conditional { .. } => self.run(std::slice::from_ref(thunk)),
        }
    }
}

/// Executes thunks. Executes loops and branches itself, and calls `step` for every other thunk.
pub fn in_order<'t, M: Machine + ?Sized>(
    machine: &mut M,
    thunks: &'t [Thunk],
    step: &mut dyn FnMut(&mut M, &'t Thunk) -> Result<(), RunError>,
) -> Result<(), RunError> {
    in_sequences(machine, thunks, &mut |machine, sequence| sequence.iter().try_for_each(|thunk| step(machine, thunk)))
}

/// A function that executes a sequence of thunks.
type Running<'f, 't, M> = dyn FnMut(&mut M, &'t [Thunk]) -> Result<(), RunError> + 'f;

/// Executes thunks. Executes loops and branches itself, and calls `run` for each sequence of thunks
/// between loops and branches.
fn in_sequences<'t, M: Machine + ?Sized>(
    machine: &mut M,
    thunks: &'t [Thunk],
    run: &mut Running<'_, 't, M>,
) -> Result<(), RunError> {
    let has_parts = |thunk: &Thunk| matches!(thunk, Thunk::While { .. } | Thunk::Conditional { .. });
    thunks.chunk_by(|one, next| !has_parts(one) && !has_parts(next)).try_for_each(|chunk| match &chunk[0] {
        Thunk::While { condition, predicate, body, .. } => loop {
            in_sequences(machine, condition, run)?;
            if machine.read(predicate)?[0] == 0 {
                return Ok(());
            }
            in_sequences(machine, body, run)?;
        },
        Thunk::Conditional { index, branches, .. } => {
            let taken = branch_taken(&machine.read(index)?, branches.len());
            in_sequences(machine, &branches[taken], run)
        }
        _ => run(machine, chunk),
    })
}

/// Returns the number of the branch that a conditional with `count` branches takes. `index` holds
/// the bytes of the selecting value. A true `pred` selects branch 0, and a false `pred` selects
/// branch 1. An `s32` is the number of the branch, and a number out of range selects the last
/// branch.
pub fn branch_taken(index: &[u8], count: usize) -> usize {
    let last = count - 1;
    let choice = match *index {
        [pred] => usize::from(pred == 0),
        [a, b, c, d] => usize::try_from(i32::from_le_bytes([a, b, c, d])).unwrap_or(last),
        _ => last,
    };
    choice.min(last)
}
