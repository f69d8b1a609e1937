//! Maps opcodes and custom-call targets to routines.

use std::sync::Arc;

use fusebox_core::hlo::{ComputationId, Module, Op, Opcode};

use crate::{
    Companions, Comparator, Operation, Routine, Unsupported, dot, fft, identity, lapack, random, random_bits, sort,
    top_k,
};

/// Function that creates the routine of an operation.
type MakeRoutine = fn(&Operation) -> Result<Box<dyn Routine>, Unsupported>;

/// As [`MakeRoutine`], with the program's companions of the operation.
type MakeRoutineWith = fn(&Operation, &Companions) -> Result<Box<dyn Routine>, Unsupported>;

/// Routines of operations other than custom calls.
const OPERATIONS: &[(Opcode, MakeRoutine)] = &[
    (Opcode::Cholesky, lapack::make_cholesky),
    (Opcode::Dot, dot::make),
    (Opcode::Fft, fft::make),
    (Opcode::RngBitGenerator, random_bits::make),
    (Opcode::Topk, top_k::operation),
    (Opcode::TriangularSolve, lapack::make_triangular_solve),
];

/// Routines of operations that need companions.
const ACCOMPANIED: &[(Opcode, MakeRoutineWith)] =
    &[(Opcode::Rng, random::numbers), (Opcode::RngGetAndUpdateState, random::state), (Opcode::Sort, sort::make)];

/// Routines of custom calls by target. A target that ends in `*` is a prefix.
const CUSTOM_CALLS: &[(&str, MakeRoutine)] = &[
    // Annotations for passes that are not needed for a single device.
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
    ("TopK", top_k::custom_call),
];

/// Returns the routine of a module's only operation. The entry consists of this operation and its
/// parameters, in order.
///
/// # Errors
/// If no routine supports the operation, or its comparator must be compiled.
pub fn routine_for(module: &Module) -> Result<Box<dyn Routine>, Unsupported> {
    routine_with(module, &Companions::default())
}

fn unaccompanied(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let make = match &operation.instruction.op {
        Op::CustomCall(call) => for_target(&call.target).ok_or_else(|| Unsupported::new("this target"))?,
        op => for_opcode(op.opcode()).ok_or_else(|| Unsupported::new(format!("the operation {}", op.opcode())))?,
    };
    make(operation)
}

/// Returns the comparator of a module's only operation, if it must be compiled.
pub fn comparator_to_compile(module: &Module) -> Option<ComputationId> {
    sort::comparator_to_compile(&Operation::of(module).ok()?)
}

/// Returns the routine as [`routine_for`] does, with the program's companions of the operation.
///
/// # Errors
/// As [`routine_for`].
pub fn routine_with(module: &Module, companions: &Companions) -> Result<Box<dyn Routine>, Unsupported> {
    let operation = Operation::of(module)?;
    let opcode = operation.instruction.opcode();
    match ACCOMPANIED.iter().find(|(known, _)| *known == opcode) {
        Some((_, make)) => make(&operation, companions),
        None => unaccompanied(&operation),
    }
}

/// Describes, in words, the algorithm of the routine of a module's only operation.
///
/// # Errors
/// If no routine supports the operation.
pub fn describe(module: &Module) -> Result<String, Unsupported> {
    /// Placeholder for a comparator that is not compiled yet.
    #[derive(Debug)]
    struct Promised;

    impl Comparator for Promised {
        fn on<'a>(&'a self, _: &'a [&'a [u8]]) -> Box<dyn FnMut(usize, usize) -> bool + 'a> {
            Box::new(|_, _| false)
        }
    }

    let companions = Companions { comparator: Some(Arc::new(Promised)), ..Companions::default() };
    Ok(routine_with(module, &companions)?.describe())
}

fn for_opcode(opcode: Opcode) -> Option<MakeRoutine> {
    OPERATIONS.iter().find(|(known, _)| *known == opcode).map(|(_, make)| *make)
}

fn for_target(target: &str) -> Option<MakeRoutine> {
    let is_meant = |pattern: &str| match pattern.strip_suffix('*') {
        Some(start) => target.starts_with(start),
        None => target == pattern,
    };
    CUSTOM_CALLS.iter().find(|(pattern, _)| is_meant(pattern)).map(|(_, make)| *make)
}
