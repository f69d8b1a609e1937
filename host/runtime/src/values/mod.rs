//! Values outside of an execution: their bytes in memory, in literals and in files.
//!
//! ```text
//! host_memory     aligned memory of the host
//! literal         bytes of arrays -> literals
//! within_bounds   arrays with dynamic sizes in larger arrays
//! npz             literals <-> files
//! notation        shapes in messages
//! ```

mod host_memory;
mod literal;
mod notation;
pub mod npz;
mod within_bounds;

pub use host_memory::{HostMemory, SpareMemory};
pub use literal::{assemble, canonical, copy};
pub use notation::describe;
pub use within_bounds::{extracted, placed};
