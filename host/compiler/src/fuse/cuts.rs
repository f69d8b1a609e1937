//! Regions that might as well be cut into kernels otherwise: of several cuts that are predicted to take about as long, only a
//! measurement tells the fastest. Fusion goes by what is decided of them (`Emitters::cuts`), and tells of all that it has met.

use std::collections::BTreeSet;

use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{InstrId, Module};
use fusebox_plugins::Fingerprint;

use super::candidate::Sequence;
use super::claims::Claims;
use super::surroundings::with_bid;
use super::taken::Taken;
use crate::host_module::with_callees;

/// Predictions that differ by less than this factor do not tell which cut is faster. Around an
/// operation that a loaded emitter bids on none tells: its author wants to see it measured.
const NEAR: f64 = 1.2;

/// How the cut is called that no emitter asks for.
const APART: &str = "apart";
/// Name of a region alone.
const NAME: &str = "cut";

/// What a bid is predicted to take, and what its instructions take without it.
#[derive(Clone, Copy, Debug)]
pub struct Forecast {
    /// Seconds of the bid.
    pub bid: f64,
    /// Seconds otherwise, weighed against one kernel.
    pub otherwise: f64,
    /// Whether the instructions are cut into other kernels otherwise.
    pub is_other_cut: bool,
    /// Whether both count kernels that hold more than the bid takes.
    pub has_surroundings: bool,
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
    pub record: usize,
}

/// A region that can be cut in several ways.
#[derive(Clone, Debug)]
pub struct Cut {
    /// Name of the instruction around which emitters bid.
    pub anchor: String,
    /// What is computed, as if it were one kernel.
    pub region: Fusion,
    /// Of the region: by it a decision is found.
    pub fingerprint: Fingerprint,
    /// First the one that is predicted to be fastest.
    pub ways: Vec<Way>,
}

/// One way to cut a region.
#[derive(Clone, Debug)]
pub struct Way {
    /// Name and version of the emitter that asks for it, or `apart`: a SPEC.
    pub name: String,
    /// Seconds that all its kernels are predicted to take.
    pub seconds: f64,
    /// The region alone, with its fusions.
    pub module: Module,
    /// Place of the bid among those around the anchor.
    pub(super) bid: Option<usize>,
}

/// Cuts whose predictions are near each other: bids, or `None` for the cut without any.
pub struct Open {
    /// With predicted seconds; first the one that is predicted to be fastest.
    ways: Vec<(Option<usize>, f64)>,
    /// The bid that takes all that any of them takes.
    whole: usize,
}

/// The cuts that predictions do not tell apart, if there are several. `predicted` is the one they
/// speak for; with `has_loaded`, a loaded emitter is among the bidders.
pub fn open(bids: &[Bidding], predicted: Option<usize>, has_loaded: bool) -> Option<Open> {
    let all: BTreeSet<&InstrId> = bids.iter().flat_map(|bid| &bid.taken.region.members).collect();
    // Without a bid for all that is taken it is not known how long that takes apart.
    let whole = bids.iter().position(|bid| bid.taken.region.members.len() == all.len())?;
    let apart = bids[whole].forecast.otherwise;
    let seconds = |way: Option<usize>| apart - way.map_or(0.0, |place| bids[place].forecast.gain());
    // Emitters that ask for the same ask for one cut; what is one kernel anyway is cut as without a bid.
    let cut = |way: Option<usize>| {
        way.map(|place| &bids[place]).filter(|bid| bid.forecast.is_other_cut).map(|bid| &bid.taken.region.members)
    };
    let mut ways = vec![(predicted, seconds(predicted))];
    for way in std::iter::once(None).chain((0..bids.len()).map(Some)) {
        let is_known = ways.iter().any(|(known, _)| cut(*known) == cut(way));
        if !is_known && (has_loaded || seconds(way) <= NEAR * seconds(predicted)) {
            ways.push((way, seconds(way)));
        }
    }
    (ways.len() > 1).then_some(Open { ways, whole })
}

impl Open {
    /// The region that the cuts are of, and what each makes of it.
    pub fn cut(&self, sequence: &Sequence, bids: &[Bidding], anchor: &str, claims: &mut Claims) -> Option<Cut> {
        let region = &bids[self.whole].taken.region;
        let alone = with_callees(sequence.module, region.computation(sequence.computation), NAME);
        let mut ways = Vec::with_capacity(self.ways.len());
        for &(bid, seconds) in &self.ways {
            let mut made = match bid {
                Some(place) => with_bid(&alone, region, &bids[place].taken.region)?.module,
                None => alone.clone(),
            };
            super::the_rest(&mut made, claims, None);
            let name = bid.map_or_else(|| APART.to_owned(), |place| claims.emitters().name_of(bids[place].emitter));
            ways.push(Way { name, seconds, module: made, bid });
        }
        let region = Fusion::new(NAME, alone)?;
        Some(Cut { anchor: anchor.to_owned(), fingerprint: Fingerprint::of(&region), region, ways })
    }
}
