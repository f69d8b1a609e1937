//! Regions that can be cut into kernels in several ways. If the predicted times of a region's cuts
//! are similar, only a measurement finds the fastest cut. Fusion follows tuned decisions
//! (`Emitters::cuts`) for regions whose cuts have similar predicted times, and reports all of these
//! regions.

use std::collections::BTreeSet;

use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{InstrId, Module};
use fusebox_edit::with_callees;
use fusebox_plugins::Fingerprint;

use super::candidate::Sequence;
use super::claims::Claims;
use super::convex_region::ConvexRegion;
use super::surroundings::with_bid;

/// Ratio of two predicted times above which the predictions decide which cut is faster. If a loaded
/// emitter bids, predictions never decide, because the emitter's author wants a measurement.
const NEAR: f64 = 1.2;

/// Name of the cut without any bid.
const APART: &str = "apart";
/// Name of the region's module.
const NAME: &str = "cut";

/// Predicted seconds of a region's instructions with and without a bid.
#[derive(Clone, Copy, Debug)]
pub struct Forecast {
    /// Seconds with the bid.
    pub bid: f64,
    /// Seconds without the bid, including a penalty if the instructions then need several kernels.
    pub otherwise: f64,
    /// Whether the cut with the bid differs from the cut without it. The cuts are equal if, without
    /// the bid, the host would also put exactly the bid's instructions into one kernel.
    pub is_other_cut: bool,
    /// Whether `bid` and `otherwise` include the kernels around the bid.
    pub has_surroundings: bool,
}

impl Forecast {
    /// Returns the seconds that the bid saves.
    pub fn gain(&self) -> f64 {
        self.otherwise - self.bid
    }
}

/// A bid that can become a fusion.
pub struct ViableBid {
    /// Index of the emitter.
    pub emitter: usize,
    pub convex: ConvexRegion,
    pub forecast: Forecast,
    /// Index of the bid's record.
    pub record: usize,
}

/// A region that can be cut in several ways.
#[derive(Clone, Debug)]
pub struct Cut {
    /// Name of the instruction around which emitters bid.
    pub anchor: String,
    /// The region as one fusion.
    pub region: Fusion,
    /// Fingerprint of the region. The fingerprint is the key of a tuned decision.
    pub fingerprint: Fingerprint,
    /// The possible cuts. The cut with the smallest predicted time comes first.
    pub ways: Vec<Way>,
}

/// One way to cut a region.
#[derive(Clone, Debug)]
pub struct Way {
    /// Name of the cut, in the form of a SPEC: name and version of the emitter that bids for the
    /// cut, or `apart`.
    pub name: String,
    /// Predicted seconds of all kernels of the cut.
    pub seconds: f64,
    /// Module of the region after this cut. The kernels are fusions.
    pub module: Module,
    /// Position of the bid among the bids at the anchor.
    pub(super) bid: Option<usize>,
}

/// Cuts with similar predictions.
pub struct UndecidedCuts {
    /// Each cut with its predicted seconds. A cut is the position of a bid, or `None` for the cut
    /// without a bid. The cut with the smallest predicted time comes first.
    ways: Vec<(Option<usize>, f64)>,
    /// Position of the bid that contains all instructions of the region.
    whole: usize,
}

/// Returns the cuts if there are several and predictions do not decide which of them is the
/// fastest. `predicted` is the cut with the best prediction. `has_loaded` states whether a loaded
/// emitter is among the bidders.
pub fn undecided(bids: &[ViableBid], predicted: Option<usize>, has_loaded: bool) -> Option<UndecidedCuts> {
    let all: BTreeSet<&InstrId> = bids.iter().flat_map(|bid| &bid.convex.region.members).collect();
    // If no bid contains all these instructions, their time without bids is unknown.
    let whole = bids.iter().position(|bid| bid.convex.region.members.len() == all.len())?;
    let without_bids = bids[whole].forecast.otherwise;
    let seconds = |way: Option<usize>| without_bids - way.map_or(0.0, |place| bids[place].forecast.gain());
    // Equal bids of several emitters are the same cut. A bid for instructions that the host puts
    // into one kernel anyway is the same as the cut without a bid.
    let cut = |way: Option<usize>| {
        way.map(|place| &bids[place]).filter(|bid| bid.forecast.is_other_cut).map(|bid| &bid.convex.region.members)
    };
    let mut ways = vec![(predicted, seconds(predicted))];
    for way in std::iter::once(None).chain((0..bids.len()).map(Some)) {
        let is_known = ways.iter().any(|(known, _)| cut(*known) == cut(way));
        if !is_known && (has_loaded || seconds(way) <= NEAR * seconds(predicted)) {
            ways.push((way, seconds(way)));
        }
    }
    (ways.len() > 1).then_some(UndecidedCuts { ways, whole })
}

impl UndecidedCuts {
    /// Builds the region that the cuts divide. Also builds, for each cut, a module with the
    /// region's instructions fused as this cut divides them.
    pub fn cut(&self, sequence: &Sequence, bids: &[ViableBid], anchor: &str, claims: &mut Claims) -> Option<Cut> {
        let region = &bids[self.whole].convex.region;
        let alone = with_callees(sequence.module, region.computation(sequence.computation), NAME);
        let mut ways = Vec::with_capacity(self.ways.len());
        for &(bid, seconds) in &self.ways {
            let mut made = match bid {
                Some(place) => with_bid(&alone, region, &bids[place].convex.region)?.module,
                None => alone.clone(),
            };
            super::fuse_remaining(&mut made, claims, None).ok()?;
            let name = bid.map_or_else(|| APART.to_owned(), |place| claims.emitters().name_of(bids[place].emitter));
            ways.push(Way { name, seconds, module: made, bid });
        }
        let region = Fusion::new(NAME, alone)?;
        Some(Cut { anchor: anchor.to_owned(), fingerprint: Fingerprint::of(&region), region, ways })
    }
}
