//! Reads and writes serialised `HloModuleProto`, which JAX produces without intermediate text.
//!
//! The messages are declared by hand with XLA's field numbers. Some attributes are fields of
//! messages in XLA, but text in fusebox (sharding, replica groups, layout suffixes …). The writer
//! converts the text of an attribute to XLA's fields. If XLA's fields cannot represent the text
//! exactly, the writer also stores the text in additional fields.

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
