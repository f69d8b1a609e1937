//! The attributes that a new instruction inherits from its origin.

use fusebox_core::hlo::{Extra, Instruction, Op, Shape};

/// Returns the attributes that a new instruction inherits from `origin`, the instruction that it
/// helps to replace. The new instruction has the operation `op` and the shape `shape`. The table
/// states when an attribute is inherited:
///
/// | attribute | inherited |
/// |---|---|
/// | metadata | always: profiles and dumps name the user's line |
/// | frontend attributes | always |
/// | sharding | if the new shape has the dimensions of the origin |
/// | backend config, precision, accuracy and others | if the operation is of the origin's kind |
/// | control predecessors | never: they name instructions of the old computation |
///
/// XLA has the same rules for metadata, frontend attributes and sharding
/// (`HloInstruction::SetupDerivedInstruction`).
pub fn inherited(origin: &Instruction, op: &Op, shape: &Shape) -> Option<Box<Extra>> {
    let all = origin.extra.as_deref()?;
    let is_same_kind = origin.opcode() == op.opcode();
    let has_same_dims = has_same_dims(&origin.shape, shape);
    let of_operation = is_same_kind.then_some(all);
    let extra = Extra {
        metadata: all.metadata.clone(),
        frontend_attributes: all.frontend_attributes.clone(),
        sharding: all.sharding.clone().filter(|_| has_same_dims),
        backend_config: of_operation.and_then(|it| it.backend_config.clone()),
        other: of_operation.map(|it| it.other.clone()).unwrap_or_default(),
        control_predecessors: Vec::new(),
    };
    (extra != Extra::default()).then(|| Box::new(extra))
}

/// Returns `shape` with the layouts of `origin`. Arrays whose dimensions differ from those in
/// `origin` keep their layouts.
pub(crate) fn with_layout_of(origin: &Shape, mut shape: Shape) -> Shape {
    match (origin, &mut shape) {
        (Shape::Array(from), Shape::Array(to)) if from.layout.is_some() && from.dims == to.dims => {
            to.layout.clone_from(&from.layout);
        }
        (Shape::Tuple(from), Shape::Tuple(to)) if from.len() == to.len() => {
            for (from, to) in from.iter().zip(to) {
                *to = with_layout_of(from, std::mem::replace(to, Shape::Token));
            }
        }
        _ => {}
    }
    shape
}

fn has_same_dims(one: &Shape, other: &Shape) -> bool {
    match (one, other) {
        (Shape::Array(one), Shape::Array(other)) => one.dims == other.dims,
        (Shape::Tuple(one), Shape::Tuple(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| has_same_dims(one, other))
        }
        (one, other) => one == other,
    }
}
