//! Executes loops and branches of the cpu target. An iteration of a loop may consist of only a few
//! additions. So this module looks up the functions and the addresses of all launches once, before
//! the first iteration.

use super::host::{HostRun, call, watched};
use super::thunks::{Machine, branch_taken};
use crate::code::{CpuFunction, Watch};
use crate::processor::Pool;
use crate::{RunError, Slice, Thunk};

/// A thunk that is prepared for repeated execution. The addresses in a prepared thunk are valid
/// because the program's memory does not move during the execution.
enum PreparedThunk<'t> {
    Launch {
        function: CpuFunction,
        blocks: u64,
        watch: Option<&'t Watch>,
        arguments: Vec<*mut u8>,
    },
    While {
        condition: Vec<PreparedThunk<'t>>,
        predicate: &'t Slice,
        body: Vec<PreparedThunk<'t>>,
    },
    Conditional {
        index: &'t Slice,
        branches: Vec<Vec<PreparedThunk<'t>>>,
    },
    /// A thunk that is not prepared, because the lookup of its slices is short compared with its
    /// execution.
    Other(&'t Thunk),
}

impl<'e> HostRun<'e> {
    /// Executes a `while` or `conditional` thunk of the cpu target. `pool` executes the kernels of
    /// the thunk.
    pub(crate) fn repeat(&mut self, thunk: &Thunk, pool: &Pool) -> Result<(), RunError> {
        let prepared = self.prepared(std::slice::from_ref(thunk));
        self.turn(&prepared, pool)
    }

    fn prepared<'t>(&self, thunks: &'t [Thunk]) -> Vec<PreparedThunk<'t>>
    where
        'e: 't,
    {
        let prepared = |thunk: &'t Thunk| match thunk {
            Thunk::Kernel { kernel, arguments } => {
                let kernel = self.kernel(*kernel);
                let arguments = arguments.iter().map(|slice| self.frame().address(slice)).collect();
                let watch = kernel.watch.as_ref();
                PreparedThunk::Launch { function: kernel.cpu_function(), blocks: kernel.image.blocks, watch, arguments }
            }
            Thunk::While { condition, predicate, body, .. } => {
                PreparedThunk::While { condition: self.prepared(condition), predicate, body: self.prepared(body) }
            }
            Thunk::Conditional { index, branches, .. } => PreparedThunk::Conditional {
                index,
                branches: branches.iter().map(|branch| self.prepared(branch)).collect(),
            },
            other => PreparedThunk::Other(other),
        };
        thunks.iter().map(prepared).collect()
    }

    fn turn(&mut self, steps: &[PreparedThunk<'_>], pool: &Pool) -> Result<(), RunError> {
        steps.iter().try_for_each(|step| match step {
            PreparedThunk::Launch { function, blocks, watch, arguments } => {
                let _launch = watched(*watch, self.frame().launches());
                call(*function, *blocks, arguments, pool);
                Ok(())
            }
            PreparedThunk::While { condition, predicate, body } => loop {
                self.turn(condition, pool)?;
                if self.read(predicate)?[0] == 0 {
                    return Ok(());
                }
                self.turn(body, pool)?;
            },
            PreparedThunk::Conditional { index, branches } => {
                let taken = branch_taken(&self.read(index)?, branches.len());
                self.turn(&branches[taken], pool)
            }
            PreparedThunk::Other(thunk) => self.step(thunk),
        })
    }
}
