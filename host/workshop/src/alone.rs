//! A fusion of a program as a program of its own.

use fusebox_compiler::Source;
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{Module, print_module};

/// The text of a fusion alone.
pub fn alone(fusion: &Fusion) -> Source {
    let module = Module { bare: true, ..fusion.module.clone() };
    Source::text(&fusion.name, &print_module(&module))
}
