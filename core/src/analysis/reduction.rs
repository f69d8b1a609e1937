//! Reductions: the canonical problem of each reduce hero, and which heroes are computed in one pass.
//!
//! ```text
//! problem.rs  reduce instruction -> canonical problem, index of the operand's element
//! hero.rs     reduce instruction -> problem, values, what accumulators start from
//! roots.rs    root -> its reduce heroes, or why it has none
//! groups.rs   heroes, roots, side outputs -> groups
//! ```
//!
//! [`reductions`] is the way in. An emitter then does, for each group and each point of its canonical problem:
//! map the point to the operands' index ([`ReductionHero::to_operand`]), compute the operands there, combine them, write the
//! side outputs there; and once a result is complete: apply the epilogues ([`ReducedRoot`]).

mod groups;
mod hero;
mod problem;
mod roots;

pub use groups::{ReducedRoot, ReductionFusion, ReductionGroup, SideOutput, reductions};
pub(super) use hero::hero;
pub use hero::{Reduced, ReductionHero, Start};
pub use problem::{ReductionKind, ReductionProblem};
