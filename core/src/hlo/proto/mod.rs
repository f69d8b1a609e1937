//! Serialised `HloModuleProto`: what JAX gives without any text in between.
//!
//! The messages are declared by hand with XLA's field numbers. What XLA keeps in fields but our
//! data model keeps as text (sharding, replica groups, layout suffixes …) is converted to the
//! fields and, where they cannot hold the text as it was, kept beside them in fields of our own.

mod data;
mod fields;
mod literals;
pub(crate) mod module;
mod names;
mod op;
mod read;
mod shapes;
mod sharding;
mod text_attributes;
mod write;

pub use read::read_proto;
pub use write::write_proto;
