//! Fusions that emitters ask for.
//!
//! ```text
//! anchors     operations around which some emitter wants to be asked
//! candidate   the part of the computation around such an operation
//! bid         what an emitter would take of it, which must be possible: nothing leads out of it and back in
//! predict     seconds of the bid's plan against seconds of the kernels that the host would make of the same, several of which
//!             count a little more
//! decide      the user's choice, then what a decision on the cut says (`cuts`), then the prediction
//! ```
//!
//! Decided before everything else: what an emitter gets is a fusion like those that the text brings along. Answers are
//! remembered by form, so that a program of many equal layers asks as often as one of a single layer.

use std::collections::{HashMap, HashSet};

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Bid, Fusion};
use fusebox_core::hlo::{Computation, ComputationId, InstrId, Module, Op, canonical_text};

use super::candidate::{Offer, Sequence};
use super::claims::Claims;
use super::cuts::{self, Cut};
use super::decide::is_scalar_constant;
use super::outline::{insert, results};
use super::region::Region;
use crate::host_module::with_callees;
use crate::kernels::collect;
use crate::rebuild::Rebuild;
use crate::select::{Emitters, ask, planned};

/// One kernel is worth as much more than several of the same predicted time: between them cores wait for each other, and data
/// leaves the nearest caches.
const ONE_KERNEL: f64 = 1.05;

/// What became of a bid, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct BidRecord {
    /// Name of the instruction that the emitter anchors on.
    pub anchor: String,
    /// Name, version and origin of the emitter.
    pub emitter: String,
    /// What was decided, and why.
    pub outcome: String,
}

/// Asks emitters about the computations of one module.
pub struct Bids<'a, 'c> {
    device: &'a DeviceDescription,
    emitters: &'a Emitters,
    claims: &'c mut Claims<'a>,
    /// By form of the offer and emitter: what it takes, as numbers of the region's instructions.
    answers: HashMap<(String, usize), Result<Vec<InstrId>, String>>,
    /// By form of the fusion and emitter.
    predictions: HashMap<(String, usize), Result<Forecast, String>>,
    /// What became of every bid, in the order in which emitters were asked.
    pub records: Vec<BidRecord>,
    /// Regions that might as well be cut otherwise, each once.
    pub cuts: Vec<Cut>,
    /// Emitters that gave no usable answer, each failure once.
    pub warnings: Vec<String>,
}

/// What a bid is predicted to take, and what its instructions take without it.
#[derive(Clone, Copy, Debug)]
pub struct Forecast {
    /// Seconds of the bid.
    pub bid: f64,
    /// Seconds otherwise, weighed against one kernel.
    pub otherwise: f64,
    /// Kernels otherwise.
    pub kernels: usize,
}

impl Forecast {
    /// Seconds that the bid saves.
    pub fn gain(&self) -> f64 {
        self.otherwise - self.bid
    }
}

/// A bid that can be made a fusion.
pub struct Bidding {
    /// Number of the emitter.
    pub emitter: usize,
    pub taken: Taken,
    pub forecast: Forecast,
    /// Number of the record that says what becomes of it.
    record: usize,
}

/// What a bid takes, where nothing leads out of it and back in.
pub struct Taken {
    pub region: Region,
    /// Members that are computed again outside for those who read them there.
    repeated: HashSet<InstrId>,
}

impl<'a, 'c> Bids<'a, 'c> {
    /// For these emitters; an emitter that the user has replaced for its kind is not asked.
    pub fn new(device: &'a DeviceDescription, emitters: &'a Emitters, claims: &'c mut Claims<'a>) -> Bids<'a, 'c> {
        Bids {
            device,
            emitters,
            claims,
            answers: HashMap::new(),
            predictions: HashMap::new(),
            records: Vec::new(),
            cuts: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Puts a fusion in the place of everything in a computation that some emitter takes and does in less time.
    pub fn fuse(&mut self, module: &mut Module, mut id: ComputationId) {
        let mut tried: HashSet<(String, usize)> = HashSet::new();
        loop {
            let taken = self.round(module, id, &mut tried);
            if taken.is_empty() {
                return;
            }
            put_in_place(module, id, &taken);
            // The fused computations were put in front of this one.
            id = ComputationId(id.0 + taken.len() as u32);
        }
    }

    /// What is decided for around instructions that are not yet tried, one after another as far as they have nothing to do with
    /// each other: no offer reaches back to what is taken before it. Several in a round, so that many equal layers take few
    /// rounds, each of which copies the computation.
    fn round(&mut self, module: &Module, id: ComputationId, tried: &mut HashSet<(String, usize)>) -> Vec<Taken> {
        let sequence = Sequence::of(module, id);
        let computation = sequence.computation;
        let mut taken: Vec<Taken> = Vec::new();
        let mut last_taken = None;
        for anchor in computation.ids() {
            let instruction = computation.instruction(anchor);
            let mut bidders = self.emitters.bidders(instruction.opcode());
            bidders.retain(|&number| !tried.contains(&(instruction.name.clone(), number)));
            if bidders.is_empty() || Some(anchor) <= last_taken {
                continue;
            }
            let Some(members) = sequence.nearest(anchor, last_taken) else { continue };
            tried.extend(bidders.iter().map(|&number| (instruction.name.clone(), number)));
            let Some(offer) = Offer::around(&sequence, anchor, members) else { continue };
            let judged = bidders.into_iter().filter_map(|number| self.judge(&sequence, &offer, number));
            let mut bids: Vec<Bidding> = judged.collect();
            let Some(place) = self.decided(&sequence, &bids) else { continue };
            let decided = bids.swap_remove(place).taken;
            last_taken = decided.region.members.last().copied();
            taken.push(decided);
        }
        taken
    }

    /// The bid of an emitter, if it is possible.
    fn judge(&mut self, sequence: &Sequence, offer: &Offer, number: usize) -> Option<Bidding> {
        let members = self.answer(offer, number).and_then(|members| checked(offer, &members));
        let judged = members.and_then(|members| {
            let taken = taken(sequence, members)?;
            let forecast = self.prediction(sequence, &taken, number)?;
            Ok((taken, forecast))
        });
        let region = offer.candidate.region.computation();
        let anchor = region.instruction(offer.candidate.anchor).name.clone();
        let emitter = self.emitters.registry.emitters()[number].identity();
        let outcome = judged.as_ref().err().cloned().unwrap_or_default();
        self.records.push(BidRecord { anchor, emitter, outcome });
        let (taken, forecast) = judged.ok()?;
        Some(Bidding { emitter: number, taken, forecast, record: self.records.len() - 1 })
    }

    /// The place of the bid around one instruction that becomes a fusion, and why, in the records.
    fn decided(&mut self, sequence: &Sequence, bids: &[Bidding]) -> Option<usize> {
        let in_charge = bids.iter().position(|bid| self.emitters.is_in_charge(bid.emitter));
        let predicted = || {
            let worth = bids.iter().enumerate().rev().filter(|(_, bid)| bid.forecast.gain() > 0.0);
            worth.max_by(|a, b| a.1.forecast.gain().total_cmp(&b.1.forecast.gain())).map(|(place, _)| place)
        };
        let (decided, why) = match in_charge {
            Some(place) => (Some(place), ", as the user has put it in charge".to_owned()),
            None => match self.tuned(sequence, bids, predicted()) {
                Some((place, name)) => (place, format!(", tuned: `{name}` is what `fusebox tune` has found")),
                None => (predicted(), String::new()),
            },
        };
        for (place, bid) in bids.iter().enumerate() {
            let does = match decided == Some(place) {
                true => format!("takes {} instructions:", bid.taken.region.members.len()),
                false => "would take".into(),
            };
            let Forecast { bid: own, otherwise, .. } = bid.forecast;
            let outcome = format!("{does} {:.1} us instead of {:.1}{why}", own * 1e6, otherwise * 1e6);
            self.records[bid.record].outcome = outcome;
        }
        decided
    }

    /// What is decided about a cut that predictions hardly tell from another, and what that was written down as.
    fn tuned(
        &mut self,
        sequence: &Sequence,
        bids: &[Bidding],
        predicted: Option<usize>,
    ) -> Option<(Option<usize>, String)> {
        let open = cuts::open(bids, predicted)?;
        let anchor = self.records[bids.first()?.record].anchor.clone();
        let cut = open.cut(sequence, bids, &anchor, self.claims)?;
        let known = self.emitters.cuts.get(&cut.fingerprint);
        let way = known.and_then(|name| cut.ways.iter().find(|way| way.name == *name));
        let found = way.map(|way| (way.bid, way.name.clone()));
        if self.cuts.iter().all(|other| other.fingerprint != cut.fingerprint) {
            self.cuts.push(cut);
        }
        found
    }

    fn answer(&mut self, offer: &Offer, number: usize) -> Result<Vec<InstrId>, String> {
        let emitter = &self.emitters.registry.emitters()[number];
        let device = self.device;
        let warnings = &mut self.warnings;
        let asked = || match ask(|| emitter.bid(&offer.candidate, device)) {
            Ok(Bid::Take { instructions }) => Ok(instructions),
            Ok(Bid::Decline(decline)) => Err(decline.reason),
            Err(failure) => {
                let failure = failure.to_string();
                if !warnings.contains(&failure) {
                    warnings.push(failure.clone());
                }
                Err(failure)
            }
        };
        self.answers.entry((offer.form.clone(), number)).or_insert_with(asked).clone()
    }

    fn prediction(&mut self, sequence: &Sequence, taken: &Taken, number: usize) -> Result<Forecast, String> {
        let alone = with_callees(sequence.module, taken.region.computation(sequence.computation), "bid");
        let key = (canonical_text(&alone), number);
        if let Some(known) = self.predictions.get(&key) {
            return known.clone();
        }
        let predicted = self.predict(alone, number);
        self.predictions.insert(key, predicted.clone());
        predicted
    }

    fn predict(&mut self, alone: Module, number: usize) -> Result<Forecast, String> {
        let fusion = Fusion::new("bid", alone.clone()).ok_or("the bid is empty")?;
        let bid = planned(&fusion, self.device, self.emitters, Some(number))?.seconds;
        let mut otherwise = alone;
        super::by_the_host(&mut otherwise, self.claims);
        let units = collect(&otherwise).units;
        let mut seconds = 0.0;
        for unit in &units {
            seconds += planned(&unit.fusion, self.device, self.emitters, None)?.seconds;
        }
        let kernels = units.len();
        Ok(Forecast { bid, otherwise: if kernels > 1 { seconds * ONE_KERNEL } else { seconds }, kernels })
    }
}

/// Puts fusions in the place of what they take, each of which stands before all of the next. The fused computations are put in
/// front of the one they are taken from.
pub fn put_in_place(module: &mut Module, id: ComputationId, taken: &[Taken]) {
    let old = module.computation(id).clone();
    let new = with_fusions(&old, taken, module.computations.len() as u32);
    insert(module, id, new, taken.iter().map(|taken| taken.region.computation(&old)).collect());
}

/// The instructions of the computation that a bid is on.
fn checked(offer: &Offer, bid: &[InstrId]) -> Result<Vec<InstrId>, String> {
    let mut members = Vec::with_capacity(bid.len());
    for &id in bid {
        let origin =
            offer.origin(id).ok_or("its bid names what is no instruction of the region, or a parameter of it")?;
        if members.contains(&origin) {
            return Err("its bid names an instruction twice".into());
        }
        members.push(origin);
    }
    match bid.contains(&offer.candidate.anchor) {
        true => Ok(members),
        false => Err("its bid lacks the anchor".into()),
    }
}

/// The fusion that a bid becomes, if nothing leads out of it and back in. Takes time by how far its members lie apart, not by
/// the size of the computation, as there are many bids.
pub fn taken(Sequence { computation, users, .. }: &Sequence, mut members: Vec<InstrId>) -> Result<Taken, String> {
    members.sort_unstable();
    check_convex(computation, &members)?;
    let inside: HashSet<InstrId> = members.iter().copied().collect();
    let (mut roots, mut repeated) = (Vec::new(), HashSet::new());
    for id in members.into_iter().rev() {
        let is_outside = |user: &InstrId| !inside.contains(user) || repeated.contains(user);
        let is_read = id == computation.root || users[id.index()].iter().any(is_outside);
        match is_read {
            true if is_copied(computation, id) && id != computation.root => drop(repeated.insert(id)),
            true => roots.push(id),
            false => {}
        }
    }
    roots.reverse();
    if roots.is_empty() {
        return Err("nothing of what it takes is a result".into());
    }
    let members = needed_by(computation, &roots, &inside);
    Ok(Taken { region: Region::of_members(computation, roots, members), repeated })
}

/// Nothing leads out of a kernel and back in. The members are in order.
fn check_convex(computation: &Computation, members: &[InstrId]) -> Result<(), String> {
    // What every kernel can compute for itself may stand far in front of all else.
    let start = members.iter().position(|&id| !is_copied(computation, id)).unwrap_or(0);
    let (free, [first, .., last] | [first @ last]) = members.split_at(start) else { return Ok(()) };
    let inside: HashSet<InstrId> = members.iter().copied().collect();
    // Outside, what needs the kernel's results; inside, what can be had elsewhere without them.
    let mut behind: HashSet<InstrId> = HashSet::new();
    let mut is_free: HashSet<InstrId> = free.iter().copied().collect();
    for id in (first.0..=last.0).map(InstrId) {
        let instruction = computation.instruction(id);
        let is_inside = inside.contains(&id);
        let leads_back = instruction.operands.iter().any(|operand| behind.contains(operand));
        if is_inside && leads_back {
            return Err(format!("what it takes depends on itself: {} needs what is left out", instruction.name));
        }
        let is_bound = |operand: &InstrId| inside.contains(operand) && !is_free.contains(operand);
        let needs = instruction.operands.iter().any(is_bound);
        if is_inside && is_copied(computation, id) && !needs {
            is_free.insert(id);
        } else if !is_inside && (leads_back || needs) {
            behind.insert(id);
        }
    }
    Ok(())
}

/// Whether an instruction of a kernel is computed again outside instead of being a result.
fn is_copied(computation: &Computation, id: InstrId) -> bool {
    let op = &computation.instruction(id).op;
    matches!(op, Op::Broadcast { .. } | Op::Iota { .. }) || is_scalar_constant(op)
}

fn needed_by(computation: &Computation, roots: &[InstrId], inside: &HashSet<InstrId>) -> Vec<InstrId> {
    let mut needed = HashSet::new();
    let mut pending = roots.to_vec();
    while let Some(id) = pending.pop() {
        if inside.contains(&id) && needed.insert(id) {
            pending.extend(&computation.instruction(id).operands);
        }
    }
    let mut needed: Vec<InstrId> = needed.into_iter().collect();
    needed.sort_unstable();
    needed
}

/// The computation with each fusion where the last of its members stood. What one takes stands before all of what the next
/// takes. The computations that they call are numbered from `first_new` on.
fn with_fusions(old: &Computation, taken: &[Taken], first_new: u32) -> Computation {
    let copied = copied(old, taken);
    let mut rebuild = Rebuild::new(old);
    let mut made = vec![false; old.instructions.len()];
    let mut waiting: Vec<InstrId> = Vec::new();
    let mut regions = taken.iter().map(|taken| &taken.region).zip(first_new..).peekable();
    for id in old.ids() {
        if copied[id.index()] {
            let ready = old.instruction(id).operands.iter().all(|operand| made[operand.index()]);
            match ready {
                true => copy(&mut rebuild, old, id, &mut made),
                false => waiting.push(id),
            }
        }
        if let Some((region, calls)) = regions.next_if(|(region, _)| region.members.last() == Some(&id)) {
            let call = region.call(&mut rebuild, old, ComputationId(calls));
            results(&mut rebuild, old, region, call);
            region.roots.iter().for_each(|root| made[root.index()] = true);
            for id in std::mem::take(&mut waiting) {
                copy(&mut rebuild, old, id, &mut made);
            }
        }
    }
    rebuild.finish()
}

/// What remains beside the fusions: what is outside, and what is inside but read outside without being a root.
fn copied(old: &Computation, taken: &[Taken]) -> Vec<bool> {
    let users = old.users();
    let members: HashSet<&InstrId> = taken.iter().flat_map(|taken| &taken.region.members).collect();
    let roots: HashSet<&InstrId> = taken.iter().flat_map(|taken| &taken.region.roots).collect();
    let repeated: HashSet<&InstrId> = taken.iter().flat_map(|taken| &taken.repeated).collect();
    let mut copied = vec![false; old.instructions.len()];
    for id in old.ids().rev() {
        let is_read = users[id.index()].iter().any(|user| copied[user.index()]);
        let remains = is_read || repeated.contains(&id);
        copied[id.index()] = !members.contains(&id) || remains && !roots.contains(&id);
    }
    copied
}

fn copy(rebuild: &mut Rebuild, old: &Computation, id: InstrId, made: &mut [bool]) {
    let new = rebuild.copy(old.instruction(id));
    rebuild.set(id, new);
    made[id.index()] = true;
}
