//! One file a subcommand.

pub mod ab;
pub mod bench;
pub mod compile;
pub mod emitters;
pub mod explain;
pub mod indexing;
pub mod lower;
pub mod run;
pub mod serve_emitter;
pub mod tune;
