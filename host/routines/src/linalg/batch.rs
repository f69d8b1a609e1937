//! Executes a computation once for every index of the batch dimensions.

use std::fmt::Debug;

use crate::{CallingThread, Context, Routine, RoutineError, Workers, try_for_each};

/// A computation on operands without batch dimensions, for example on one matrix and one vector.
pub(crate) trait PerMatrix: Debug + Send + Sync {
    /// Computes `results` from `arguments`, as [`Routine::run`] does, for one index of the batch
    /// dimensions. The bits of the results must not depend on `workers`.
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], workers: &dyn Workers) -> Result<(), RoutineError>;

    /// Returns the approximate number of arithmetic operations for one index of the batch
    /// dimensions.
    fn cost(&self) -> usize;

    /// Describes the algorithm in a few words.
    fn describe(&self) -> &'static str;
}

/// The routine that executes `each` once for every index of the batch dimensions. `each` is behind
/// a pointer, so that rustc compiles this routine once, and not for every computation and element
/// type.
#[derive(Debug)]
pub(crate) struct Batched {
    pub batch: usize,
    pub each: Box<dyn PerMatrix>,
}

/// Approximate number of arithmetic operations per part. A part has at least one index of the batch
/// dimensions. Parts of this size can be distributed among threads at little cost.
const PART: usize = 1 << 15;

impl Routine for Batched {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], context: &Context<'_>) -> Result<(), RoutineError> {
        match self.batch {
            0 => return Ok(()),
            1 => return self.each.run(arguments, results, context.workers),
            _ => {}
        }
        let together = (PART / self.each.cost().max(1)).clamp(1, self.batch);
        let sizes: Vec<usize> = results.iter().map(|result| result.len() / self.batch).collect();
        let mut rest: Vec<&mut [u8]> = results.iter_mut().map(|result| &mut **result).collect();
        let part = |start: usize| {
            let count = together.min(self.batch - start);
            let mine = rest.iter_mut().zip(&sizes).map(|(rest, size)| rest.split_off_mut(..count * size));
            (start..start + count, mine.map(Option::unwrap_or_default).collect::<Vec<_>>())
        };
        let parts: Vec<_> = (0..self.batch).step_by(together).map(part).collect();
        try_for_each(context.workers, parts, |(matrices, mut results)| {
            let first = matrices.start;
            matrices.into_iter().try_for_each(|b| {
                let size = |all: &[u8]| all.len() / self.batch;
                let arguments: Vec<&[u8]> = arguments.iter().map(|all| &all[b * size(all)..][..size(all)]).collect();
                let mut results: Vec<&mut [u8]> =
                    results.iter_mut().zip(&sizes).map(|(all, &size)| &mut all[(b - first) * size..][..size]).collect();
                self.each.run(&arguments, &mut results, &CallingThread)
            })
        })
    }

    /// To compute the reciprocal of a complex number, the crate faer scales the number so that its
    /// square is close to the largest float. The reciprocal of the scaled number's square is often
    /// subnormal. If the processor flushed this reciprocal to zero, the solution of a system of
    /// equations would be zero.
    fn needs_subnormals(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        self.each.describe().into()
    }
}
