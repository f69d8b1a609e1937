//! Splits kernels that have too many buffers: more than the target allows as parameters of a
//! kernel, or so many that compilation would take too long.
//!
//! Fusion limits a kernel to less than a quarter of the buffers that every target allows, unless a
//! single instruction has more operands. Two kinds of kernels can have too many buffers: kernels of
//! concatenates, and kernels of fusions that the program text contains. If a concatenate has too
//! many operands, the compiler replaces it by a concatenate of concatenates. If the kernel of a
//! fusion would have too many buffers, the compiler replaces the fusion by its instructions.

use std::collections::HashSet;

use fusebox_core::hlo::{ArrayShape, Computation, Diagnostic, InstrId, Instruction, Module, Op};
use fusebox_edit::{EditError, Rewrite, rewrite};

use crate::fuse::{dissolve, wrap};
use crate::roles::{Role, in_role};

/// A concatenate may have as many operands as the target's maximum number of buffers, divided by
/// this number. The other buffers of the kernel remain for instructions that are fused with the
/// concatenate.
const OF_CONCATENATES: usize = 2;

/// Largest number of operands of a concatenate on any target. The kernel of a concatenate contains
/// one function per operand, and each function has all operands as parameters. So the size of the
/// kernel IR, and the time that fusion and LLVM need, grow with the square of the number of
/// operands.
const MOST_JOINED: usize = 128;
/// Largest number of operands of a concatenate if the result is so large that caches cannot hold a
/// second copy of it.
const MOST_JOINED_OF_LARGE: usize = 512;
/// Number of bytes above which the result of a concatenate counts as large.
const LARGE: i64 = 4 << 20;

/// Splits instructions whose kernel would have more than `most` buffers.
pub fn split(module: &mut Module, most: usize) -> Result<(), EditError> {
    if module.bare && module.entry.is_some_and(|id| buffers(module.computation(id)) > most) {
        wrap(module);
    }
    let wide: HashSet<_> =
        in_role(module, Role::Fused).into_iter().filter(|&fused| buffers(module.computation(fused)) > most).collect();
    if !wide.is_empty() {
        dissolve(module, &wide)?;
    }
    let of_target = (most / OF_CONCATENATES).max(2);
    let is_wide = |it: &Instruction| wide_dimension(it, of_target).is_some();
    for sequence in in_role(module, Role::Sequence) {
        if module.computation(sequence).instructions.iter().any(is_wide) {
            rewrite(module, sequence, |edit, _, instruction| {
                let wide = wide_dimension(instruction, of_target);
                Ok::<_, EditError>(wide.map(|(dimension, most)| in_parts(edit, instruction, dimension, most)))
            })?;
        }
    }
    Ok(())
}

/// Reports every fusion whose kernel would have more than `most` buffers.
pub fn refused(module: &Module, most: usize) -> Vec<Diagnostic> {
    let sequences = in_role(module, Role::Sequence).into_iter().map(|id| module.computation(id));
    let faults = sequences.flat_map(|computation| {
        computation.instructions.iter().filter_map(|instruction| {
            let Op::Fusion { calls, .. } = instruction.op else { return None };
            let found = buffers(module.computation(calls));
            (found > most).then(|| Diagnostic {
                file: module.place_of(instruction),
                span: instruction.span,
                subject: Some(instruction.name.clone()),
                message: format!("a kernel of {found} operands and results; the target's kernels take {most}"),
                source_line: String::new(),
            })
        })
    });
    faults.collect()
}

/// Returns the number of operands and results that the kernel of a computation has.
fn buffers(fused: &Computation) -> usize {
    fused.parameters().len() + fused.root_instruction().shape.leaves().len()
}

/// If a concatenate has too many operands, returns its dimension and the largest number of operands
/// that it may have.
fn wide_dimension(instruction: &Instruction, of_target: usize) -> Option<(usize, usize)> {
    let Op::Concatenate { dimension } = instruction.op else { return None };
    let bytes = instruction.shape.as_array().map_or(0, ArrayShape::byte_size);
    let most = of_target.min(if bytes > LARGE { MOST_JOINED_OF_LARGE } else { MOST_JOINED });
    (instruction.operands.len() > most).then_some((dimension as usize, most))
}

/// Builds a concatenate of at most `most` operands, which are concatenates themselves.
fn in_parts(edit: &mut Rewrite, instruction: &Instruction, dimension: usize, most: usize) -> InstrId {
    let mut operands = edit.operands(instruction);
    while operands.len() > most {
        operands = operands.chunks(most).map(|part| edit.concatenate(part.to_vec(), dimension)).collect();
    }
    edit.copy_with(instruction, operands)
}
