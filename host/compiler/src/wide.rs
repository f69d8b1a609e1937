//! Kernels of more buffers than the target's parameters take, or than are compiled in little time.
//!
//! Fusion's own limits keep kernels at a tenth of the buffers that any target takes, unless a
//! single instruction has more operands. The exceptions are concatenates of that many operands,
//! which become concatenates of concatenates, and fusions of the text, which are dissolved.

use std::collections::HashSet;

use fusebox_core::hlo::{ArrayShape, Computation, Diagnostic, InstrId, Instruction, Module, Op, Shape};

use crate::fuse::{dissolve, wrap};
use crate::rebuild::Rebuild;
use crate::roles::{Role, in_role};

/// The part of a kernel's buffers that the operands of one concatenate may be, so that there is
/// room for what is fused with it.
const OF_CONCATENATES: usize = 2;

/// Most operands of a concatenate on any target. Its kernel has a function for each, which names
/// all of them: the kernel IR grows with the square of their number, and so does the time that
/// fusion and LLVM take for it.
const MOST_JOINED: usize = 128;
/// Most operands if the result is so large that caches would not keep a second copy of it.
const MOST_JOINED_OF_LARGE: usize = 512;
/// Bytes from which on a result is.
const LARGE: i64 = 4 << 20;

/// Splits what would be a kernel of more than `most` buffers.
pub fn split(module: &mut Module, most: usize) {
    if module.bare && module.entry.is_some_and(|id| buffers(module.computation(id)) > most) {
        wrap(module);
    }
    let wide: HashSet<_> =
        in_role(module, Role::Fused).into_iter().filter(|&fused| buffers(module.computation(fused)) > most).collect();
    if !wide.is_empty() {
        dissolve(module, &wide);
    }
    let of_target = (most / OF_CONCATENATES).max(2);
    let is_wide = |it: &Instruction| wide_dimension(it, of_target).is_some();
    for sequence in in_role(module, Role::Sequence) {
        let old = module.computation(sequence);
        if !old.instructions.iter().any(is_wide) {
            continue;
        }
        let mut rebuild = Rebuild::new(old);
        for (id, instruction) in old.ids().zip(&old.instructions) {
            let new = match wide_dimension(instruction, of_target) {
                Some((dimension, most)) => in_parts(&mut rebuild, instruction, dimension, most),
                None => rebuild.copy(instruction),
            };
            rebuild.set(id, new);
        }
        module.computations[sequence.index()] = rebuild.finish();
    }
}

/// Every fusion whose kernel would have more than `most` buffers.
pub fn refused(module: &Module, most: usize) -> Vec<Diagnostic> {
    let sequences = in_role(module, Role::Sequence).into_iter().map(|id| module.computation(id));
    let faults = sequences.flat_map(|computation| {
        computation.instructions.iter().filter_map(|instruction| {
            let Op::Fusion { calls, .. } = instruction.op else { return None };
            let found = buffers(module.computation(calls));
            (found > most).then(|| Diagnostic {
                file: module.source_file.clone(),
                span: instruction.span,
                subject: Some(instruction.name.clone()),
                message: format!("a kernel of {found} operands and results; the target's kernels take {most}"),
                source_line: String::new(),
            })
        })
    });
    faults.collect()
}

/// Operands and results of the kernel that a computation becomes.
fn buffers(fused: &Computation) -> usize {
    fused.parameters().len() + fused.root_instruction().shape.leaves().len()
}

/// The dimension of a concatenate of too many operands, and the most that it may have.
fn wide_dimension(instruction: &Instruction, of_target: usize) -> Option<(usize, usize)> {
    let Op::Concatenate { dimension } = instruction.op else { return None };
    let bytes = instruction.shape.as_array().map_or(0, ArrayShape::byte_size);
    let most = of_target.min(if bytes > LARGE { MOST_JOINED_OF_LARGE } else { MOST_JOINED });
    (instruction.operands.len() > most).then_some((dimension as usize, most))
}

/// A concatenate of at most `most` operands, which are concatenates themselves.
fn in_parts(rebuild: &mut Rebuild, instruction: &Instruction, dimension: usize, most: usize) -> InstrId {
    let mut operands = rebuild.operands(instruction);
    while operands.len() > most {
        let parts = operands.chunks(most).map(|part| match part {
            [one] => *one,
            part => joined(rebuild, instruction, dimension, part),
        });
        operands = parts.collect();
    }
    rebuild.push(Instruction { operands, ..instruction.clone() })
}

/// Some operands of a concatenate, one behind the other.
fn joined(rebuild: &mut Rebuild, instruction: &Instruction, dimension: usize, operands: &[InstrId]) -> InstrId {
    let size = |array: &ArrayShape| array.dims.get(dimension).copied().unwrap_or(0);
    let sizes = operands.iter().filter_map(|&id| rebuild.instruction(id).shape.as_array()).map(size);
    let length = sizes.sum();
    let mut shape = instruction.shape.clone();
    if let Shape::Array(array) = &mut shape {
        array.dims[dimension] = length;
    }
    rebuild.add(instruction, instruction.op.clone(), shape, operands.to_vec())
}
