//! The index algebra of `fusebox_core`, under the names that stages use. Stages represent an index
//! as an expression over the block id, the thread id, loop variables and values read at run time.

pub(crate) use fusebox_core::indexing::{Algebra as Indices, Ix, Kind, Sum};
