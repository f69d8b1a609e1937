//! Tools for those who write emitters.
//!
//! ```text
//! module, two sides -> ab: compile both -> compare results -> measure in turns -> statistics -> report
//! ```
//!
//! * [`new_emitter`]: a crate of one's own to begin with.
//! * [`sources`]: the crate of a library under development, built and watched.
//! * [`ab`]: two choices of emitters, or two versions of fusebox, on one module.
//! * [`bisect`]: the first pass, fusion or stage whose result goes wrong.
//! * [`repro`]: a folder that alone reproduces what becomes of a module or a fusion.
//! * [`simulated`]: the simulator's report of a program that is wrong on this processor.
//! * [`stages`]: a kernel in every stage of lowering, executed without code being made of it.
//! * [`case`], [`probe`], [`pinned`]: a module with inputs, values inside of a program, one emitter in charge.
//! * [`closeness`]: whether rounding explains how far results are apart.
//! * [`reference`](crate::reference): the right results of a module.
//! * [`compare`]: results of two programs.
//! * [`measure`]: pairs of programs in turns.
//! * [`statistics`]: from pairs to a verdict.
//! * [`roof`]: what the machine could do; [`roofline`]: all fusions beside it.
//! * [`page`]: comparisons and programs as pages for a browser.
//! * [`why`]: what became of an instruction.
//! * [`profile`]: where the time of a program goes, step by step.
//! * [`tune`]: the fastest emitter and knobs for each fusion, kept for later runs.
//! * [`ptxas`]: what NVIDIA's assembler says of kernels.

#![forbid(unsafe_code)]

mod error;

pub mod ab;
pub mod bisect;
pub mod case;
pub mod closeness;
pub mod compare;
pub mod measure;
pub mod new_emitter;
pub mod page;
pub mod pinned;
pub mod probe;
pub mod profile;
pub mod ptxas;
pub mod reference;
pub mod repro;
pub mod roof;
pub mod roofline;
pub mod simulated;
pub mod sources;
pub mod stages;
pub mod statistics;
pub mod tune;
pub mod why;

pub use error::WorkshopError;
