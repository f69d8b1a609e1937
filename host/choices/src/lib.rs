//! Turns the user's choices into options of the compiler: emitters, target, cache, results of
//! tuning. The command line and the JAX backend both use this crate.
//!
//! ```text
//! error        the reason why a choice cannot be met
//! environment  environment variables that name files
//! bundled      the registry of bundled emitters
//! target       names of targets, numbers of threads
//! emitters     fusebox.toml, search path, SPECs -> emitters and overrides
//! side         SPECs -> a side of a comparison
//! cache        the cache of compiled programs
//! cubins       when PTX becomes machine code at compile time
//! tuned        the choices of `fusebox tune`
//! ```

#![forbid(unsafe_code)]

mod bundled;
mod cache;
mod cubins;
mod emitters;
mod environment;
mod error;
mod side;
mod target;
mod tuned;

pub use bundled::bundled;
pub use cache::{CacheChoice, cache};
pub use cubins::Cubins;
pub use emitters::{EmitterChoice, choose, how_to_pin, settings, settings_of};
pub use environment::path_in_variable;
pub use error::ChoiceError;
pub use side::side;
pub use target::{THIS_GPU, target, threads};
pub use tuned::{database_path, load_tuned, open_database};
