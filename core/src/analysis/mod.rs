//! What decides a fusion's kernel: the *hero* of each root.
//!
//! ```text
//! parameters ──prologue──> hero ──epilogue──> root
//! ```
//!
//! The hero is the operation whose iteration space the kernel takes (a reduce, a transpose, …). Between
//! it and the root stands the epilogue: operations that work element by element, so that they can be applied to
//! a hero's element as soon as it is known. What computes the hero's operands is the prologue. For a root without
//! hero any kernel that visits the root's elements will do. Which operations are heroes, who asks says.

mod banks;
mod chain;
mod cumulative;
mod epilogue;
mod hero;
mod reduction;
mod scatter;
mod slices;
mod transpose;

pub use banks::{TileAccess, bank_conflicts};
pub use chain::{ChainRoot, RowChain, RowPlace, RowSpace, row_space};
pub use cumulative::{Direction, cumulative};
pub use epilogue::{hero_to_root, keeps_positions};
pub use hero::{Hero, hero_of, nearest};
pub use reduction::{
    Reduced, ReducedRoot, ReductionFusion, ReductionGroup, ReductionHero, ReductionKind, ReductionProblem, SideOutput,
    Start, reductions,
};
pub use scatter::{Combination, OperandDim, ScatterShape, SliceStart};
pub use slices::takes_what_is_replaced;
pub use transpose::{NormalTranspose, RootPlace, TransposeFusion, moves_elements};
