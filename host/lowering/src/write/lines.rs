//! Sets the source locations of LLVM instructions, for targets whose code has line directives.

use fusebox_core::ir::{OpKind, Operation};

use super::function::Body;
use crate::llvm::Line;

impl Body<'_, '_, '_> {
    /// Sets the source location of the instructions of an operation. If the operation computes an
    /// HLO instruction, the file name of the location begins with the name of the HLO instruction.
    /// For another operation, the location is either the operation's position in the text, or the
    /// position in the Rust code that wrote the operation.
    pub(super) fn locate(&self, op: &Operation) {
        let llvm = self.llvm();
        if !self.translation.target.states_origins {
            return;
        }
        let place = &op.place;
        match (&place.instruction, &place.source) {
            (Some(instruction), source) => {
                let written = source.as_ref().map(|(file, line, _)| (&**file, *line));
                let origin = self.translation.origins.get(&**instruction);
                let origin = origin.map(|origin| (origin.file.as_str(), origin.line)).or(written);
                let (file, line) = match origin {
                    Some((file, line)) => (format!("HLO instruction %{instruction}, {file}"), line),
                    None => (format!("HLO instruction %{instruction}"), 1),
                };
                llvm.set_line(Some(Line { file: &file, line: line.max(1), column: 0 }));
            }
            (None, Some((file, line, column))) => {
                llvm.set_line(Some(Line { file, line: (*line).max(1), column: *column }));
            }
            (None, None) if matches!(op.kind, OpKind::Call | OpKind::PureCall) => llvm.set_unknown_line(),
            (None, None) => llvm.set_line(None),
        }
    }
}
