//! Faults of an edit.

use fusebox_core::hlo::{Diagnostic, Instruction, Module};
use thiserror::Error;

/// Error of an edit that would make the module invalid. The cause is a bug in the pass that edits
/// the module.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct EditError(pub Diagnostic);

impl EditError {
    /// Creates an error whose location is the origin of the invalid instruction.
    pub(crate) fn at(module: &Module, origin: Option<&Instruction>, message: String) -> EditError {
        EditError(Diagnostic {
            file: origin.map_or_else(|| module.source_file.clone(), |it| module.place_of(it)),
            span: origin.map(|it| it.span).unwrap_or_default(),
            subject: origin.map(|it| it.name.clone()),
            message,
            source_line: String::new(),
        })
    }
}
