//! HLO to HLO in which everything that runs as a kernel is a fusion.
//!
//! ```text
//! chains   chains of row reductions -> fusion instructions, where a block is one thread
//! decide   per instruction: a buffer of its own, or computed inside its users' kernels, after
//!          cost  what repeated work and launches cost
//!          hero  whose iteration space a kernel takes
//! merge    kernels that read the same -> one kernel with several results
//! outline  each instruction with a buffer and what is computed inside it -> fusion instruction
//! ```
//!
//! Fusions that the text brings along stay as they are (but see `in_place`), and text without `ENTRY` is one fusion.

mod bare;
mod chains;
mod cost;
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
mod tests;

pub use executor::{Executor, executor};

use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::Module;

use crate::roles::{Role, in_role};

/// Fuses every computation that thunks execute.
pub fn run(module: &mut Module, device: &DeviceDescription) {
    if module.bare {
        bare::wrap(module);
    }
    in_place::dissolve_other_fusions(module);
    hoist::arrays_out_of_fusions(module);
    for name in sequences(module) {
        let Some(id) = module.find_computation(&name) else { continue };
        chains::fuse(module, id, device);
        let Some(id) = module.find_computation(&name) else { continue };
        let decisions = decide::decide(module.computation(id));
        outline::outline(module, id, &decisions);
    }
}

/// By name: outlining renumbers computations.
fn sequences(module: &Module) -> Vec<String> {
    in_role(module, Role::Sequence).into_iter().map(|id| module.computation(id).name.clone()).collect()
}
