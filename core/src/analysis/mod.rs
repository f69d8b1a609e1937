//! What decides a fusion's kernel: the *hero* of each root.
//!
//! ```text
//! parameters ──prologue──> hero ──epilogue──> root
//! ```
//!
//! The hero is the operation whose iteration space the kernel takes (a reduce, a transpose, …). Between
//! it and the root stands the epilogue: operations that work element by element, so that they can be applied to
//! a hero's element as soon as it is known. What computes the hero's operands is the prologue. A root without
//! such a hero is its own hero, and any kernel that visits the root's elements will do.

mod banks;
mod chain;
mod epilogue;
mod hero;
mod reduction;
mod scatter;
mod transpose;

pub use banks::{TileAccess, bank_conflicts};
pub use chain::{ChainRoot, RowChain, RowPlace, RowSpace, row_space};
pub use epilogue::{hero_to_root, keeps_positions};
pub use hero::{Hero, HeroKind, heroes, kind_at_root, kind_inside};
pub use reduction::{
    Reduced, ReducedRoot, ReductionFusion, ReductionGroup, ReductionHero, ReductionKind, ReductionProblem, SideOutput,
    Start, reductions,
};
pub use scatter::{Combination, OperandDim, ScatterShape, SliceStart};
pub use transpose::{NormalTranspose, RootPlace, TransposeFusion, moves_elements};
