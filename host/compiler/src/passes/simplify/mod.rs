//! Replaces instructions by simpler ones. Results are equal to the last bit, except those of
//! `reciprocals` and `powers`, which round less often or come closer to the exact value.
//!
//! ```text
//! neutral      x + -0, x * 1, max(x, -inf), x & x, select(true, a, b), -(-x), …
//! conversions  convert(convert x) if the first loses nothing
//! slices       slices of slices, concatenations, broadcasts and paddings; slices that start at constants
//! pieces       concatenations of adjacent slices, or of many slices of one array
//! reciprocals  a / (1 / x)
//! powers       pow(x, 2), pow(x, 0.5), pow(x, 1.5), pow(x, -0.5)
//! units        a reduction over dimensions of one element
//! windows      a gather or scatter of a single window
//! ```

mod conversions;
mod neutral;
mod pieces;
mod powers;
mod reciprocals;
mod slices;
mod units;
mod windows;

use fusebox_core::hlo::{ArrayLiteral, InstrId, Literal, Module, Op};
use fusebox_edit::{Builder, rewrite};

use crate::CompileError;
use crate::roles::{Role, in_role};

/// Applies the rules to all computations that thunks execute, operands first.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for id in in_role(module, Role::Sequence) {
        rewrite(module, id, |edit, _, instruction| {
            let simpler = neutral::simpler(edit, instruction)
                .or_else(|| conversions::simpler(edit, instruction))
                .or_else(|| reciprocals::simpler(edit, instruction))
                .or_else(|| powers::simpler(edit, instruction))
                .or_else(|| slices::simpler(edit, instruction))
                .or_else(|| pieces::simpler(edit, instruction))
                .or_else(|| units::simpler(edit, instruction))
                .or_else(|| windows::simpler(edit, instruction));
            Ok::<_, CompileError>(simpler)
        })?;
    }
    Ok(())
}

/// Returns the value that all elements of an instruction's result have, if this value is known.
fn uniform(edit: &Builder, id: InstrId) -> Option<ArrayLiteral> {
    let instruction = edit.instruction(id);
    match &instruction.op {
        Op::Broadcast { .. } | Op::Reshape => uniform(edit, *instruction.operands.first()?),
        Op::Constant(Literal::Array(value)) if value.element_count() == 1 => Some(value.clone()),
        _ => None,
    }
}
