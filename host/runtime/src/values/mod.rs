//! Values outside of an execution: their bytes in buffers, in literals and in files. A buffer is
//! independent of a program, so a caller can pass a buffer to a program and get it back.
//!
//! ```text
//! buffer          aligned memory of the host
//! literal         bytes of buffers -> literals
//! within_bounds   arrays with dynamic sizes in larger arrays
//! npz             literals <-> files
//! notation        shapes in messages
//! ```

mod buffer;
mod literal;
mod notation;
pub mod npz;
mod within_bounds;

pub use buffer::Buffer;
pub use literal::{assemble, canonical};
pub use notation::describe;
pub use within_bounds::{extracted, placed};
