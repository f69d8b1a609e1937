//! Finds, loads, calls and selects emitters.
//!
//! ```text
//! linked in ─┐
//! file.so ───┼─> Registry ── select(fusion, device, overrides) ──> emitters in order, with reasons
//! child ─────┘                   └─ produce(emitter, …) ──> plan (checked), kernel
//! ```
//!
//! A caller always gets a value or an error that names the plugin. The caller gets an error even if
//! the plugin panics, if the plugin's answer is malformed, or if the child process dies.

#![deny(clippy::undocumented_unsafe_blocks)]

mod answer_check;
mod choice;
mod description;
mod failure;
mod file;
mod fingerprint;
mod kernel_check;
mod known_plans;
mod library;
mod loaded_emitter;
mod note;
mod origin;
mod process;
mod produce;
mod rank;
mod registry;
mod select;
mod spec;

pub use choice::{Override, OverrideError};
pub use failure::{Failure, FailureKind, LoadError, Stage};
pub use file::PluginFile;
pub use fingerprint::Fingerprint;
pub use known_plans::{KnownPlans, PlanWithPrediction, PlansOfForm};
pub use loaded_emitter::{Answers, LoadedEmitter};
pub use note::{PluginNote, inspect};
pub use origin::Origin;
pub use process::{ProcessLimits, SERVE_COMMAND, ServeError, serve_library};
pub use produce::{Produced, Unfinished, produce, produce_planned};
pub use rank::Ranked;
pub use registry::{FoundLibrary, Registry, SEARCH_PATH};
pub use select::{Outcome, Record, SelectError, Selection, select, select_known};
pub use spec::{Spec, SpecError, Subject, Target, knob};
