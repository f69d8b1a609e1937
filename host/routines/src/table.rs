//! Which routine executes what: one line per opcode and per custom-call target.

use fusebox_core::hlo::{Module, Op, Opcode};

use crate::{Operation, Routine, Unsupported, fft, identity, lapack};

/// Makes the routine of an operation.
type Make = fn(&Operation) -> Result<Box<dyn Routine>, Unsupported>;

/// Routines of operations other than custom calls.
const OPERATIONS: &[(Opcode, Make)] = &[
    (Opcode::Cholesky, lapack::make_cholesky),
    (Opcode::Fft, fft::make),
    (Opcode::TriangularSolve, lapack::make_triangular_solve),
];

/// Routines of custom calls by target; one that ends in `*` stands for all that begin so.
const CUSTOM_CALLS: &[(&str, Make)] = &[
    // Annotations for passes that one device does not need.
    ("Sharding", identity::make),
    ("SPMDFullToShardShape", identity::make),
    ("SPMDShardToFullShape", identity::make),
    ("annotate_device_placement", identity::make),
    ("MoveToHost", identity::make),
    ("MoveToDevice", identity::make),
    ("LayoutConstraint", identity::make),
    ("PinToDevice", identity::make),
    ("PinToHost", identity::make),
    ("ResizeHint", identity::make),
    ("xla.sdy.*", identity::make),
    ("lapack_*", lapack::make),
];

/// The routine of a module's only operation, which stands in its entry and takes the entry's parameters in order.
///
/// # Errors
/// If nothing here does what the operation wants.
pub fn routine_for(module: &Module) -> Result<Box<dyn Routine>, Unsupported> {
    let operation = Operation::of(module)?;
    let make = match &operation.instruction.op {
        Op::CustomCall(call) => for_target(&call.target)
            .ok_or_else(|| Unsupported::new(format!("the custom-call target \"{}\"", call.target)))?,
        op => for_opcode(op.opcode()).ok_or_else(|| Unsupported::new(format!("the operation {}", op.opcode())))?,
    };
    make(&operation)
}

fn for_opcode(opcode: Opcode) -> Option<Make> {
    OPERATIONS.iter().find(|(known, _)| *known == opcode).map(|(_, make)| *make)
}

fn for_target(target: &str) -> Option<Make> {
    let is_meant = |pattern: &str| match pattern.strip_suffix('*') {
        Some(start) => target.starts_with(start),
        None => target == pattern,
    };
    CUSTOM_CALLS.iter().find(|(pattern, _)| is_meant(pattern)).map(|(_, make)| *make)
}
