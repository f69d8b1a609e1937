//! HLO to HLO in which everything that runs as a kernel is a fusion.
//!
//! ```text
//! bids     what emitters ask for, offered as a candidate -> fusion instructions
//! decide   per instruction: a buffer of its own, or computed inside its users' kernels, after
//!          cost    what repeated work and launches cost
//!          claims  what emitters ask for where an operation decides a kernel
//!          hero    whose iteration space a kernel takes
//! merge    kernels that read the same -> one kernel with several results
//! outline  each instruction with a buffer and what is computed inside it -> fusion instruction
//! ```
//!
//! Fusions that the text brings along stay as they are (but see `in_place`), and text without `ENTRY` is one fusion.

mod bare;
mod bids;
mod candidate;
mod claims;
mod decide;
mod executor;
mod hero;
mod hoist;
mod in_place;
mod merge;
mod order;
mod outline;
mod reads;
mod region;

#[cfg(test)]
mod bid_tests;
#[cfg(test)]
mod claim_tests;
#[cfg(test)]
mod tests;

pub use bids::BidRecord;
pub use claims::{Claims, heroes};
pub use executor::{Executor, executor};

use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::Module;

use crate::roles::{Role, in_role};
use crate::select::Emitters;

/// Fuses every computation that thunks execute: first what emitters ask for, then the rest. Gives what became of bids,
/// and warnings of emitters that failed.
pub fn run(module: &mut Module, device: &DeviceDescription, emitters: &Emitters) -> (Vec<BidRecord>, Vec<String>) {
    let mut claims = Claims::new(device, emitters);
    prepare(module, &mut claims);
    let mut bids = bids::Bids::new(device, emitters, &mut claims);
    for name in sequences(module) {
        if let Some(id) = module.find_computation(&name) {
            bids.fuse(module, id);
        }
    }
    let (records, mut warnings) = (bids.records, bids.warnings);
    the_rest(module, &mut claims);
    warnings.append(&mut claims.warnings);
    (records, warnings)
}

/// The same where no emitter asks for anything.
fn by_the_host(module: &mut Module, claims: &mut Claims) {
    prepare(module, claims);
    the_rest(module, claims);
}

fn prepare(module: &mut Module, claims: &mut Claims) {
    if module.bare {
        bare::wrap(module);
    }
    in_place::dissolve_other_fusions(module, claims);
    hoist::arrays_out_of_fusions(module);
}

fn the_rest(module: &mut Module, claims: &mut Claims) {
    for name in sequences(module) {
        let Some(id) = module.find_computation(&name) else { continue };
        let decisions = decide::decide(module.computation(id), claims.of(module, id));
        outline::outline(module, id, &decisions);
    }
}

/// By name: outlining renumbers computations.
fn sequences(module: &Module) -> Vec<String> {
    in_role(module, Role::Sequence).into_iter().map(|id| module.computation(id).name.clone()).collect()
}
