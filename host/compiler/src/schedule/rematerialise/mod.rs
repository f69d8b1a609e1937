//! Rematerialises values: they are computed again when needed, and take no memory in between.
//!
//! The search goes round by round. A round considers all values that are alive at the peak but not
//! used there. A round rematerialises the value that takes the least time per freed byte. Each
//! operand of a rematerialised value must be alive at the peak anyway, be smaller than the value,
//! or be rematerialised, too. If the peak is inside a loop, the search covers the loop's body and
//! the computations around it.

mod candidates;
mod rewrite;
#[cfg(test)]
mod tests;

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Module};

use super::{BufferRules, PlannedFusion, Schedule, leaf_bytes, schedule};
use crate::CompileError;
use crate::kernels::Kernels;
use crate::memory_use::MemoryUse;
use candidates::{LeafReaders, Rematerialisation};
use rewrite::RematerialisedCopy;

/// The search stops after this many consecutive rounds that do not lower the peak.
const MOST_IN_VAIN: usize = 64;
/// Time of a launch in seconds, so that small kernels do not seem free.
const LAUNCH: f64 = 1e-6;
/// Time to copy a byte, in seconds.
const COPY: f64 = 1e-10;
/// Assumed number of iterations of a loop.
const TURNS: f64 = 8.0;

/// A program to be scheduled within a limit.
#[derive(Clone)]
pub struct Program<'a> {
    /// The module with its fusions.
    pub module: Module,
    /// The kernels of the module.
    pub kernels: Kernels,
    /// The decisions about the kernels.
    pub planned: &'a [PlannedFusion<'a>],
    /// Requirements of the target for buffers.
    pub rules: BufferRules,
}

/// Rematerialises values until outputs and temporaries take at most `limit` bytes. `schedule` is
/// the schedule without rematerialisation.
///
/// # Errors
/// If outputs and temporaries take more than `limit` even with rematerialisation. The error names a
/// higher limit that the program can meet. The program cannot meet the limit that is one byte lower
/// than the named limit.
pub fn within(limit: u64, program: &Program<'_>, schedule: Schedule) -> Result<Schedule, CompileError> {
    // Rematerialising values that free just as much as needed costs the least time. Rematerialising
    // values that free the most reaches the lowest peak.
    let first = match program.clone().down_to(limit, limit, schedule)? {
        Ok(schedule) => return Ok(schedule),
        Err(least) => least,
    };
    match program.clone().down_to(limit, 0, program.scheduled()?)? {
        Ok(schedule) => Ok(schedule),
        Err(furthest) => Err(program.refused(limit, [first, furthest])?),
    }
}

impl Program<'_> {
    fn scheduled(&self) -> Result<Schedule, CompileError> {
        schedule(&self.module, &self.kernels, self.planned, self.rules)
    }

    /// Rematerialises values until outputs and temporaries take at most `limit` bytes. If the
    /// memory exceeds `aim` by n bytes, a value counts as freeing at most n bytes. If no schedule
    /// meets the limit, returns the least memory that was reached.
    fn down_to(
        mut self,
        limit: u64,
        aim: u64,
        mut schedule: Schedule,
    ) -> Result<Result<Schedule, MemoryUse>, CompileError> {
        let most = 4 * self.module.computations.iter().map(|it| it.instructions.len()).sum::<usize>();
        let (mut rounds, mut in_vain, mut least) = (0, 0, schedule.memory.clone());
        while schedule.memory.written() > limit {
            let excess = schedule.memory.written().saturating_sub(aim);
            let best = self.best(&schedule, excess);
            let (Some((computation, again)), true) = (best, rounds < most && in_vain < MOST_IN_VAIN) else {
                return Ok(Err(least));
            };
            self.make_again(computation, &again);
            schedule = self.scheduled()?;
            (rounds, in_vain) = (rounds + 1, in_vain + 1);
            if schedule.memory.written() < least.written() {
                (in_vain, least) = (0, schedule.memory.clone());
            }
        }
        Ok(Ok(schedule))
    }

    /// Returns the error for a limit that the program cannot meet. The error names a higher limit
    /// that the program can meet. The program cannot meet the limit that is one byte lower than the
    /// named limit. The limit decides which values are rematerialised, so under another limit, the
    /// program may need more or less memory than it has `reached`.
    fn refused(&self, limit: u64, reached: [MemoryUse; 2]) -> Result<CompileError, CompileError> {
        let [first, furthest] = reached;
        let under = |limit: u64| -> Result<Option<MemoryUse>, CompileError> {
            let found = self.clone().down_to(limit, limit, self.scheduled()?)?;
            Ok(found.ok().map(|schedule| schedule.memory))
        };
        // `furthest` shows that the program can meet the limit `least`. The program might meet a
        // lower limit only by rematerialising values that free just as much as needed. Usually the
        // first two tries decide.
        let (mut least, mut memory, mut below, mut by_one) = (furthest.written(), furthest, limit, true);
        let mut reached = first.written();
        while least - below > 1 {
            let middle = below + (least - below) / 2;
            let candidate = if (below + 1..least).contains(&reached) {
                reached
            } else if by_one {
                least - 1
            } else {
                middle
            };
            match under(candidate)? {
                Some(kept) => {
                    by_one = candidate < least - 1;
                    (least, reached, memory) = (candidate, kept.written(), kept);
                }
                None => (below, by_one) = (candidate, true),
            }
        }
        Ok(CompileError::MemoryLimit { limit, least, memory: Box::new(memory) })
    }

    /// Searches all computations that run at the peak for the value that frees the most bytes per
    /// second of rematerialisation. Returns the value and its computation. Sorts the instructions
    /// of the searched computations by execution order.
    fn best(&mut self, schedule: &Schedule, excess: u64) -> Option<(ComputationId, Rematerialisation)> {
        let mut best: Option<(f64, ComputationId, Rematerialisation)> = None;
        for (around, running) in schedule.at_peak.iter().rev().enumerate() {
            let id = running.computation;
            self.put_in_order(id, &schedule.orders[id.index()]);
            let turns = TURNS.powi(i32::try_from(around).unwrap_or(i32::MAX));
            let lives = LeafReaders::of(self.module.computation(id));
            for again in lives.candidates(InstrId(running.position as u32), |it| self.seconds(id, it)) {
                let seconds = turns * (again.seconds + LAUNCH * again.members.len() as f64);
                let worth = again.gain.min(excess) as f64 / seconds;
                if best.as_ref().is_none_or(|(most, ..)| worth > *most) {
                    best = Some((worth, id, again));
                }
            }
        }
        best.map(|(_, computation, again)| (computation, again))
    }

    /// Returns the predicted time of a kernel, in seconds. Includes copies of the arrays that the
    /// kernel updates, since these copies may be necessary.
    fn seconds(&self, computation: ComputationId, id: InstrId) -> Option<f64> {
        let planned = self.planned.get(*self.kernels.of.get(&(computation, id))?)?;
        let bytes = leaf_bytes(&self.module.computation(computation).instruction(id).shape);
        let updated = planned.plan.outputs.iter().zip(bytes).filter(|(output, _)| output.initial.is_some());
        let copied: u64 = updated.map(|(_, bytes)| bytes).sum();
        Some(planned.seconds + COPY * copied as f64)
    }

    /// Sorts a computation's instructions by execution order.
    fn put_in_order(&mut self, id: ComputationId, order: &[InstrId]) {
        let old = self.module.computation(id).clone();
        let mut rewrite = RematerialisedCopy::new(&old);
        order.iter().for_each(|&id| rewrite.copy(id));
        self.replace(id, rewrite);
    }

    /// Inserts the rematerialised values before their next reader. From this reader on, all
    /// instructions read the rematerialised values instead of the original values.
    fn make_again(&mut self, id: ComputationId, again: &Rematerialisation) {
        let old = self.module.computation(id).clone();
        let mut rewrite = RematerialisedCopy::new(&old);
        for instruction in old.ids() {
            if instruction == again.next {
                rewrite.repeat(again);
            }
            rewrite.copy(instruction);
        }
        self.replace(id, rewrite);
    }

    fn replace(&mut self, id: ComputationId, rewrite: RematerialisedCopy<'_>) {
        let RematerialisedCopy { old, new, map, recomputed, .. } = rewrite;
        for ((computation, instruction), unit) in std::mem::take(&mut self.kernels.of) {
            if computation != id {
                self.kernels.of.insert((computation, instruction), unit);
                continue;
            }
            self.kernels.of.insert((id, map[instruction.index()]), unit);
            let second = recomputed.get(&instruction);
            self.kernels.of.extend(second.map(|second| ((id, *second), unit)));
        }
        let root = map[old.root.index()];
        self.module.computations[id.index()] = Computation { instructions: new, root, ..old.clone() };
    }
}
