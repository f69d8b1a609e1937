//! Finds the reduce heroes of a fusion and the canonical problem of each hero. Groups the heroes
//! that one pass over the operands can compute.
//!
//! ```text
//! problem.rs  reduce instruction -> canonical problem, index of the operand's element
//! hero.rs     reduce instruction -> problem, values, initial accumulators
//! roots.rs    root -> its reduce heroes, or the reason why it has none
//! groups.rs   heroes, roots, side outputs -> groups
//! ```
//!
//! [`reductions`] is the entry point. An emitter visits each point of each group's canonical
//! problem. The emitter maps the point to an index in the operands ([`ReductionHero::to_operand`]).
//! The emitter computes the operands at the mapped index, combines the operands with the
//! accumulators, and writes the side outputs. Once a result is complete, the emitter applies the
//! epilogues ([`ReducedRoot`]).

mod groups;
mod hero;
mod problem;
mod roots;

pub use groups::{ReducedRoot, ReductionFusion, ReductionGroup, SideOutput, reductions};
pub(super) use hero::hero;
pub use hero::{Reduced, ReductionHero, Start};
pub use problem::{ReductionKind, ReductionProblem};
