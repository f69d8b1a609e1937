//! Rewrites HLO so that every kernel is a fusion instruction.
//!
//! ```text
//! bids          emitters' bids for candidates -> fusion instructions, after
//!               surroundings  predictions of kernels that lose instructions to a bid
//!               cuts          tuned decisions, where predictions of several cuts are similar
//! decide        per instruction: a buffer, or computed inside its users' kernels, after
//!               cost          cost of repeated work and launches
//!               claims        demands of emitters on kernels with their heroes
//!               hero          the instruction whose iteration space a kernel uses
//! merge         kernels with common operands -> one kernel with several results, and then
//!               horizontal    small independent kernels -> one launch
//! outline       a buffered instruction, and those computed inside it -> fusion instruction
//! derived       drop a result that all its consumers can recompute from their other operands
//! operand_free  duplicate operand-free kernels (zero fills), one per user
//! ```
//!
//! Fusions in the program text are kept (for exceptions see `in_place` and `repeated_work`). A text
//! without `ENTRY` is one fusion.

mod bare;
mod bids;
mod buffer_reason;
mod candidate;
mod claims;
mod convex_region;
mod cuts;
mod decide;
mod derived;
mod executor;
mod hero;
mod hoist;
mod horizontal;
mod in_place;
mod merge;
mod operand_free;
mod outline;
mod predictor;
mod reads;
mod reasons;
mod recomputation;
mod region;
mod repeated_work;
mod sites;
mod step_graph;
mod surroundings;

#[cfg(test)]
mod bid_tests;
#[cfg(test)]
mod claim_tests;
#[cfg(test)]
mod tests;

pub use bare::wrap;
pub use bids::BidRecord;
pub use claims::{Claims, heroes};
pub use cuts::{Cut, Way};
pub use executor::{Executor, executor};
pub use in_place::dissolve;
pub use reasons::Reason;

use fusebox_core::cost::LAUNCH;
use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{ComputationId, Module, Op};
use fusebox_edit::{EditError, restore_order};
use fusebox_plugins::KnownPlans;

use crate::emitters::Emitters;
use crate::kernels::collect;
use crate::roles::{Role, in_role};

/// Results of fusion, in addition to the module.
#[derive(Debug, Default)]
pub struct FusionOutcome {
    /// Outcomes of bids.
    pub bids: Vec<BidRecord>,
    /// Reason for the decision about each instruction that no bid has fused.
    pub reasons: Vec<Reason>,
    /// Regions that can be cut into kernels in several ways, if predictions do not decide which way
    /// is the fastest.
    pub cuts: Vec<Cut>,
    /// Warnings about emitters that failed, and about fusions of the program text that are
    /// dissolved.
    pub warnings: Vec<String>,
}

/// Fuses the instructions of every computation that thunks execute: first the instructions of
/// accepted bids, then all others. Adds the plans of emitters to `known`.
///
/// # Errors
/// If fusion would make the module invalid, which is a bug in fusebox.
pub fn run(
    module: &mut Module,
    device: &DeviceDescription,
    emitters: &Emitters,
    known: &KnownPlans,
) -> Result<FusionOutcome, EditError> {
    let mut claims = Claims::new(device, emitters, known);
    prepare(module, &mut claims)?;
    let repeated = repeated_work::dissolve_repeated_work(module)?;
    let mut bids = bids::Bids::new(device, emitters, &mut claims);
    for id in in_role(module, Role::Sequence) {
        bids.fuse(module, id)?;
    }
    let mut outcome =
        FusionOutcome { bids: bids.records, reasons: Vec::new(), cuts: bids.cuts, warnings: bids.warnings };
    fuse_remaining(module, &mut claims, Some(&mut outcome.reasons))?;
    derived::recompute_in_readers(module, &mut claims, &mut outcome.reasons)?;
    operand_free::duplicate_for_users(module)?;
    restore_order(module);
    outcome.warnings.append(&mut claims.warnings);
    outcome.warnings.extend(repeated);
    Ok(outcome)
}

/// Number of kernels that run one after another, and the predicted total time of these kernels.
#[derive(Clone, Copy, Debug)]
pub struct PredictedTotal {
    /// Predicted seconds of all kernels.
    pub seconds: f64,
    /// Number of launches.
    pub kernels: usize,
}

/// Predicts the total time of the kernels into which the host fuses a module without bids. A kernel
/// with several uses counts once per use.
///
/// # Errors
/// Returns a message if one of the kernels has no emitter that plans it.
pub fn forecast(mut module: Module, claims: &mut Claims) -> Result<PredictedTotal, String> {
    prepare(&mut module, claims).map_err(|fault| fault.to_string())?;
    forecast_keeping_fusions(module, claims)
}

/// Predicts the total time of a module that already has fusions. Does not change the fusions that
/// the module already has.
fn forecast_keeping_fusions(mut module: Module, claims: &mut Claims) -> Result<PredictedTotal, String> {
    fuse_remaining(&mut module, claims, None).map_err(|fault| fault.to_string())?;
    let mut total = PredictedTotal { seconds: 0.0, kernels: 0 };
    for unit in collect(&module).units {
        let runs = unit.uses.len();
        total.seconds += claims.seconds(unit.fusion)? * runs as f64;
        total.kernels += runs;
    }
    Ok(total)
}

/// Changes the fusions of the program text so that kernels can compute them: dissolves fusions that
/// break the rules for initial values, and moves array constants out. Also turns a text without
/// `ENTRY` into a fusion.
fn prepare(module: &mut Module, claims: &mut Claims) -> Result<(), EditError> {
    if module.bare {
        bare::wrap(module);
    }
    in_place::dissolve_other_fusions(module, claims)?;
    hoist::arrays_out_of_fusions(module)
}

/// Fuses all instructions that are not fused yet. Adds the reasons to `reasons`, if given.
fn fuse_remaining(
    module: &mut Module,
    claims: &mut Claims,
    mut reasons: Option<&mut Vec<Reason>>,
) -> Result<(), EditError> {
    for id in in_role(module, Role::Sequence) {
        let decisions = decisions(module, id, claims);
        if let Some(reasons) = &mut reasons {
            reasons.extend(reasons::reasons(module.computation(id), &decisions));
        }
        let launches_count = launches_count(module, id, claims.device());
        outline::outline(module, id, &decisions, claims, launches_count)?;
    }
    Ok(())
}

/// Decides by the host's rules, without bids, which instructions of a computation get buffers.
fn decisions(module: &Module, id: ComputationId, claims: &mut Claims) -> decide::Decisions {
    let launch = if launches_count(module, id, claims.device()) { LAUNCH } else { 0.0 };
    decide::decide(module.computation(id), claims.of(module, id), launch)
}

/// Whether launches of this computation's kernels take time. On the cpu, a loop of small kernels is
/// compiled to one function without launches.
fn launches_count(module: &Module, id: ComputationId, device: &DeviceDescription) -> bool {
    let mut instructions = module.computations.iter().flat_map(|computation| &computation.instructions);
    let mut is_repeated =
        || instructions.any(|it| matches!(it.op, Op::While { condition, body } if [condition, body].contains(&id)));
    !device.is_single_threaded_block() || !is_repeated()
}
