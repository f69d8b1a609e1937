//! Expands small triangular systems to substitution.
//!
//! ```text
//! triangular-solve(a, b), lower     x0 = b0 / a00,  x1 = (b1 - a10 * x0) / a11,  …,  concatenate(x0, x1, …)
//! ```
//!
//! Without this expansion, the program calls a routine for each system. A loop that contains a call
//! of a routine cannot be compiled to one function. The arithmetic that solves a system of a few
//! equations takes less time than the call of a routine. This arithmetic is also fused with its
//! producers and consumers. The arithmetic of a batch of systems is vectorised. The pass does not
//! expand a system that an emitter claims, because the emitter's kernel solves the system without a
//! call.

use fusebox_core::hlo::{BinaryOp, InstrId, Instruction, Module, SliceDim};
use fusebox_edit::{Builder, Rewrite, rewrite};
use fusebox_routines::TriangularSystem;

use crate::CompileError;
use crate::fuse::Claims;
use crate::roles::{Role, in_role};

/// Largest number of equations of a system that is expanded. The number of instructions grows with
/// the square of this number.
const MOST: i64 = 4;

/// Expands the systems in all computations that thunks execute.
pub fn run(module: &mut Module, claims: &mut Claims) -> Result<(), CompileError> {
    for id in in_role(module, Role::Sequence) {
        rewrite(module, id, |edit, id, instruction| {
            let system = SmallSystem::of(edit, instruction);
            let system = system.filter(|_| !claims.is_hero(edit.module(), edit.old(), id));
            Ok::<_, CompileError>(system.map(|system| system.solve(edit)))
        })?;
    }
    Ok(())
}

/// A system `op(a) x = b`. Each equation belongs to a slice of `b` at one index of `dimension`.
struct SmallSystem {
    attributes: TriangularSystem,
    a: InstrId,
    b: InstrId,
    /// Sizes of the dimensions of one equation's slice of `b`. The last two are not batch
    /// dimensions.
    line: Vec<i64>,
    dimension: usize,
    equations: i64,
}

impl SmallSystem {
    /// Returns the system that an instruction solves, if the system has few equations, and its
    /// elements are floats of at least 32 bits.
    fn of(edit: &Rewrite, instruction: &Instruction) -> Option<SmallSystem> {
        let attributes = TriangularSystem::of(instruction).ok()?;
        let [a, b] = edit.operands(instruction)[..] else { return None };
        let (matrices, lines) = (edit.array(a)?, edit.array(b)?);
        let batch = lines.rank().checked_sub(2)?;
        let dimension = if attributes.left_side { batch } else { batch + 1 };
        let equations = lines.dims[dimension];
        // A custom call of the routine may have any shapes.
        let is_system = matrices.element_type == lines.element_type
            && matrices.dims == [&lines.dims[..batch], &[equations; 2]].concat()
            && instruction.shape.as_array() == Some(lines);
        let is_small =
            (1..=MOST).contains(&equations) && lines.element_type.is_float() && lines.element_type.bits() >= 32;
        let mut line = lines.dims.clone();
        line[dimension] = 1;
        (is_system && is_small).then_some(SmallSystem { attributes, a, b, line, dimension, equations })
    }

    /// Computes the unknowns in order, each from the previous ones.
    fn solve(&self, edit: &mut Builder) -> InstrId {
        let is_downwards = self.attributes.lower != self.attributes.is_transposed();
        let order: Vec<i64> =
            if is_downwards { (0..self.equations).collect() } else { (0..self.equations).rev().collect() };
        let mut found: Vec<(i64, InstrId)> = Vec::new();
        for &row in &order {
            let mut rest = edit.slice_along(self.b, self.dimension, row, row + 1);
            for &(column, unknown) in &found {
                let coefficient = self.coefficient(edit, row, column);
                let product = edit.binary(BinaryOp::Multiply, coefficient, unknown);
                rest = edit.binary(BinaryOp::Subtract, rest, product);
            }
            if !self.attributes.unit_diagonal {
                let diagonal = self.coefficient(edit, row, row);
                rest = edit.binary(BinaryOp::Divide, rest, diagonal);
            }
            found.push((row, rest));
        }
        found.sort_by_key(|&(row, _)| row);
        edit.concatenate(found.into_iter().map(|(_, unknown)| unknown).collect(), self.dimension)
    }

    /// Returns the coefficient of an unknown in an equation, broadcast to the shape of one
    /// equation's slice of `b`.
    fn coefficient(&self, edit: &mut Builder, row: i64, column: i64) -> InstrId {
        let batch = self.line.len() - 2;
        let place = if self.attributes.is_transposed() { [column, row] } else { [row, column] };
        let whole = self.line[..batch].iter().map(|&size| SliceDim::all(size));
        let one = place.map(|start| SliceDim { start, limit: start + 1, stride: 1 });
        let element = edit.slice(self.a, whole.chain(one).collect());
        let element = edit.reshape(element, &self.line[..batch]);
        let dimensions: Vec<i64> = (0..batch as i64).collect();
        edit.broadcast(element, &self.line, &dimensions)
    }
}
