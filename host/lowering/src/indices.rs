//! Core's index algebra by the names that stages use. What they know of an index is an expression over the block, the
//! thread, loop variables and values read at run time.

pub(crate) use fusebox_core::indexing::{Algebra as Indices, Ix, Kind, Sum};
