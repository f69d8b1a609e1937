//! Fuses regions for which emitters make bids.
//!
//! ```text
//! anchors     operations around which an emitter may make a bid
//! candidate   the region around an anchor
//! bid         the instructions that an emitter wants; no path may leave them and return
//! predict     seconds of the bid's plan against seconds of the host's kernels for the same instructions;
//!             several kernels count a little more
//! decide      the user's choice, else a tuned decision on the cut (`cuts`), else the prediction
//! ```
//!
//! The host decides about bids before all other fusion. An accepted bid becomes a fusion, like the
//! fusions that the program text contains. The answers of emitters are cached, and regions that
//! differ only in names have the same cache entry. So each emitter is asked only once about the
//! equal layers of a model.

use std::collections::HashMap;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Bid, Fusion};
use fusebox_core::hlo::{ComputationId, InstrId, Module, canonical_text};
use fusebox_core::times::microseconds;
use fusebox_edit::{EditError, with_callees};

use super::candidate::{Offer, Sequence, VisitedInstructions};
use super::claims::Claims;
use super::convex_region::{ConvexRegion, convex_region};
use super::cuts::{self, Cut, Forecast, ViableBid};
use super::decide::Decisions;
use super::outline::put_in_place;
use super::region::Region;
use super::surroundings::{more_stored, surroundings, with_bid};
use super::{PredictedTotal, decisions, forecast, forecast_keeping_fusions};
use crate::emitters::{Emitters, ask, planned};

/// Factor by which the predicted time of several kernels is multiplied before it is compared with
/// the time of one kernel. Between kernels, cores wait for each other, and data leaves the nearest
/// caches.
const ONE_KERNEL: f64 = 1.05;

/// Outcome of a bid, as text for users.
#[derive(Clone, Debug, PartialEq)]
pub struct BidRecord {
    /// Name of the anchor: the instruction around which the emitter bids.
    pub anchor: String,
    /// Name, version and origin of the emitter.
    pub emitter: String,
    /// The decision and its reason.
    pub outcome: String,
}

/// A bid that the host ignores while it predicts the time of the kernels around the bid's
/// instructions. The predicted time is the time without the bid.
#[derive(Default)]
struct IgnoredBid {
    /// The instructions of the bid. The emitter is not asked for bids around the ignored bid's
    /// instructions.
    anchors: Vec<InstrId>,
    emitter: usize,
}

/// Asks emitters for bids in the computations of one module.
pub struct Bids<'a, 'c> {
    device: &'a DeviceDescription,
    emitters: &'a Emitters,
    claims: &'c mut Claims<'a>,
    /// Cached bids: the region's instructions that an emitter bids for. The key is the form of the
    /// offer and the emitter's number.
    answers: HashMap<(String, usize), Result<Vec<InstrId>, String>>,
    /// Cached predictions. The key is the form of the fusion and the emitter's number.
    predictions: HashMap<(String, usize), Result<Forecast, String>>,
    /// `Some` while the kernels around a bid are predicted. While `ignored` is set, the prediction
    /// of a bid does not include the kernels around the bid.
    ignored: Option<IgnoredBid>,
    /// Outcome of every bid, in the order in which emitters were asked.
    pub records: Vec<BidRecord>,
    /// Regions that can be cut into kernels in several ways, if predictions do not decide which way
    /// is the fastest. Each region occurs once.
    pub cuts: Vec<Cut>,
    /// Failures of emitters, without repetitions.
    pub warnings: Vec<String>,
}

impl<'a, 'c> Bids<'a, 'c> {
    /// Creates an empty state for these emitters. Emitters that the user has replaced for their
    /// kinds are not asked for bids.
    pub fn new(device: &'a DeviceDescription, emitters: &'a Emitters, claims: &'c mut Claims<'a>) -> Bids<'a, 'c> {
        Bids {
            device,
            emitters,
            claims,
            answers: HashMap::new(),
            predictions: HashMap::new(),
            ignored: None,
            records: Vec::new(),
            cuts: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Visits instructions in program order. At each anchor, turns the best profitable bid into a
    /// fusion. Regions that were fused earlier count as single steps.
    pub fn fuse(&mut self, module: &mut Module, id: ComputationId) -> Result<(), EditError> {
        let mut sequence = Sequence::of(module, id);
        let mut visited = VisitedInstructions::default();
        let mut has_fused = false;
        let mut alone = None;
        for anchor in sequence.computation.ids() {
            let mut bidders = self.emitters.bidders(sequence.computation.instruction(anchor).opcode());
            if let Some(ignored) = self.ignored.as_ref().filter(|ignored| ignored.anchors.contains(&anchor)) {
                bidders.retain(|&number| number != ignored.emitter);
            }
            if bidders.is_empty() {
                continue;
            }
            let members = sequence.nearest(anchor, &mut visited);
            let Some(offer) = Offer::around(&sequence, anchor, members) else { continue };
            let alone = &*alone.get_or_insert_with(|| decisions(sequence.module, id, self.claims));
            let judged = bidders.into_iter().filter_map(|number| self.judge(&sequence, alone, &offer, number));
            let mut bids: Vec<ViableBid> = judged.collect();
            let Some(place) = self.decided(&sequence, &bids) else { continue };
            sequence.fuse(bids.swap_remove(place).convex);
            has_fused = true;
        }
        let steps = sequence.graph.into_steps();
        if has_fused { put_in_place(module, id, steps) } else { Ok(()) }
    }

    /// Asks an emitter for its bid, and records the outcome. Returns the bid with its prediction.
    /// `None` if the bid cannot become a fusion.
    fn judge(&mut self, sequence: &Sequence, alone: &Decisions, offer: &Offer, number: usize) -> Option<ViableBid> {
        let members = self.answer(offer, number).and_then(|members| checked(offer, &members));
        let judged = members.and_then(|members| {
            let convex = convex_region(sequence, members)?;
            let forecast = self.prediction(sequence, alone, &convex, number)?;
            Ok((convex, forecast))
        });
        let region = offer.candidate.region.computation();
        let anchor = region.instruction(offer.candidate.anchor).name.clone();
        let emitter = self.emitters.registry.emitters()[number].identity();
        let outcome = judged.as_ref().err().cloned().unwrap_or_default();
        self.records.push(BidRecord { anchor, emitter, outcome });
        let (convex, forecast) = judged.ok()?;
        Some(ViableBid { emitter: number, convex, forecast, record: self.records.len() - 1 })
    }

    /// Decides which of the bids at one anchor becomes a fusion, and returns its position in
    /// `bids`. Records the outcome of each bid.
    fn decided(&mut self, sequence: &Sequence, bids: &[ViableBid]) -> Option<usize> {
        let in_charge = bids.iter().position(|bid| self.emitters.is_in_charge(bid.emitter));
        let predicted = || {
            let worth = bids.iter().enumerate().rev().filter(|(_, bid)| bid.forecast.gain() > 0.0);
            worth.max_by(|a, b| a.1.forecast.gain().total_cmp(&b.1.forecast.gain())).map(|(place, _)| place)
        };
        let (decided, why) = match in_charge {
            Some(place) => {
                let name = self.emitters.name_of(bids[place].emitter);
                (Some(place), format!(", because the user chose `{name}`"))
            }
            None => match self.tuned(sequence, bids, predicted()) {
                Some((place, name)) => (place, format!(", tuned: `fusebox tune` chose `{name}`")),
                None => (predicted(), String::new()),
            },
        };
        for (place, bid) in bids.iter().enumerate() {
            let does = if decided == Some(place) {
                format!("takes {} instructions:", bid.convex.region.members.len())
            } else {
                "would take".into()
            };
            let Forecast { bid: own, otherwise, .. } = bid.forecast;
            let (own, otherwise) = (microseconds(own * 1e6, 1), microseconds(otherwise * 1e6, 1));
            let around = if bid.forecast.has_surroundings { ", with the kernels around it" } else { "" };
            let outcome = format!("{does} {own} us instead of {otherwise}{around}{why}");
            self.records[bid.record].outcome = outcome;
        }
        decided
    }

    /// Returns the tuned decision for a region whose cuts have similar predictions. The decision
    /// consists of the position of the chosen bid and the name of the chosen cut. The position is
    /// `None` for the cut without a bid.
    fn tuned(
        &mut self,
        sequence: &Sequence,
        bids: &[ViableBid],
        predicted: Option<usize>,
    ) -> Option<(Option<usize>, String)> {
        let is_loaded = |bid: &ViableBid| !self.emitters.registry.emitters()[bid.emitter].is_linked();
        let undecided = cuts::undecided(bids, predicted, bids.iter().any(is_loaded))?;
        let anchor = self.records[bids.first()?.record].anchor.clone();
        let cut = undecided.cut(sequence, bids, &anchor, self.claims)?;
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

    fn prediction(
        &mut self,
        sequence: &Sequence,
        alone: &Decisions,
        convex: &ConvexRegion,
        number: usize,
    ) -> Result<Forecast, String> {
        let module_of =
            |region: &Region| with_callees(sequence.module, region.computation(sequence.computation), "bid");
        let own = self.remembered(module_of(&convex.region), number, |this, own| this.predict(own, number))?;
        let is_doubtful = own.gain() > 0.0 && own.gain() < more_stored(sequence, alone, convex, self.device);
        if !is_doubtful || self.ignored.is_some() {
            return Ok(own);
        }
        let around = surroundings(sequence, alone, convex).and_then(|region| {
            let without = module_of(&region);
            let with = with_bid(&without, &region, &convex.region)?;
            self.remembered(with.module, number, |this, module| {
                let ignored = IgnoredBid { anchors: with.members, emitter: number };
                let otherwise = this.predict_rest(without, ignored)?;
                let bid = this.predict_rest(module, IgnoredBid::default())?;
                Ok(Forecast { bid, otherwise, is_other_cut: true, has_surroundings: true })
            })
            .ok()
        });
        Ok(around.filter(|around| around.gain() <= 0.0).unwrap_or(own))
    }

    /// Predicts the seconds that a module takes. Keeps the fusions that the module already
    /// contains. Emitters may bid for the module's instructions that are not fused yet.
    fn predict_rest(&mut self, mut module: Module, ignored: IgnoredBid) -> Result<f64, String> {
        let entry = module.entry.ok_or("the module has no computation")?;
        let mut inner = Bids::new(self.device, self.emitters, self.claims);
        std::mem::swap(&mut inner.answers, &mut self.answers);
        std::mem::swap(&mut inner.predictions, &mut self.predictions);
        inner.ignored = Some(ignored);
        let fused = inner.fuse(&mut module, entry);
        (self.answers, self.predictions) = (inner.answers, inner.predictions);
        fused.map_err(|fault| fault.to_string())?;
        Ok(forecast_keeping_fusions(module, self.claims)?.seconds)
    }

    /// Returns the cached prediction for a module and an emitter, or computes it.
    fn remembered(
        &mut self,
        module: Module,
        number: usize,
        predict: impl FnOnce(&mut Self, Module) -> Result<Forecast, String>,
    ) -> Result<Forecast, String> {
        let key = (canonical_text(&module), number);
        if let Some(known) = self.predictions.get(&key) {
            return known.clone();
        }
        let predicted = predict(self, module);
        self.predictions.insert(key, predicted.clone());
        predicted
    }

    fn predict(&mut self, alone: Module, number: usize) -> Result<Forecast, String> {
        let mut fusion = Fusion::new("bid", alone.clone()).ok_or("the bid is empty")?;
        let known = self.claims.known().of(&mut fusion);
        let bid = planned(&fusion, self.device, self.emitters, Some(number), &known)?.seconds;
        let PredictedTotal { seconds, kernels } = forecast(alone, self.claims)?;
        let is_other_cut = kernels > 1;
        let otherwise = if is_other_cut { seconds * ONE_KERNEL } else { seconds };
        Ok(Forecast { bid, otherwise, is_other_cut, has_surroundings: false })
    }
}

/// Maps the instructions of a bid to instructions of the computation, and checks the bid.
fn checked(offer: &Offer, bid: &[InstrId]) -> Result<Vec<InstrId>, String> {
    let mut members = Vec::with_capacity(bid.len());
    for &id in bid {
        let origin = offer.origin(id).ok_or("its bid names an instruction outside the region, or a parameter")?;
        if members.contains(&origin) {
            return Err("its bid names an instruction twice".into());
        }
        members.push(origin);
    }
    if bid.contains(&offer.candidate.anchor) { Ok(members) } else { Err("its bid lacks the anchor".into()) }
}
