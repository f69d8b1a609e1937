//! Finds the reduce heroes of a fusion, the canonical problem of each hero, and the groups of
//! heroes that one pass over the operands computes.
//!
//! ```text
//! problem.rs  reduce instruction -> canonical problem, index of the operand's element
//! hero.rs     reduce instruction -> problem, values, initial accumulators
//! roots.rs    root -> its reduce heroes, or the reason why it has none
//! groups.rs   heroes, roots, side outputs -> groups
//! ```
//!
//! [`reductions`] is the entry point. For each group and each point of its canonical problem, an
//! emitter maps the point to the operands' index ([`ReductionHero::to_operand`]), computes the
//! operands there, combines them, and writes the side outputs there. Once a result is complete, the
//! emitter applies the epilogues ([`ReducedRoot`]).

mod groups;
mod hero;
mod problem;
mod roots;

pub use groups::{ReducedRoot, ReductionFusion, ReductionGroup, SideOutput, reductions};
pub(super) use hero::hero;
pub use hero::{Reduced, ReductionHero, Start};
pub use problem::{ReductionKind, ReductionProblem};
