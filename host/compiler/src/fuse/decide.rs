//! Decides which instructions get a buffer, and which are computed inside their users' kernels.
//!
//! Fusion decides about an instruction's users before it decides about the instruction. A producer
//! is fused into *all* its users' kernels or into none. The number of evaluations of the producer's
//! elements follows from the evaluations of its users, and from the indices at which the users
//! read. If two users in one kernel read the producer at the same index, the kernel computes the
//! value once, because the partitioner merges both reads. If the indices differ, each read computes
//! the value again. A producer is fused only if the repeated work costs less than a launch and the
//! saved memory traffic. So the total work is within a constant factor of computing each value
//! once, regardless of the number of users. Module `hero` decides whether a producer suits a
//! kernel's iteration space.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::iter::Sum;

use fusebox_core::analysis::takes_what_is_replaced;
use fusebox_core::cost::{CHEAP_SCALAR, ROUND_TRIP, first_array, is_heavy, per_element, per_repetition};
use fusebox_core::hlo::{Computation, InstrId, Op};

use super::buffer_reason::BufferReason;
use super::claims::Heroes;
use super::hero::{Zone, is_admitted, zone_of_operands};
use super::reads::{OperandReads, elsewhere, read};
use super::sites::{self, EvaluationSite, SiteIndices};

/// Largest number of instructions of one kernel. The limit bounds the time to compile a kernel,
/// regardless of its emitter.
const MOST_INSTRUCTIONS: usize = 400;
/// Largest number of instructions of a kernel if all instructions beyond [`MOST_INSTRUCTIONS`] are
/// computed from arrays that the kernel reads anyway. If the kernel did not compute the additional
/// instructions, it would read their results from buffers.
const MOST_OF_INPUTS: usize = 800;
/// Largest number of buffers that one kernel reads, regardless of its emitter.
const MOST_INPUTS: usize = 40;
/// Largest number of nested divisions in an index that a kernel computes. Alternating reshapes and
/// transposes nest divisions. A few divisions take as long as a write and a read of the element.
/// The time to simplify an index grows with the square of the number of its divisions.
const MOST_DIVISIONS: u32 = 12;
/// Number of copies of an instruction that cost as much as one launch. Compiling this number of
/// copies takes as long as the launch takes, added up over all runs of a program.
const COPIES_OF_LAUNCH: f64 = 20.0;
/// Largest number of kernels that a producer is duplicated into.
const MOST_COPIES: usize = 4;

/// Smallest size, in bytes, at which copying an updated array takes longer than computing a reader
/// of the array in a separate kernel.
const LEAST_KEPT: i64 = 128;

/// A reader of an updated array gets a separate kernel if the array has at least this many times
/// the bytes of the reader's result. Writing a larger result takes as long as copying the array.
const LEAST_PARTS: i64 = 4;
/// Largest number of successive updates of one array that a search follows.
const MOST_UPDATES: usize = 16;

/// The decisions for one computation.
#[derive(Debug)]
pub struct Decisions {
    /// For each instruction, the roots of the kernels that compute it. The list of a root contains
    /// the root itself. The list is empty for an instruction that no kernel computes.
    pub kernels: Vec<Vec<InstrId>>,
    /// The hero of each root's kernel. Contains no entry for a kernel without a hero.
    pub hero_of: HashMap<InstrId, InstrId>,
    /// For each instruction that might have been fused into its users' kernels, the reason why it
    /// has a buffer instead.
    pub buffer_reasons: HashMap<InstrId, BufferReason>,
    /// The emitters' claims.
    pub heroes: Heroes,
}

impl Decisions {
    /// Whether the instruction is the root of a kernel.
    pub fn is_root(&self, id: InstrId) -> bool {
        self.kernels[id.index()].contains(&id)
    }
}

/// The computation of a value in one kernel.
#[derive(Clone, Debug)]
struct ValuePlacement {
    kernel: InstrId,
    site: EvaluationSite,
    zone: Zone,
    evaluations: EvaluationCounts,
}

/// Number of times that a kernel evaluates elements of a value, and number of copies of the value's
/// code.
#[derive(Clone, Copy, Debug, Default)]
struct EvaluationCounts {
    /// Number of evaluations that the claims for the consuming heroes state.
    claimed: f64,
    /// Number of evaluations that the indexing maps state. Fusion uses this number if the value is
    /// expensive. If a hero's claim states that the kernel [keeps](fusebox_core::emitter::Claim)
    /// expensive producers, the number of evaluations that the claim states is used instead.
    expensive: f64,
    /// Number of copies of the value's code. LLVM may inline a function at each call.
    code_copies: f64,
}

impl EvaluationCounts {
    fn times(self, claimed: f64, expensive: f64) -> Self {
        EvaluationCounts { claimed: self.claimed * claimed, expensive: self.expensive * expensive, ..self }
    }
}

impl Sum for EvaluationCounts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(EvaluationCounts::default(), |sum, it| EvaluationCounts {
            claimed: sum.claimed + it.claimed,
            expensive: sum.expensive + it.expensive,
            code_copies: sum.code_copies + it.code_copies,
        })
    }
}

/// The reads of a value in one kernel.
struct KernelReads {
    kernel: InstrId,
    zone: Zone,
    /// The distinct sites of the reads, each with its evaluation counts.
    sites: Vec<(EvaluationSite, EvaluationCounts)>,
}

/// State of a kernel while fusion decides about the kernel's members.
#[derive(Default)]
struct OpenKernel {
    instructions: usize,
    /// For each array that the kernel reads, the values that are computed from this array and that
    /// the kernel needs.
    inputs: HashMap<InstrId, HashSet<InstrId>>,
    hero: Option<InstrId>,
}

impl OpenKernel {
    /// Records that the kernel needs a value which is computed from an array.
    fn need(&mut self, value: InstrId, array: InstrId) {
        self.inputs.entry(array).or_default().insert(value);
    }

    /// Returns the number of needed values that are not computed in the kernel so far.
    fn needed(&self) -> usize {
        self.inputs.values().map(HashSet::len).sum()
    }

    /// Removes a needed value that the kernel now computes.
    fn has(&mut self, value: InstrId, array: InstrId) {
        if let Entry::Occupied(mut needed) = self.inputs.entry(array) {
            needed.get_mut().remove(&value);
            if needed.get().is_empty() {
                needed.remove();
            }
        }
    }
}

struct Decider<'a> {
    computation: &'a Computation,
    heroes: &'a Heroes,
    /// Cost of a launch in additions.
    launch: f64,
    users: Vec<Vec<InstrId>>,
    /// For each instruction, the array that a kernel reads in order to compute it: see [`arrays`].
    arrays: Vec<InstrId>,
    placements: Vec<Vec<ValuePlacement>>,
    kernels: HashMap<InstrId, OpenKernel>,
    buffer_reasons: HashMap<InstrId, BufferReason>,
    indices: SiteIndices,
}

/// Decides, for every instruction of a computation that thunks execute, whether it has a buffer or
/// which kernels compute it. A launch takes the time of `launch` additions.
pub fn decide(computation: &Computation, heroes: Heroes, launch: f64) -> Decisions {
    let users = computation.users();
    let mut decider = Decider {
        computation,
        heroes: &heroes,
        launch,
        arrays: arrays(computation, &heroes, &users),
        users,
        placements: vec![Vec::new(); computation.instructions.len()],
        kernels: HashMap::new(),
        buffer_reasons: HashMap::new(),
        indices: SiteIndices::default(),
    };
    for id in computation.ids().rev() {
        decider.place(id);
    }
    let kernels = decider.placements.iter().map(|list| list.iter().map(|p| p.kernel).collect()).collect();
    let hero_of = decider.kernels.iter().filter_map(|(&root, kernel)| Some((root, kernel.hero?))).collect();
    Decisions { kernels, hero_of, buffer_reasons: decider.buffer_reasons, heroes }
}

impl<'a> Decider<'a> {
    fn place(&mut self, id: InstrId) {
        let instruction = self.computation.instruction(id);
        if is_scalar_constant(&instruction.op) {
            self.copy_into_users(id);
        } else if self.heroes.is_kernel(self.computation, id) {
            match self.inside_users(id) {
                Ok(placements) => self.fuse(id, placements),
                Err(reason) => {
                    self.buffer_reasons.insert(id, reason);
                    self.open_kernel(id);
                }
            }
        }
    }

    /// Duplicates a constant of one element into every kernel that uses it. Users outside kernels
    /// read the constant from a buffer.
    fn copy_into_users(&mut self, id: InstrId) {
        self.placements[id.index()] = self.uses(id).iter().map(|uses| placement(id, uses)).collect();
    }

    fn open_kernel(&mut self, id: InstrId) {
        let instruction = self.computation.instruction(id);
        let site = EvaluationSite::function_of(id);
        let all = elements(self.computation, id);
        let evaluations = EvaluationCounts { claimed: all, expensive: all, code_copies: 1.0 };
        self.placements[id.index()] = vec![ValuePlacement { kernel: id, site, zone: Zone::Epilogue, evaluations }];
        let fusible = &instruction.operands[self.initial_values(id).len()..];
        let hero = self.heroes.claim(id).map(|_| id);
        let mut kernel = OpenKernel { instructions: 1, inputs: HashMap::new(), hero };
        let counted = fusible.iter().filter(|&&operand| is_counted(self.computation, operand));
        counted.for_each(|&operand| kernel.need(operand, self.arrays[operand.index()]));
        self.kernels.insert(id, kernel);
    }

    fn fuse(&mut self, id: InstrId, placements: Vec<ValuePlacement>) {
        let operands: Vec<InstrId> = self
            .computation
            .instruction(id)
            .operands
            .iter()
            .copied()
            .filter(|&o| is_counted(self.computation, o))
            .collect();
        for placement in &placements {
            if let Some(kernel) = self.kernels.get_mut(&placement.kernel) {
                kernel.instructions += 1;
                kernel.has(id, self.arrays[id.index()]);
                operands.iter().for_each(|&operand| kernel.need(operand, self.arrays[operand.index()]));
                if placement.zone == Zone::Epilogue && kernel.hero.is_none() {
                    kernel.hero = self.heroes.claim_before_epilogue(id).map(|_| id);
                }
            }
        }
        self.placements[id.index()] = placements;
    }

    /// Returns the placements of a value in its users' kernels, or the reason why it must have a
    /// buffer.
    fn inside_users(&mut self, id: InstrId) -> Result<Vec<ValuePlacement>, BufferReason> {
        let instruction = self.computation.instruction(id);
        if id == self.computation.root {
            return Err(BufferReason::Result);
        }
        if matches!(instruction.op, Op::Fusion { .. }) {
            return Err(BufferReason::AlreadyFused);
        }
        if instruction.shape.as_array().is_none() {
            return Err(BufferReason::NoArray);
        }
        let users = &self.users[id.index()];
        if let Some(&user) = users.iter().find(|&&user| self.initial_values(user).contains(&id)) {
            return Err(BufferReason::InitialValueOf(self.name(user)));
        }
        if let Some(&user) = users.iter().find(|&&user| !self.accepts_producers(user)) {
            return Err(BufferReason::ReadByNonFusible(self.name(user)));
        }
        if users.is_empty() {
            return Err(BufferReason::Unread);
        }
        let placements: Vec<ValuePlacement> = self.uses(id).iter().map(|uses| placement(id, uses)).collect();
        placements.iter().try_for_each(|placement| self.admits(placement, id))?;
        self.is_worth_it(id, &placements)?;
        self.fits(id, &placements)?;
        Ok(placements)
    }

    fn name(&self, id: InstrId) -> String {
        self.computation.instruction(id).name.clone()
    }

    /// Checks that the kernel's iteration space suits the producer, and that fusing the producer
    /// does not prevent an in-place update.
    fn admits(&self, placement: &ValuePlacement, id: InstrId) -> Result<(), BufferReason> {
        let kernel = placement.kernel;
        let hero = self.hero(kernel);
        if self.heroes.is_updated_in_place(self.computation, kernel, id) || self.reads_outside_the_update(id, kernel) {
            return Err(BufferReason::UpdatedBy(self.name(kernel)));
        }
        if is_admitted(self.heroes, id, placement.zone, hero) {
            Ok(())
        } else {
            Err(BufferReason::OtherHero { kernel: self.name(kernel), hero: hero.map(|hero| self.name(hero)) })
        }
    }

    /// Whether an instruction reads a small part of an array that the root of a kernel updates.
    /// False if the instruction reads exactly the part that the root replaces. If the root's kernel
    /// computed an instruction that reads another part, the kernel would need a copy of the whole
    /// array, because the instruction might read elements that the kernel has already overwritten.
    fn reads_outside_the_update(&self, id: InstrId, root: InstrId) -> bool {
        let instruction = self.computation.instruction(id);
        let bytes =
            |of: InstrId| self.computation.instruction(of).shape.as_array().map_or(0, |array| array.byte_size());
        let would_be_copied = |array: &InstrId| {
            let of_array = bytes(*array);
            of_array >= LEAST_KEPT && bytes(id) <= of_array / LEAST_PARTS && instruction.operands.contains(array)
        };
        self.updated_by(root).iter().any(would_be_copied) && !takes_what_is_replaced(self.computation, id, root)
    }

    /// Returns the arrays whose buffers the result of a kernel's root may reuse. The first array is
    /// the one that the root updates. If an update of another array computes the first array, the
    /// other array is the second, and so on.
    fn updated_by(&self, root: InstrId) -> Vec<InstrId> {
        let mut arrays = Vec::new();
        let mut pending = vec![root];
        while let Some(update) = pending.pop().filter(|_| arrays.len() < MOST_UPDATES) {
            let updated = self.heroes.updated_in_place(self.computation, update);
            arrays.extend(updated);
            pending.extend(updated);
        }
        arrays
    }

    fn hero(&self, kernel: InstrId) -> Option<InstrId> {
        self.kernels.get(&kernel).and_then(|kernel| kernel.hero)
    }

    fn initial_values(&self, id: InstrId) -> &'a [InstrId] {
        self.heroes.initial_values(self.computation, id)
    }

    fn accepts_producers(&self, user: InstrId) -> bool {
        let instruction = self.computation.instruction(user);
        !self.placements[user.index()].is_empty() && !matches!(instruction.op, Op::Fusion { .. })
    }

    fn is_worth_it(&self, id: InstrId, placements: &[ValuePlacement]) -> Result<(), BufferReason> {
        let instruction = self.computation.instruction(id);
        let count = elements(self.computation, id);
        let EvaluationCounts { claimed, expensive, code_copies } = placements.iter().map(|p| p.evaluations).sum();
        let is_free = matches!(instruction.op, Op::Broadcast { .. } | Op::Iota { .. });
        if is_heavy(&instruction.op) && expensive.max(claimed) > count {
            return Err(BufferReason::Heavy { evaluations: expensive.max(claimed) / count });
        }
        // A scalar does not depend on the index. In the kernels of all emitters, lowering computes
        // it once per block, before the loops over elements.
        let is_cheap_scalar = count == 1.0 && per_element(self.computation, instruction) <= CHEAP_SCALAR;
        if (is_cheap_scalar || !is_free) && placements.len() > MOST_COPIES {
            return Err(BufferReason::Copies { kernels: placements.len(), most: MOST_COPIES });
        }
        let further = if is_free { 0.0 } else { code_copies - placements.len() as f64 };
        let compiled = further * self.launch / COPIES_OF_LAUNCH;
        let costs = (claimed - count) * per_repetition(self.computation, instruction) + compiled;
        let saves = self.launch + ROUND_TRIP * count;
        if is_cheap_scalar || costs <= saves { Ok(()) } else { Err(BufferReason::RepeatedWork { costs, saves }) }
    }

    /// Checks the kernels' limits. A value that a kernel computes from arrays that it reads anyway
    /// saves a read, so the kernel may have more instructions for such values.
    fn fits(&self, id: InstrId, placements: &[ValuePlacement]) -> Result<(), BufferReason> {
        let operands = &self.computation.instruction(id).operands;
        let is_full = |kernel: &OpenKernel| {
            let is_new = |&&o: &&InstrId| {
                is_counted(self.computation, o) && !kernel.inputs.contains_key(&self.arrays[o.index()])
            };
            let new = operands.iter().filter(is_new).count();
            let is_large = kernel.instructions >= MOST_INSTRUCTIONS;
            // Replacing one input by another is allowed even in a kernel with many inputs.
            let gone = kernel.inputs.get(&self.arrays[id.index()]).is_some_and(|needed| needed.len() == 1);
            let is_wider = new > usize::from(gone) && kernel.inputs.len() + new > MOST_INPUTS + operands.len();
            let is_beyond_all = kernel.instructions + kernel.needed() + operands.len() > MOST_OF_INPUTS;
            is_beyond_all || new > 0 && (is_large || is_wider)
        };
        if let Some(placement) = placements.iter().find(|p| self.kernels.get(&p.kernel).is_some_and(is_full)) {
            return Err(BufferReason::Full(self.name(placement.kernel)));
        }
        let is_divided = |it: &&ValuePlacement| self.indices.divisions(it.site) > MOST_DIVISIONS;
        match placements.iter().find(is_divided) {
            Some(placement) => {
                Err(BufferReason::NestedDivisions { kernel: self.name(placement.kernel), most: MOST_DIVISIONS })
            }
            None => Ok(()),
        }
    }

    /// Returns the reads of a value in each kernel.
    fn uses(&mut self, id: InstrId) -> Vec<KernelReads> {
        let mut kernels: Vec<KernelReads> = Vec::new();
        for user in self.users[id.index()].clone() {
            let instruction = self.computation.instruction(user);
            let fusible = self.initial_values(user).len()..instruction.operands.len();
            for position in fusible.filter(|&p| instruction.operands[p] == id) {
                let mapped = read(self.computation, instruction, position);
                let read = self.claimed_read(user, position).unwrap_or_else(|| mapped.clone());
                let is_kept = self.heroes.claim(user).is_some_and(|claim| claim.keeps_producers);
                let expensive = if is_kept { read.factor } else { mapped.factor };
                for placement in self.placements[user.index()].clone() {
                    let site = self.indices.read(placement.site, &read.index);
                    let hero = self.hero(placement.kernel);
                    let zone = zone_of_operands(self.computation, user, placement.zone, hero);
                    add(
                        &mut kernels,
                        placement.kernel,
                        zone,
                        (site, placement.evaluations.times(read.factor, expensive)),
                    );
                }
            }
        }
        kernels
    }

    /// Returns how the kernel of a claimed hero reads operand number `position`.
    fn claimed_read(&self, hero: InstrId, position: usize) -> Option<OperandReads> {
        let factor = *self.heroes.claim(hero)?.reads.get(position)?;
        Some(elsewhere(self.computation.instruction(hero), position, factor))
    }
}

fn add(kernels: &mut Vec<KernelReads>, kernel: InstrId, zone: Zone, site: (EvaluationSite, EvaluationCounts)) {
    let position = kernels.iter().position(|uses| uses.kernel == kernel).unwrap_or_else(|| {
        kernels.push(KernelReads { kernel, zone: Zone::Epilogue, sites: Vec::new() });
        kernels.len() - 1
    });
    let uses = &mut kernels[position];
    if zone == Zone::Inside {
        uses.zone = Zone::Inside;
    }
    sites::add(&mut uses.sites, site);
}

/// Returns the placement of a value in a kernel that reads the value as `uses` states.
fn placement(id: InstrId, uses: &KernelReads) -> ValuePlacement {
    let (site, evaluations) = sites::common(id, &uses.sites);
    ValuePlacement { kernel: uses.kernel, site, zone: uses.zone, evaluations }
}

/// Whether a kernel needs a buffer argument for a value that is not fused. A value that is computed
/// only from constants never needs a buffer argument.
fn is_counted(computation: &Computation, id: InstrId) -> bool {
    let instruction = computation.instruction(id);
    match &instruction.op {
        Op::Iota { .. } => false,
        Op::Broadcast { .. } => is_counted(computation, instruction.operands[0]),
        op => !is_scalar_constant(op),
    }
}

/// Returns, for each instruction, the array that a kernel reads in order to compute it. A value
/// that is computed cheaply and elementwise from a single array is represented by that array.
/// Fusion decides about users before operands. So without this rule, three hundred comparisons of
/// one array would count as three hundred inputs until fusion decides about the comparisons.
fn arrays(computation: &Computation, heroes: &Heroes, users: &[Vec<InstrId>]) -> Vec<InstrId> {
    let array = |id: InstrId| {
        let instruction = computation.instruction(id);
        let again = users[id.index()].len().saturating_sub(1);
        let is_cheap = again <= MOST_COPIES && again as f64 * per_repetition(computation, instruction) <= ROUND_TRIP;
        let mut operands = instruction.operands.iter().copied().filter(|&operand| is_counted(computation, operand));
        match (operands.next(), operands.next()) {
            (Some(only), None) if is_cheap && instruction.op.is_elementwise() && heroes.claim(id).is_none() => only,
            _ => id,
        }
    };
    computation.ids().map(array).collect()
}

/// Returns the number of elements of an instruction's first array, or 1 if the instruction has no
/// array.
pub fn elements(computation: &Computation, id: InstrId) -> f64 {
    first_array(computation.instruction(id)).map_or(1.0, |shape| shape.element_count() as f64)
}

/// Whether an operation is a constant of one element, which is part of the kernel's code.
pub fn is_scalar_constant(op: &Op) -> bool {
    matches!(op, Op::Constant(literal) if literal.as_array().is_some_and(|a| a.element_count() == 1))
}
