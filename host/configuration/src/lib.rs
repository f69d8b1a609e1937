//! The user's configuration for all runs in a folder. `fusebox.toml` holds the settings, and
//! `fusebox.lock` pins the plugins.
//!
//! ```text
//! find      a module's folder and those above ──> fusebox.toml
//! settings  fusebox.toml ──> plugins, choices of emitters, with their positions in the file
//! lock      fusebox.lock ──> the bytes that each plugin had when it was pinned
//! ```
//!
//! This crate reads and checks the configuration files, but loads and runs no plugin.
//! `docs/configuration.md` describes the keys of `fusebox.toml`.

#![forbid(unsafe_code)]

mod error;
mod find;
mod lock;
mod position;
mod settings;
mod text;

pub use error::FileError;
pub use find::{FILE_NAME, FindError, above};
pub use lock::{LOCK_NAME, Lock, PinState};
pub use position::FilePosition;
pub use settings::{CacheSettings, Isolation, LocatedSpec, Plugin, Settings};
