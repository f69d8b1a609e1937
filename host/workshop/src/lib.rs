//! Tools for authors of emitters.
//!
//! ```text
//! module, two sides -> ab: compile both -> compare results -> measure pairs -> statistics -> report
//! ```
//!
//! * [`new_emitter`]: creates a crate for a new emitter.
//! * [`sources`]: builds and watches the crate of a library under development.
//! * [`ab`]: compares two choices of emitters, or two versions of fusebox, on one module.
//! * [`bisect`]: finds the first pass, fusion or stage whose result is wrong.
//! * [`repro`]: writes a folder that contains everything to reproduce the compilation of a module
//!   or a fusion.
//! * [`simulated`]: runs a program on the simulator if the program's result on this processor is
//!   wrong, and reports the fault that the simulator finds.
//! * [`stages`]: interprets a kernel after every stage of lowering, without code generation.
//! * [`case`]: a module together with its inputs. [`probe`]: reads intermediate values of a
//!   compiled program. [`pinned`]: creates options that choose one emitter.
//! * [`closeness`]: decides whether rounding explains a difference of results.
//! * [`mod@reference`]: computes the right results of a module.
//! * [`compare`]: compares the results of two programs.
//! * [`measure`]: measures pairs of programs alternately.
//! * [`statistics`]: derives a verdict from pairs of times.
//! * [`roof`]: measures the least time in which the machine can move given bytes and compute given
//!   operations. [`roofline`]: compares each fusion of a program with the least time for the
//!   fusion.
//! * [`page`]: shows comparisons and programs as pages for a browser.
//! * [`explain`]: shows which emitter builds each kernel, and why. [`lines`]: lines of the user's
//!   program from which kernels come.
//! * [`why`]: explains what passes and fusion did to an instruction.
//! * [`profile`]: measures the time of each step of a program.
//! * [`tune`]: finds the fastest emitter and knobs for each fusion, and stores these choices for
//!   later runs.
//! * [`ptxas`]: assembles kernels with NVIDIA's assembler, and parses the assembler's report.
//! * [`driver`]: runs executables for NVIDIA GPUs on the software driver. [`counts`]: shows what
//!   kernels execute on the software driver, beside their predicted times.

#![forbid(unsafe_code)]

mod error;

pub mod ab;
pub mod bisect;
pub mod case;
pub mod closeness;
pub mod compare;
pub mod counts;
pub mod driver;
pub mod explain;
pub mod lines;
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
