//! HLO to HLO in which everything that runs as a kernel is a fusion.
//!
//! ```text
//! bids     what emitters ask for, offered as a candidate -> fusion instructions, after
//!          surroundings  kernels that hold more than a bid takes of them
//!          cuts    what is decided where predictions do not tell cuts apart
//! decide   per instruction: a buffer of its own, or computed inside its users' kernels, after
//!          cost    what repeated work and launches cost
//!          claims  what emitters ask for where an operation decides a kernel
//!          hero    whose iteration space a kernel takes
//! merge    kernels that read the same -> one kernel with several results, and then
//!          beside  small kernels of anything -> one launch
//! outline  each instruction with a buffer and what is computed inside it -> fusion instruction
//! derived  what readers can make of what else they read -> no result
//! starts   what is made of nothing: for each of its users anew
//! ```
//!
//! Fusions that the text brings along stay as they are (but see `in_place` and `multiplied`), and
//! text without `ENTRY` is one fusion.

mod apart;
mod bare;
mod beside;
mod bids;
mod candidate;
mod claims;
mod cuts;
mod decide;
mod derived;
mod executor;
mod hero;
mod hoist;
mod in_place;
mod merge;
mod multiplied;
mod order;
mod outline;
mod predicted;
mod reads;
mod reasons;
mod region;
mod repeated;
mod sites;
mod starts;
mod surroundings;
mod taken;

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

use crate::kernels::collect;
use crate::roles::{Role, in_role};
use crate::select::Emitters;

/// What fusion has to say beside the module.
#[derive(Debug, Default)]
pub struct Told {
    /// What became of bids.
    pub bids: Vec<BidRecord>,
    /// Why instructions are where they are; not of those that emitters asked for by bids.
    pub reasons: Vec<Reason>,
    /// Regions that might as well be cut otherwise.
    pub cuts: Vec<Cut>,
    /// Emitters that failed, and fusions of the text that are taken apart.
    pub warnings: Vec<String>,
}

/// Fuses every computation that thunks execute: first what emitters ask for, then the rest.
pub fn run(module: &mut Module, device: &DeviceDescription, emitters: &Emitters) -> Told {
    let mut claims = Claims::new(device, emitters);
    prepare(module, &mut claims);
    let repeated = multiplied::take_apart(module);
    let mut bids = bids::Bids::new(device, emitters, &mut claims);
    for name in sequences(module) {
        if let Some(id) = module.find_computation(&name) {
            bids.fuse(module, id);
        }
    }
    let mut told = Told { bids: bids.records, reasons: Vec::new(), cuts: bids.cuts, warnings: bids.warnings };
    the_rest(module, &mut claims, Some(&mut told.reasons));
    derived::where_read(module, &mut claims, &mut told.reasons);
    starts::apart(module);
    told.warnings.append(&mut claims.warnings);
    told.warnings.extend(repeated);
    told
}

/// Kernels that run one after another.
#[derive(Clone, Copy, Debug)]
pub struct Total {
    /// Predicted of all of them.
    pub seconds: f64,
    /// How many run.
    pub kernels: usize,
}

/// What the kernels take that the host makes of a module, each as often as it runs.
///
/// # Errors
/// In words, if no emitter plans one of them.
pub fn forecast(mut module: Module, claims: &mut Claims) -> Result<Total, String> {
    prepare(&mut module, claims);
    forecast_beside(module, claims)
}

/// Forecasts a module that has fusions already, which stay as they are.
fn forecast_beside(mut module: Module, claims: &mut Claims) -> Result<Total, String> {
    the_rest(&mut module, claims, None);
    let mut total = Total { seconds: 0.0, kernels: 0 };
    for unit in &collect(&module).units {
        let runs = unit.uses.len();
        total.seconds += claims.seconds(&unit.fusion)? * runs as f64;
        total.kernels += runs;
    }
    Ok(total)
}

/// Brings the text's own fusions into the form that kernels have.
fn prepare(module: &mut Module, claims: &mut Claims) {
    if module.bare {
        bare::wrap(module);
    }
    in_place::dissolve_other_fusions(module, claims);
    hoist::arrays_out_of_fusions(module);
}

/// Fuses what is not fused yet; says why, if somebody wants to know.
fn the_rest(module: &mut Module, claims: &mut Claims, mut told: Option<&mut Vec<Reason>>) {
    for name in sequences(module) {
        let Some(id) = module.find_computation(&name) else { continue };
        let decisions = decisions(module, id, claims);
        if let Some(told) = &mut told {
            told.extend(reasons::reasons(module.computation(id), &decisions));
        }
        let launches_count = launches_count(module, id, claims.device());
        outline::outline(module, id, &decisions, claims, launches_count);
    }
}

/// The host's decisions about one computation.
fn decisions(module: &Module, id: ComputationId, claims: &mut Claims) -> decide::Decisions {
    let launch = if launches_count(module, id, claims.device()) { LAUNCH } else { 0.0 };
    decide::decide(module.computation(id), claims.of(module, id), launch)
}

/// Whether launching a kernel of this computation takes time. On a processor a loop of small steps is
/// one function, in which it takes none.
fn launches_count(module: &Module, id: ComputationId, device: &DeviceDescription) -> bool {
    let mut instructions = module.computations.iter().flat_map(|computation| &computation.instructions);
    let mut is_repeated =
        || instructions.any(|it| matches!(it.op, Op::While { condition, body } if [condition, body].contains(&id)));
    !device.is_single_threaded_block() || !is_repeated()
}

/// By name: outlining renumbers computations.
fn sequences(module: &Module) -> Vec<String> {
    in_role(module, Role::Sequence).into_iter().map(|id| module.computation(id).name.clone()).collect()
}
