//! Checks the plugin boundary with real libraries. They belong to crates outside of the workspace,
//! and are built here once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[allow(dead_code, reason = "every test binary uses a part")]
mod built;
mod carriers;
mod claims;
mod isolation;
mod misbehaviour;
mod older;
mod plans;
mod refusals;
mod selection;
mod table;

use std::path::Path;
use std::time::Duration;

use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::parse_module;
use fusebox_plugins::{ProcessLimits, Registry};

/// Returns a fusion of this name that computes `root = f32[64] negate(p)`.
pub fn fusion_named(name: &str) -> Fusion {
    let text = "HloModule m\n\nENTRY fused {\n  p = f32[64] parameter(0)\n  ROOT root = f32[64] negate(p)\n}\n";
    Fusion::new(name, parse_module(text, "test").unwrap()).unwrap()
}

/// Returns a registry that contains only this library.
pub fn registry_of(library: &Path) -> Registry {
    let mut registry = Registry::default();
    registry.load_library(library).unwrap();
    registry
}

/// Returns a registry that contains only this library, which is isolated in a process.
pub fn isolated_registry_of(library: &Path, timeout: Duration) -> Registry {
    isolated_registry_within(library, ProcessLimits { time: timeout, memory: None })
}

/// Returns a registry that contains only this library, which is isolated in a process with these
/// limits.
pub fn isolated_registry_within(library: &Path, limits: ProcessLimits) -> Registry {
    let mut registry = Registry::default();
    registry.load_isolated(library, Path::new(env!("CARGO_BIN_EXE_serve-emitter")), limits).unwrap();
    registry
}
