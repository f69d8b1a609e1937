//! The subcommands, one file each.

pub mod ab;
pub mod bench;
pub mod bisect;
pub mod check_emitter;
pub mod compile;
pub mod completion;
pub mod emitters;
pub mod explain;
pub mod indexing;
pub mod lower;
pub mod man;
pub mod new_emitter;
pub mod repro;
pub mod run;
pub mod serve_emitter;
pub mod tune;
