//! Describes the triangular system that an instruction solves. HLO's `triangular-solve` and
//! LAPACK's `trsm` have different attributes, which this file converts to one description.

use fusebox_core::hlo::{Instruction, Op, Transpose};

use super::attributes::RequiredAttributes;
use crate::Unsupported;

/// A system of equations `op(a) x = b` or `x op(a) = b`, with a triangular matrix `a` and the
/// unknown `x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriangularSystem {
    /// Whether `a` is to the left of `x`.
    pub left_side: bool,
    /// Whether `a` is lower triangular, not upper triangular.
    pub lower: bool,
    /// Whether all elements on the diagonal of `a` are assumed to be one.
    pub unit_diagonal: bool,
    /// The operation `op` on `a`.
    pub transpose_a: Transpose,
}

impl TriangularSystem {
    /// Returns the system that an instruction solves.
    ///
    /// # Errors
    /// If the instruction does not solve a triangular system, or one of its attributes is missing.
    pub fn of(instruction: &Instruction) -> Result<TriangularSystem, Unsupported> {
        match &instruction.op {
            &Op::TriangularSolve { left_side, lower, unit_diagonal, transpose_a } => {
                Ok(TriangularSystem { left_side, lower, unit_diagonal, transpose_a })
            }
            Op::CustomCall(call) if call.target.starts_with("lapack_") && call.target.ends_with("trsm_ffi") => {
                TriangularSystem::of_attributes(&RequiredAttributes::of(instruction)?)
            }
            _ => Err(Unsupported::new("a triangular system without its attributes")),
        }
    }

    fn of_attributes(attributes: &RequiredAttributes) -> Result<TriangularSystem, Unsupported> {
        let transpose_a = match attributes.letter("trans_x")? {
            'N' => Transpose::None,
            'T' => Transpose::Transpose,
            'C' => Transpose::Adjoint,
            letter => {
                return Err(Unsupported::new(format!("`trans_x = '{letter}'` in backend_config: expected N, T or C")));
            }
        };
        Ok(TriangularSystem {
            left_side: attributes.is_first("side", ['L', 'R'])?,
            lower: attributes.is_first("uplo", ['L', 'U'])?,
            unit_diagonal: attributes.is_first("diag", ['U', 'N'])?,
            transpose_a,
        })
    }

    /// Whether the solver reads `a` transposed. The solver needs the triangular matrix on the left,
    /// so it solves `x op(a) = b` as `op(a)ᵀ xᵀ = bᵀ`. The columns of `bᵀ` are the rows of `b`.
    pub fn is_transposed(self) -> bool {
        (self.transpose_a == Transpose::None) != self.left_side
    }
}
