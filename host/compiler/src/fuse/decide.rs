//! Which instructions get a buffer, and which are computed inside their users' kernels.
//!
//! Users are decided before operands. A producer goes into *all* its users' kernels or into none. How
//! often its elements will be computed follows from how often its users' are and how they read it;
//! where two users in one kernel read at the same index, the value is computed once (the partitioner
//! shares it), elsewhere each read computes it anew. Going into the kernels is allowed only while the
//! work repeated costs less than a launch and the memory traffic saved. So the total work stays within
//! a constant factor of computing everything once, whatever the sharing. What a kernel's iteration space
//! must suit is decided in `hero`.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::iter::Sum;

use fusebox_core::analysis::takes_what_is_replaced;
use fusebox_core::cost::{CHEAP_SCALAR, ROUND_TRIP, first_array, is_heavy, per_element, per_repetition};
use fusebox_core::hlo::{Computation, InstrId, Op};

use super::apart::Apart;
use super::claims::Heroes;
use super::hero::{Zone, is_admitted, zone_of_operands};
use super::reads::{Read, elsewhere, read};
use super::sites::{self, Indices, Site};

/// Most instructions of one kernel.
const MOST_INSTRUCTIONS: usize = 400;
/// Most instructions of a kernel if the last of them are computed from arrays that it reads in any
/// case: without them it would read their results.
const MOST_OF_INPUTS: usize = 800;
/// Most buffers one kernel reads.
const MOST_INPUTS: usize = 40;
/// Most divisions in a row by which a kernel makes an index: reshapes that follow each other with
/// transposes between them. A few divisions take as long as the element's way through memory, and
/// the time to simplify an index grows with the square of their number.
const MOST_DIVISIONS: u32 = 12;
/// Places of an instruction that take as long to compile as they may save by a launch less in all
/// runs of a program.
const PLACES_OF_LAUNCH: f64 = 20.0;
/// Most kernels a producer is copied into.
const MOST_COPIES: usize = 4;

/// Bytes of an array from which on a kernel of its own for what reads it takes less time than a copy of it.
const LEAST_KEPT: i64 = 128;

/// What reads at most such a part of the array gets one. Larger parts take as long to write as the array to copy.
const LEAST_PARTS: i64 = 4;
/// Most updates of one array one after the other that are looked through.
const MOST_UPDATES: usize = 16;

/// The outcome for one computation.
#[derive(Debug)]
pub struct Decisions {
    /// Per instruction, the roots of the kernels it is computed in. An instruction with a buffer computed by
    /// a kernel is in its own; one that no kernel computes is in none.
    pub kernels: Vec<Vec<InstrId>>,
    /// Per root of a kernel, its hero, if it has one.
    pub hero_of: HashMap<InstrId, InstrId>,
    /// Of those that might have been computed inside of others' kernels, why they are not.
    pub apart: HashMap<InstrId, Apart>,
    /// What emitters ask for.
    pub heroes: Heroes,
}

impl Decisions {
    /// Whether the instruction is the root of a kernel.
    pub fn is_root(&self, id: InstrId) -> bool {
        self.kernels[id.index()].contains(&id)
    }
}

/// One kernel that computes a value.
#[derive(Clone, Debug)]
struct Placement {
    kernel: InstrId,
    site: Site,
    zone: Zone,
    evaluations: Evaluations,
}

/// The evaluations of a value in a kernel, in elements, and the places of its code.
#[derive(Clone, Copy, Debug, Default)]
struct Evaluations {
    /// As the emitters say that ask for the heroes which read it.
    claimed: f64,
    /// Where each element is computed wherever it is read: by an emitter that takes anything.
    plain: f64,
    /// Places of the kernel's code: a function may become part of each place that calls it.
    places: f64,
}

impl Evaluations {
    fn times(self, claimed: f64, plain: f64) -> Self {
        Evaluations { claimed: self.claimed * claimed, plain: self.plain * plain, ..self }
    }
}

impl Sum for Evaluations {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Evaluations::default(), |sum, it| Evaluations {
            claimed: sum.claimed + it.claimed,
            plain: sum.plain + it.plain,
            places: sum.places + it.places,
        })
    }
}

/// The reads of a value in one kernel.
struct Uses {
    kernel: InstrId,
    zone: Zone,
    /// The distinct places, with the number of reads.
    sites: Vec<(Site, Evaluations)>,
}

/// What a kernel has become so far.
#[derive(Default)]
struct Kernel {
    instructions: usize,
    /// The arrays that it reads, with the values that it needs of each.
    inputs: HashMap<InstrId, HashSet<InstrId>>,
    hero: Option<InstrId>,
}

impl Kernel {
    /// Needs a value, which is computed from an array.
    fn need(&mut self, value: InstrId, array: InstrId) {
        self.inputs.entry(array).or_default().insert(value);
    }

    /// The number of values that it needs and that are computed elsewhere so far.
    fn needed(&self) -> usize {
        self.inputs.values().map(HashSet::len).sum()
    }

    /// No longer needs it from outside.
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
    /// Additions that a launch takes.
    launch: f64,
    users: Vec<Vec<InstrId>>,
    /// Per instruction, the array that is read for it: see [`arrays`].
    arrays: Vec<InstrId>,
    placements: Vec<Vec<Placement>>,
    kernels: HashMap<InstrId, Kernel>,
    apart: HashMap<InstrId, Apart>,
    indices: Indices,
}

/// Decides for every instruction of a computation executed by thunks. A launch takes the time of
/// `launch` additions.
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
        apart: HashMap::new(),
        indices: Indices::default(),
    };
    for id in computation.ids().rev() {
        decider.place(id);
    }
    let kernels = decider.placements.iter().map(|list| list.iter().map(|p| p.kernel).collect()).collect();
    let hero_of = decider.kernels.iter().filter_map(|(&root, kernel)| Some((root, kernel.hero?))).collect();
    Decisions { kernels, hero_of, apart: decider.apart, heroes }
}

impl<'a> Decider<'a> {
    fn place(&mut self, id: InstrId) {
        let instruction = self.computation.instruction(id);
        if is_scalar_constant(&instruction.op) {
            self.copy_into_users(id);
        } else if self.heroes.is_kernel(self.computation, id) {
            match self.inside_users(id) {
                Ok(placements) => self.fuse(id, placements),
                Err(apart) => {
                    self.apart.insert(id, apart);
                    self.open_kernel(id);
                }
            }
        }
    }

    /// A constant of one element belongs to every kernel that uses it and has a buffer for the others.
    fn copy_into_users(&mut self, id: InstrId) {
        self.placements[id.index()] = self.uses(id).iter().map(|uses| placement(id, uses)).collect();
    }

    fn open_kernel(&mut self, id: InstrId) {
        let instruction = self.computation.instruction(id);
        let site = Site::function_of(id);
        let all = elements(self.computation, id);
        let evaluations = Evaluations { claimed: all, plain: all, places: 1.0 };
        self.placements[id.index()] = vec![Placement { kernel: id, site, zone: Zone::Epilogue, evaluations }];
        let fusible = &instruction.operands[self.initial_values(id).len()..];
        let hero = self.heroes.claim(id).map(|_| id);
        let mut kernel = Kernel { instructions: 1, inputs: HashMap::new(), hero };
        let counted = fusible.iter().filter(|&&operand| is_counted(self.computation, operand));
        counted.for_each(|&operand| kernel.need(operand, self.arrays[operand.index()]));
        self.kernels.insert(id, kernel);
    }

    fn fuse(&mut self, id: InstrId, placements: Vec<Placement>) {
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

    /// Where the value would be computed inside its users' kernels, or why it must have a buffer.
    fn inside_users(&mut self, id: InstrId) -> Result<Vec<Placement>, Apart> {
        let instruction = self.computation.instruction(id);
        if id == self.computation.root {
            return Err(Apart::Result);
        }
        if matches!(instruction.op, Op::Fusion { .. }) {
            return Err(Apart::Given);
        }
        if instruction.shape.as_array().is_none() {
            return Err(Apart::NoArray);
        }
        let users = &self.users[id.index()];
        if let Some(&user) = users.iter().find(|&&user| self.initial_values(user).contains(&id)) {
            return Err(Apart::StartOf(self.name(user)));
        }
        if let Some(&user) = users.iter().find(|&&user| !self.accepts_producers(user)) {
            return Err(Apart::ReadOutside(self.name(user)));
        }
        if users.is_empty() {
            return Err(Apart::Unread);
        }
        let placements: Vec<Placement> = self.uses(id).iter().map(|uses| placement(id, uses)).collect();
        placements.iter().try_for_each(|placement| self.admits(placement, id))?;
        self.is_worth_it(id, &placements)?;
        self.fits(id, &placements)?;
        Ok(placements)
    }

    fn name(&self, id: InstrId) -> String {
        self.computation.instruction(id).name.clone()
    }

    /// Whether a kernel's iteration space suits the producer, and the other way round.
    fn admits(&self, placement: &Placement, id: InstrId) -> Result<(), Apart> {
        let kernel = placement.kernel;
        let hero = self.hero(kernel);
        if self.heroes.is_updated_in_place(self.computation, kernel, id) || self.reads_beside_the_update(id, kernel) {
            return Err(Apart::UpdatedBy(self.name(kernel)));
        }
        match is_admitted(self.heroes, id, placement.zone, hero) {
            true => Ok(()),
            false => Err(Apart::OtherHero { kernel: self.name(kernel), hero: hero.map(|hero| self.name(hero)) }),
        }
    }

    /// Whether an instruction reads a small part of an array that the root of a kernel updates, other elements than those that are
    /// replaced. In that kernel it might read what is written already, so the whole array would have to be copied.
    fn reads_beside_the_update(&self, id: InstrId, root: InstrId) -> bool {
        let instruction = self.computation.instruction(id);
        let bytes =
            |of: InstrId| self.computation.instruction(of).shape.as_array().map_or(0, |array| array.byte_size());
        let would_be_copied = |array: &InstrId| {
            let of_array = bytes(*array);
            of_array >= LEAST_KEPT && bytes(id) <= of_array / LEAST_PARTS && instruction.operands.contains(array)
        };
        self.updated_by(root).iter().any(would_be_copied) && !takes_what_is_replaced(self.computation, id, root)
    }

    /// The arrays in whose place the result of a kernel's root may stand: what it updates, what that is an update of, and so on.
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

    fn is_worth_it(&self, id: InstrId, placements: &[Placement]) -> Result<(), Apart> {
        let instruction = self.computation.instruction(id);
        let count = elements(self.computation, id);
        let Evaluations { claimed, plain, places } = placements.iter().map(|p| p.evaluations).sum();
        let is_free = matches!(instruction.op, Op::Broadcast { .. } | Op::Iota { .. });
        // An emitter that keeps what it reads hardly takes what is expensive in front of its hero.
        if is_heavy(&instruction.op) && plain.max(claimed) > count {
            return Err(Apart::Heavy { evaluations: plain.max(claimed) / count });
        }
        // A scalar does not depend on the index: it is computed once in a block, not for each of its elements.
        let is_cheap_scalar = count == 1.0 && per_element(self.computation, instruction) <= CHEAP_SCALAR;
        if (is_cheap_scalar || !is_free) && placements.len() > MOST_COPIES {
            return Err(Apart::Copies { kernels: placements.len(), most: MOST_COPIES });
        }
        let further = if is_free { 0.0 } else { places - placements.len() as f64 };
        let compiled = further * self.launch / PLACES_OF_LAUNCH;
        let costs = (claimed - count) * per_repetition(self.computation, instruction) + compiled;
        let saves = self.launch + ROUND_TRIP * count;
        if is_cheap_scalar || costs <= saves { Ok(()) } else { Err(Apart::Repeated { costs, saves }) }
    }

    /// Whether the kernels have room. A value computed from arrays that a kernel reads in any case
    /// needs little: it replaces a read.
    fn fits(&self, id: InstrId, placements: &[Placement]) -> Result<(), Apart> {
        let operands = &self.computation.instruction(id).operands;
        let is_full = |kernel: &Kernel| {
            let is_new = |&&o: &&InstrId| {
                is_counted(self.computation, o) && !kernel.inputs.contains_key(&self.arrays[o.index()])
            };
            let new = operands.iter().filter(is_new).count();
            let is_large = kernel.instructions >= MOST_INSTRUCTIONS;
            // One input instead of another is no more than before, also of a kernel that has many.
            let gone = kernel.inputs.get(&self.arrays[id.index()]).is_some_and(|needed| needed.len() == 1);
            let is_wider = new > usize::from(gone) && kernel.inputs.len() + new > MOST_INPUTS + operands.len();
            let is_beyond_all = kernel.instructions + kernel.needed() + operands.len() > MOST_OF_INPUTS;
            is_beyond_all || new > 0 && (is_large || is_wider)
        };
        if let Some(placement) = placements.iter().find(|p| self.kernels.get(&p.kernel).is_some_and(is_full)) {
            return Err(Apart::Full(self.name(placement.kernel)));
        }
        let is_divided = |it: &&Placement| self.indices.divisions(it.site) > MOST_DIVISIONS;
        match placements.iter().find(is_divided) {
            Some(placement) => Err(Apart::Divided { kernel: self.name(placement.kernel), most: MOST_DIVISIONS }),
            None => Ok(()),
        }
    }

    /// Per kernel, the places that read the value.
    fn uses(&mut self, id: InstrId) -> Vec<Uses> {
        let mut kernels: Vec<Uses> = Vec::new();
        for user in self.users[id.index()].clone() {
            let instruction = self.computation.instruction(user);
            let fusible = self.initial_values(user).len()..instruction.operands.len();
            for position in fusible.filter(|&p| instruction.operands[p] == id) {
                let plain = read(self.computation, instruction, position);
                let read = self.claimed_read(user, position).unwrap_or_else(|| plain.clone());
                for placement in self.placements[user.index()].clone() {
                    let site = self.indices.read(placement.site, &read.index);
                    let hero = self.hero(placement.kernel);
                    let zone = zone_of_operands(self.computation, user, placement.zone, hero);
                    add(
                        &mut kernels,
                        placement.kernel,
                        zone,
                        (site, placement.evaluations.times(read.factor, plain.factor)),
                    );
                }
            }
        }
        kernels
    }

    /// How the kernel that an emitter asks for reads a hero's operand of that number.
    fn claimed_read(&self, hero: InstrId, position: usize) -> Option<Read> {
        let factor = *self.heroes.claim(hero)?.reads.get(position)?;
        Some(elsewhere(self.computation.instruction(hero), position, factor))
    }
}

fn add(kernels: &mut Vec<Uses>, kernel: InstrId, zone: Zone, site: (Site, Evaluations)) {
    let position = kernels.iter().position(|uses| uses.kernel == kernel).unwrap_or_else(|| {
        kernels.push(Uses { kernel, zone: Zone::Epilogue, sites: Vec::new() });
        kernels.len() - 1
    });
    let uses = &mut kernels[position];
    if zone == Zone::Inside {
        uses.zone = Zone::Inside;
    }
    sites::add(&mut uses.sites, site);
}

/// Where a kernel computes a value that it reads at these places.
fn placement(id: InstrId, uses: &Uses) -> Placement {
    let (site, evaluations) = sites::common(id, &uses.sites);
    Placement { kernel: uses.kernel, site, zone: uses.zone, evaluations }
}

/// Whether a value takes a buffer argument as long as it is not fused: a value computed from a
/// constant alone never does.
fn is_counted(computation: &Computation, id: InstrId) -> bool {
    let instruction = computation.instruction(id);
    match &instruction.op {
        Op::Iota { .. } => false,
        Op::Broadcast { .. } => is_counted(computation, instruction.operands[0]),
        op => !is_scalar_constant(op),
    }
}

/// Per instruction, the array that a kernel reads for its sake: a value that is computed cheaply
/// and elementwise from a single array counts as that array. Users are decided before operands, so
/// three hundred comparisons of one array would else pass for as many inputs until they are decided.
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

/// Elements of an instruction's first array, 1 if it has none.
pub fn elements(computation: &Computation, id: InstrId) -> f64 {
    first_array(computation.instruction(id)).map_or(1.0, |shape| shape.element_count() as f64)
}

/// A constant that is written into the kernel's code.
pub fn is_scalar_constant(op: &Op) -> bool {
    matches!(op, Op::Constant(literal) if literal.as_array().is_some_and(|a| a.element_count() == 1))
}
