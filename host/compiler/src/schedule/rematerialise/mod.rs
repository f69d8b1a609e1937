//! Values that are made a second time where they are needed again, so that they take no memory in between.
//!
//! Round by round: of all values that are alive at the peak, but not used there, the one is made again that takes the least time for
//! the memory that it frees. Its operands must be alive at the peak anyway, be smaller, or be made again with it. The peak may be
//! inside of a loop: then the loop's body and those around it are looked at.

mod candidates;
mod rewrite;
#[cfg(test)]
mod tests;

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Module};

use super::{Made, Memory, Schedule, leaf_bytes, schedule};
use crate::CompileError;
use crate::kernels::Kernels;
use candidates::{Again, Lives};
use rewrite::Rewrite;

/// Rounds without a lower peak after which no lower one is expected.
const MOST_IN_VAIN: usize = 64;
/// A launch in seconds, so that small kernels are not for nothing.
const LAUNCH: f64 = 1e-6;
/// What copying a byte takes, in seconds.
const COPY: f64 = 1e-10;
/// How often a loop's body is taken to be executed.
const TURNS: f64 = 8.0;

/// A program to be scheduled within a limit.
#[derive(Clone)]
pub struct Program<'a> {
    /// The module with its fusions.
    pub module: Module,
    /// Its kernels.
    pub kernels: Kernels,
    /// What became of them.
    pub made: &'a [Made<'a>],
    /// Of places, in bytes.
    pub alignment: u64,
}

/// Makes values again until outputs and temporaries take at most `limit` bytes. `schedule`: what was made without that.
///
/// # Errors
/// If they take more whatever is made again. The least limit that it names can be kept, and one
/// byte less cannot.
pub fn within(limit: u64, program: &Program<'_>, schedule: Schedule) -> Result<Schedule, CompileError> {
    // Values that free just as much as is asked for cost the least time; those that free most lead
    // furthest.
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
        schedule(&self.module, &self.kernels, self.made, self.alignment)
    }

    /// Makes values again until at most `limit` bytes are taken, of values that free more than is
    /// needed down to `aim` as if they freed just that much. Gives the least that was reached where
    /// that is more.
    fn down_to(
        mut self,
        limit: u64,
        aim: u64,
        mut schedule: Schedule,
    ) -> Result<Result<Schedule, Memory>, CompileError> {
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

    /// That a limit cannot be kept, with the least above it that can, while one byte less cannot.
    /// Which values are made again depends on the limit, so what was `reached` under another one
    /// may be out of reach, and less may be within it.
    fn refused(&self, limit: u64, reached: [Memory; 2]) -> Result<CompileError, CompileError> {
        let [first, furthest] = reached;
        let under = |limit: u64| -> Result<Option<Memory>, CompileError> {
            let found = self.clone().down_to(limit, limit, self.scheduled()?)?;
            Ok(found.ok().map(|schedule| schedule.memory))
        };
        // Kept by what leads furthest; below, only what saves just as much might do. Mostly the
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

    /// The value that is best made again, and where, of all computations that run at the peak. Their instructions are put in the
    /// order in which they are executed.
    fn best(&mut self, schedule: &Schedule, excess: u64) -> Option<(ComputationId, Again)> {
        let mut best: Option<(f64, ComputationId, Again)> = None;
        for (around, running) in schedule.at_peak.iter().rev().enumerate() {
            let id = running.computation;
            self.put_in_order(id, &schedule.orders[id.index()]);
            let turns = TURNS.powi(i32::try_from(around).unwrap_or(i32::MAX));
            let lives = Lives::of(self.module.computation(id));
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

    /// What a kernel is predicted to take. What it updates it may have to copy.
    fn seconds(&self, computation: ComputationId, id: InstrId) -> Option<f64> {
        let made = self.made.get(*self.kernels.of.get(&(computation, id))?)?;
        let bytes = leaf_bytes(&self.module.computation(computation).instruction(id).shape);
        let updated = made.plan.outputs.iter().zip(bytes).filter(|(output, _)| output.initial.is_some());
        let copied: u64 = updated.map(|(_, bytes)| bytes).sum();
        Some(made.seconds + COPY * copied as f64)
    }

    /// Puts a computation's instructions in the order in which they are executed.
    fn put_in_order(&mut self, id: ComputationId, order: &[InstrId]) {
        let old = self.module.computation(id).clone();
        let mut rewrite = Rewrite::new(&old);
        order.iter().for_each(|&id| rewrite.copy(id));
        self.replace(id, rewrite);
    }

    /// From their next reader on, everybody reads second values instead of the first.
    fn make_again(&mut self, id: ComputationId, again: &Again) {
        let old = self.module.computation(id).clone();
        let mut rewrite = Rewrite::new(&old);
        for instruction in old.ids() {
            if instruction == again.next {
                rewrite.repeat(again);
            }
            rewrite.copy(instruction);
        }
        self.replace(id, rewrite);
    }

    fn replace(&mut self, id: ComputationId, rewrite: Rewrite<'_>) {
        let Rewrite { old, new, map, repeated, .. } = rewrite;
        for ((computation, instruction), unit) in std::mem::take(&mut self.kernels.of) {
            if computation != id {
                self.kernels.of.insert((computation, instruction), unit);
                continue;
            }
            self.kernels.of.insert((id, map[instruction.index()]), unit);
            let second = repeated.get(&instruction);
            self.kernels.of.extend(second.map(|second| ((id, *second), unit)));
        }
        let root = map[old.root.index()];
        self.module.computations[id.index()] = Computation { instructions: new, root, ..old.clone() };
    }
}
