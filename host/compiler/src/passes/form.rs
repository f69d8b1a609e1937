//! Properties of modules that passes require of their input, or establish for later passes.

use fusebox_core::hlo::{ArrayShape, Collective, Instruction, Module, Op, Opcode, Shape};

use super::inline_calls::inlined_callee;
use crate::roles::Role;

/// A property of all reachable computations of a module. A pass that requires a form of its input
/// also produces output of this form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// No operations that exchange data with the host. Operations that exchange data with other
    /// devices occur only in code that each device executes.
    OneDevice,
    /// No dynamic dimensions.
    StaticSizes,
    /// No `scan`, `ragged-dot`, `scaled-dot`.
    Expanded,
    /// There are no calls. Fusions occur only in computations that thunks execute.
    NoCalls,
    /// No layouts, and no `bitcast`, the only operation that depends on layouts.
    RowMajor,
    /// No batch normalisation.
    NoBatchNorm,
    /// Without operations such as `copy` and `opt-barrier`, which have no effect on one device.
    Canonical,
    /// All arrays without elements are parameters or constants.
    NoEmptyArrays,
}

impl Form {
    /// All forms, in the order in which passes establish them.
    pub const ALL: [Form; 8] = [
        Form::OneDevice,
        Form::StaticSizes,
        Form::Expanded,
        Form::NoCalls,
        Form::RowMajor,
        Form::NoBatchNorm,
        Form::Canonical,
        Form::NoEmptyArrays,
    ];

    /// Returns the first instruction that violates the form.
    pub fn exception<'m>(self, module: &'m Module, roles: &[Role]) -> Option<&'m Instruction> {
        let reachable = module.computations.iter().zip(roles).filter(|(_, role)| **role != Role::Unreachable);
        let mut instructions =
            reachable.flat_map(|(computation, &role)| computation.instructions.iter().map(move |it| (it, role)));
        instructions.find(|(instruction, role)| !self.admits(instruction, *role)).map(|(instruction, _)| instruction)
    }

    fn admits(self, instruction: &Instruction, role: Role) -> bool {
        let op = &instruction.op;
        match self {
            Form::OneDevice => {
                Collective::is(op) || !matches!(op, Op::Other { opcode, .. } if *opcode != Opcode::Domain)
            }
            Form::StaticSizes => !instruction.shape.has_dynamic_size() && !matches!(op, Op::SetDimensionSize { .. }),
            Form::Expanded => !matches!(op, Op::Scan { .. } | Op::RaggedDot { .. } | Op::ScaledDot(_)),
            Form::NoCalls => inlined_callee(op, role).is_none(),
            Form::RowMajor => {
                let has_layout = |shape: &&Shape| shape.as_array().is_some_and(|array| array.layout.is_some());
                !matches!(op, Op::Bitcast) && !instruction.shape.leaves().iter().any(has_layout)
            }
            Form::NoBatchNorm => {
                use Op::{BatchNormGrad, BatchNormInference, BatchNormTraining};
                !matches!(op, BatchNormTraining { .. } | BatchNormInference { .. } | BatchNormGrad { .. })
            }
            Form::Canonical => {
                let is_other = matches!(op, Op::Other { .. }) && !Collective::is(op);
                let is_copy = matches!(op, Op::Copy | Op::OptBarrier | Op::AddDependency);
                let is_number = matches!(op, Op::ReplicaId | Op::GetDimensionSize { .. });
                !is_other && !is_copy && !is_number
            }
            Form::NoEmptyArrays => {
                let is_empty = instruction.shape.as_array().map(ArrayShape::element_count) == Some(0);
                !is_empty || matches!(op, Op::Parameter { .. } | Op::Constant(_))
            }
        }
    }
}
