//! The interface between the host and an emitter.
//!
//! ```text
//! Candidate, DeviceDescription ──claim──> Claim     (demands on a kernel with a hero of the emitter)
//!                              ──bid────> Bid       (instructions that one kernel would compute)
//! Fusion, DeviceDescription ──consider──> Verdict
//!                           ────plan────> Plan      (launch, indexing maps, knobs)
//!                           ────emit────> Kernel    (entry function, in kernel IR)
//! ```
//!
//! An emitter is a pure function: equal fusion, device and plan give the same kernel, byte for
//! byte. The emitter writes only the entry function, which calls subgraph functions by name
//! ([`SubgraphCall`]). The host generates the bodies of the subgraph functions.

mod candidate;
mod check;
mod claim;
mod emitter_trait;
mod fusion;
mod interface;
mod plan;
mod strategy;

pub use candidate::{Bid, Candidate};
pub use check::{PlanFault, PlannedOutput, check_plan, check_visits};
pub use claim::{Claim, HeroPlace, Parts, Pass};
pub use emitter_trait::{Emitter, Registration};
pub use fusion::{Analysis, Fusion, SharedAnalyses};
pub use interface::{
    Configuration, Decline, Descriptor, EmitError, Kernel, KernelCode, KernelKind, StaticDescriptor, SubgraphCall,
    SubgraphKind, Verdict,
};
pub use plan::{LaunchDimensions, OutputPlan, Plan, Visit, Work, WriteMode};
pub use strategy::{Blocks, ClaimOf, Named, Strategy, Task};

/// Version of the interface between host and emitters, `major * 1000 + minor`. Within a major
/// version, new minor versions only add to the interface, so that the host still loads plugins
/// built against an older minor version.
///
/// | version | change |
/// | --- | --- |
/// | 1000 | first version, in release 0.1 |
pub const INTERFACE_VERSION: u32 = 1000;
