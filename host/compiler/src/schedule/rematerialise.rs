//! Values that are made a second time where they are needed again, so that they take no memory in between.
//!
//! Round by round: of all values that are alive at the peak, but not used there, the one is made again whose kernel takes the least
//! time for the memory that it frees. Its operands must be alive at the peak anyway, or be smaller.

use std::collections::{HashMap, HashSet};

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Module, Op};

use super::uses::{Leaf, Uses};
use super::{Made, Schedule, leaf_bytes, schedule};
use crate::CompileError;
use crate::kernels::Kernels;

/// Rounds without a lower peak after which no lower one is expected.
const MOST_IN_VAIN: usize = 64;
/// A launch in seconds, so that small kernels are not for nothing.
const LAUNCH: f64 = 1e-6;

/// A program to be scheduled within a limit.
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
/// If they take more whatever is made again.
pub fn within(limit: u64, mut program: Program<'_>, mut schedule: Schedule) -> Result<Schedule, CompileError> {
    let Some(entry) = program.module.entry else { return Ok(schedule) };
    let most = 4 * program.module.computation(entry).instructions.len();
    let (mut rounds, mut in_vain, mut least) = (0, 0, schedule.memory.clone());
    while schedule.memory.written() > limit {
        program.put_in_order(entry, &schedule.order);
        let excess = schedule.memory.written() - limit;
        let best = program.best(entry, schedule.peak_position, excess);
        let (Some(again), true) = (best, rounds < most && in_vain < MOST_IN_VAIN) else {
            return Err(CompileError::MemoryLimit { limit, least: Box::new(least) });
        };
        program.make_again(entry, &again);
        schedule = self::schedule(&program.module, &program.kernels, program.made, program.alignment)?;
        (rounds, in_vain) = (rounds + 1, in_vain + 1);
        if schedule.memory.written() < least.written() {
            (in_vain, least) = (0, schedule.memory.clone());
        }
    }
    Ok(schedule)
}

/// A value to be made a second time.
struct Again {
    instruction: InstrId,
    /// The first instruction that reads the second one.
    next: InstrId,
}

impl Program<'_> {
    /// Puts the entry's instructions in the order in which they are executed.
    fn put_in_order(&mut self, entry: ComputationId, order: &[InstrId]) {
        let old = self.module.computation(entry).clone();
        let mut rewrite = Rewrite::new(&old);
        order.iter().for_each(|&id| rewrite.copy(id));
        self.replace(entry, rewrite);
    }

    /// The value that is best made again, if something alive before and after the instruction at `peak` can be.
    fn best(&self, entry: ComputationId, peak: usize, excess: u64) -> Option<Again> {
        let computation = self.module.computation(entry);
        let lives = Lives::of(computation);
        let peak = InstrId(peak as u32);
        let candidates = (0..peak.0).map(InstrId).filter_map(|id| {
            let seconds = self.seconds(entry, id)?;
            let (freed, next) = lives.freed(id, peak)?;
            let gain = freed.checked_sub(lives.kept_alive(id, peak)).filter(|gain| *gain > 0)?;
            Some((gain.min(excess) as f64 / (seconds + LAUNCH), Again { instruction: id, next }))
        });
        candidates.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, again)| again)
    }

    /// What a kernel is predicted to take; nothing of one that updates an operand.
    fn seconds(&self, entry: ComputationId, id: InstrId) -> Option<f64> {
        let made = self.made.get(*self.kernels.of.get(&(entry, id))?)?;
        made.plan.outputs.iter().all(|output| output.initial.is_none()).then_some(made.seconds)
    }

    /// From its next reader on, everybody reads a second value instead of the first.
    fn make_again(&mut self, entry: ComputationId, again: &Again) {
        let old = self.module.computation(entry).clone();
        let uses = Uses::in_program_order(&old);
        let mut rewrite = Rewrite::new(&old);
        for id in old.ids() {
            if id == again.next {
                rewrite.repeat(again.instruction);
            }
            if id >= again.next {
                for &operand in &old.instruction(id).operands {
                    rewrite.pass_on(operand, again.instruction, &uses);
                }
            }
            rewrite.copy(id);
        }
        self.replace(entry, rewrite);
    }

    fn replace(&mut self, entry: ComputationId, rewrite: Rewrite<'_>) {
        let Rewrite { old, new, map, repeated, .. } = rewrite;
        let of = std::mem::take(&mut self.kernels.of);
        for ((computation, id), unit) in of {
            let is_entry = computation == entry;
            let place = if is_entry { map[id.index()] } else { id };
            self.kernels.of.insert((computation, place), unit);
            let second = repeated.filter(|(first, _)| is_entry && *first == id);
            self.kernels.of.extend(second.map(|(_, second)| ((entry, second), unit)));
        }
        let root = map[old.root.index()];
        let computation = Computation { instructions: new, root, ..old.clone() };
        self.module.computations[entry.index()] = computation;
    }
}

/// A computation in the making, of which an old one's instructions are copied in some order.
struct Rewrite<'a> {
    old: &'a Computation,
    new: Vec<Instruction>,
    /// Per old instruction, its copy.
    map: Vec<InstrId>,
    /// Old instructions that later ones are to read anew.
    anew: HashMap<InstrId, InstrId>,
    /// The instruction that was copied twice, and its second copy.
    repeated: Option<(InstrId, InstrId)>,
    names: HashSet<&'a str>,
}

impl<'a> Rewrite<'a> {
    fn new(old: &'a Computation) -> Rewrite<'a> {
        let (map, names) = (vec![InstrId(0); old.instructions.len()], old.instructions.iter().map(|it| &*it.name));
        Rewrite { old, new: Vec::new(), map, anew: HashMap::new(), repeated: None, names: names.collect() }
    }

    fn copy(&mut self, id: InstrId) {
        let copy = self.mapped(id);
        self.new.push(copy);
        self.map[id.index()] = InstrId(self.new.len() as u32 - 1);
    }

    fn repeat(&mut self, id: InstrId) {
        let second = self.second(id);
        self.repeated = Some((id, second));
    }

    /// A second copy, which what is copied from now on reads.
    fn second(&mut self, id: InstrId) -> InstrId {
        let mut copy = self.mapped(id);
        let mut number = self.new.len();
        while self.names.contains(format!("{}.again.{number}", copy.name).as_str()) {
            number += 1;
        }
        copy.name = format!("{}.again.{number}", copy.name);
        self.new.push(copy);
        let second = InstrId(self.new.len() as u32 - 1);
        self.anew.insert(id, second);
        second
    }

    /// Second copies of what passes leaves of `maker` on to an operand.
    fn pass_on(&mut self, operand: InstrId, maker: InstrId, uses: &Uses) {
        let has_leaf = uses.leaves(operand).iter().any(|leaf| leaf.made_by == maker);
        let is_late = self.repeated.is_some_and(|(_, second)| self.map[operand.index()] > second);
        if !has_leaf || is_late || self.anew.contains_key(&operand) {
            return;
        }
        for &inner in &self.old.instruction(operand).operands {
            self.pass_on(inner, maker, uses);
        }
        self.second(operand);
    }

    fn mapped(&self, id: InstrId) -> Instruction {
        let mut copy = self.old.instruction(id).clone();
        let place = |old: &InstrId| self.anew.get(old).copied().unwrap_or(self.map[old.index()]);
        copy.operands = copy.operands.iter().map(place).collect();
        if let Some(extra) = &mut copy.extra {
            extra.control_predecessors.retain(|&old| old < id);
            extra.control_predecessors.iter_mut().for_each(|old| *old = self.map[old.index()]);
        }
        copy
    }
}

/// When the leaves of a computation are read.
struct Lives<'a> {
    computation: &'a Computation,
    uses: Uses,
    readers: HashMap<Leaf, Vec<InstrId>>,
    results: HashSet<Leaf>,
}

impl<'a> Lives<'a> {
    fn of(computation: &'a Computation) -> Lives<'a> {
        let uses = Uses::in_program_order(computation);
        let mut readers: HashMap<Leaf, Vec<InstrId>> = HashMap::new();
        for id in computation.ids() {
            uses.reads(id).iter().for_each(|&leaf| readers.entry(leaf).or_default().push(id));
        }
        let results = uses.result().iter().copied().collect();
        Lives { computation, uses, readers, results }
    }

    /// Bytes of an instruction's leaves that are alive at the peak without being read there, and who reads one of them next.
    fn freed(&self, id: InstrId, peak: InstrId) -> Option<(u64, InstrId)> {
        let own = self.uses.leaves(id).iter().zip(leaf_bytes(&self.computation.instruction(id).shape));
        let across = own.filter_map(|(leaf, bytes)| {
            let readers = self.readers.get(leaf).filter(|_| !self.results.contains(leaf))?;
            let next = readers.iter().copied().find(|&reader| reader >= peak).filter(|&reader| reader > peak)?;
            Some((bytes, next))
        });
        across.reduce(|(bytes, next), (more, other)| (bytes.saturating_add(more), next.min(other)))
    }

    /// Bytes of an instruction's operands that would be alive at the peak for its second execution alone.
    fn kept_alive(&self, id: InstrId, peak: InstrId) -> u64 {
        let mut known: HashSet<Leaf> = HashSet::new();
        let reads = self.uses.reads(id).iter().filter(|leaf| known.insert(**leaf));
        let dead = reads.filter(|leaf| {
            let maker = &self.computation.instruction(leaf.made_by).op;
            let is_given = matches!(maker, Op::Parameter { .. } | Op::Constant(_));
            let is_read_later = self.readers.get(leaf).is_some_and(|readers| readers.last() >= Some(&peak));
            !is_given && !is_read_later && !self.results.contains(leaf)
        });
        let bytes = |leaf: &Leaf| leaf_bytes(&self.computation.instruction(leaf.made_by).shape).nth(leaf.number);
        dead.filter_map(bytes).fold(0, u64::saturating_add)
    }
}
