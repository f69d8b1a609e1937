//! Reads and writes serialised `HloModuleProto`, which JAX produces without intermediate text.
//!
//! The messages are declared by hand with XLA's field numbers. XLA keeps some content in fields
//! that fusebox keeps as text (sharding, replica groups, layout suffixes …). The writer converts
//! this text to the fields. If the fields cannot hold the text exactly, the writer also stores it
//! in additional fields.

mod fields;
mod literals;
mod module;
mod names;
mod op;
mod read;
mod shapes;
mod sharding;
mod text_attributes;
mod write;

pub use read::read_proto;
pub use write::write_proto;
