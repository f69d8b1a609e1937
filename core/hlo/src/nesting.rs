//! Checks the nesting depth of computations.

use super::span::shown_line;
use super::{Diagnostic, Instruction, Module};

/// Largest depth to which loops, branches and other calls may nest computations. Programs nest
/// computations tens of levels deep. Passes that outline add a few levels. Executables allow at
/// most 1,000 levels.
pub const MAX_CALL_DEPTH: u32 = 900;

/// Checks that the computations of a verified module are nested at most [`MAX_CALL_DEPTH`] levels
/// deep. The limit is needed because passes, the interpreter and executables recurse into called
/// computations.
///
/// # Errors
/// The error names the first instruction that exceeds [`MAX_CALL_DEPTH`].
pub fn check_call_depth(module: &Module) -> Result<(), Diagnostic> {
    let mut depths: Vec<u32> = Vec::with_capacity(module.computations.len());
    // Callees come before their callers.
    for computation in &module.computations {
        let mut deepest = 0;
        for instruction in &computation.instructions {
            let callees = instruction.op.called();
            let depth = callees.into_iter().filter_map(|id| depths.get(id.index())).map(|depth| depth + 1).max();
            deepest = deepest.max(depth.unwrap_or(0));
            if deepest > MAX_CALL_DEPTH {
                return Err(too_deep(module, instruction));
            }
        }
        depths.push(deepest);
    }
    Ok(())
}

fn too_deep(module: &Module, instruction: &Instruction) -> Diagnostic {
    let span = instruction.span;
    let source_line = (span.line as usize).checked_sub(1).and_then(|line| module.source_text.lines().nth(line));
    Diagnostic {
        file: module.place_of(instruction),
        span,
        subject: Some(instruction.name.clone()),
        message: format!("loops, branches and calls are nested more than {MAX_CALL_DEPTH} deep"),
        source_line: shown_line(source_line.unwrap_or_default(), span.column),
    }
}
