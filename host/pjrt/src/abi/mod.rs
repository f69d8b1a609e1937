//! The C interface: types that functions share, and the entry point of every function.
//!
//! The interface is PJRT's C API, version 0.112 (`docs/jax.md` says which parts of it JAX uses).
//! Every function takes a pointer to a struct of its own and returns null or an error.

mod entry;
mod handle;
mod handle_table;
mod named_value;
mod types;

pub(crate) use entry::arguments;
pub use entry::{Arguments, Call, ErrorDestroy, ErrorForEachPayload, ErrorGetCode, ErrorMessage, ErrorObject};
pub use entry::{entry, panic_message};
pub use handle::{Handle, Kind, Lent, Object, Reference};
pub use named_value::{NamedValue, Value};
pub use types::{Deleter, ExecuteOptions, Header, Holder, List, MemoryLayout, Program, Text, keep_static, read_struct};
