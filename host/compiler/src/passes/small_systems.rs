//! Expands small triangular systems to substitution.
//!
//! ```text
//! triangular-solve(a, b), lower     x0 = b0 / a00,  x1 = (b1 - a10 * x0) / a11,  …,  concatenate(x0, x1, …)
//! ```
//!
//! Without this expansion, the program calls a routine for each system, and fusebox cannot compile
//! a loop that calls a routine to one function. As arithmetic, a system of a few equations takes
//! less time than the call and is fused with its producers and consumers. A batch of systems is
//! vectorised.

use fusebox_core::hlo::{ArrayShape, BinaryOp, InstrId, Instruction, Module, Op, Shape, SliceDim};
use fusebox_routines::TriangularSystem;

use crate::CompileError;
use crate::rebuild::Rebuild;
use crate::roles::{Role, in_role};

/// Largest number of equations of a system that is expanded. The number of instructions grows with
/// the square of this number.
const MOST: i64 = 4;

/// Expands the systems in all computations that thunks execute.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for id in in_role(module, Role::Sequence) {
        let new = Rebuild::each(module.computation(id), |rebuild, _, instruction| {
            let solved = SmallSystem::of(rebuild, instruction).map(|system| system.solve(rebuild));
            Ok::<_, CompileError>(solved)
        })?;
        module.computations[id.index()] = new;
    }
    Ok(())
}

/// A system `op(a) x = b`. Each equation is a slice of `b` at one index of `dimension`.
struct SmallSystem {
    /// Name and source position of the new instructions.
    origin: Instruction,
    attributes: TriangularSystem,
    a: InstrId,
    b: InstrId,
    matrices: ArrayShape,
    lines: ArrayShape,
    dimension: usize,
    equations: i64,
}

impl SmallSystem {
    /// Returns the system that an instruction solves, if it is real and has few equations.
    fn of(rebuild: &Rebuild, instruction: &Instruction) -> Option<SmallSystem> {
        let attributes = TriangularSystem::of(instruction).ok()?;
        let [a, b] = rebuild.operands(instruction)[..] else { return None };
        let array = |id: InstrId| rebuild.instruction(id).shape.as_array().cloned();
        let (matrices, mut lines) = (array(a)?, array(b)?);
        let batch = lines.rank().checked_sub(2)?;
        let dimension = if attributes.left_side { batch } else { batch + 1 };
        let equations = lines.dims[dimension];
        // A custom call of the routine may have any shapes.
        let is_system = matrices.element_type == lines.element_type
            && matrices.dims == [&lines.dims[..batch], &[equations; 2]].concat()
            && instruction.shape.as_array() == Some(&lines);
        let is_small =
            (1..=MOST).contains(&equations) && lines.element_type.is_float() && lines.element_type.bits() >= 32;
        lines.dims[dimension] = 1;
        let mut origin = instruction.clone();
        if let Some(extra) = &mut origin.extra {
            // The configuration holds only for the custom call.
            extra.backend_config = None;
            extra.frontend_attributes.clear();
        }
        (is_system && is_small).then_some(SmallSystem {
            origin,
            attributes,
            a,
            b,
            matrices,
            lines,
            dimension,
            equations,
        })
    }

    /// Computes the unknowns in order, each from the previous ones.
    fn solve(&self, rebuild: &mut Rebuild) -> InstrId {
        let is_downwards = self.attributes.lower != self.attributes.is_transposed();
        let order: Vec<i64> =
            if is_downwards { (0..self.equations).collect() } else { (0..self.equations).rev().collect() };
        let mut found: Vec<(i64, InstrId)> = Vec::new();
        for &row in &order {
            let mut rest = self.right_side(rebuild, row);
            for &(column, unknown) in &found {
                let coefficient = self.coefficient(rebuild, row, column);
                let product = self.of_lines(rebuild, Op::Binary(BinaryOp::Multiply), vec![coefficient, unknown]);
                rest = self.of_lines(rebuild, Op::Binary(BinaryOp::Subtract), vec![rest, product]);
            }
            if !self.attributes.unit_diagonal {
                let diagonal = self.coefficient(rebuild, row, row);
                rest = self.of_lines(rebuild, Op::Binary(BinaryOp::Divide), vec![rest, diagonal]);
            }
            found.push((row, rest));
        }
        found.sort_by_key(|&(row, _)| row);
        let unknowns = found.into_iter().map(|(_, unknown)| unknown).collect();
        let op = Op::Concatenate { dimension: self.dimension as i64 };
        rebuild.add(&self.origin, op, self.origin.shape.clone(), unknowns)
    }

    /// Adds an instruction whose result has the shape of one equation's slice of `b`.
    fn of_lines(&self, rebuild: &mut Rebuild, op: Op, operands: Vec<InstrId>) -> InstrId {
        rebuild.add(&self.origin, op, Shape::Array(self.lines.clone()), operands)
    }

    fn right_side(&self, rebuild: &mut Rebuild, row: i64) -> InstrId {
        let mut dims = whole(&self.lines.dims);
        dims[self.dimension] = SliceDim { start: row, limit: row + 1, stride: 1 };
        self.of_lines(rebuild, Op::Slice { dims }, vec![self.b])
    }

    /// Returns the coefficient of an unknown in an equation, broadcast to the shape of one
    /// equation's slice of `b`.
    fn coefficient(&self, rebuild: &mut Rebuild, row: i64, column: i64) -> InstrId {
        let batch = self.matrices.rank() - 2;
        let place = if self.attributes.is_transposed() { [column, row] } else { [row, column] };
        let mut dims = whole(&self.matrices.dims);
        for (dim, start) in dims[batch..].iter_mut().zip(place) {
            *dim = SliceDim { start, limit: start + 1, stride: 1 };
        }
        let of = |dims: Vec<i64>| Shape::array(self.matrices.element_type, dims);
        let one = [&self.matrices.dims[..batch], &[1, 1]].concat();
        let element = rebuild.add(&self.origin, Op::Slice { dims }, of(one), vec![self.a]);
        let element = rebuild.add(&self.origin, Op::Reshape, of(self.matrices.dims[..batch].to_vec()), vec![element]);
        let dimensions = (0..batch as i64).collect();
        self.of_lines(rebuild, Op::Broadcast { dimensions }, vec![element])
    }
}

fn whole(dims: &[i64]) -> Vec<SliceDim> {
    dims.iter().map(|&limit| SliceDim { start: 0, limit, stride: 1 }).collect()
}
