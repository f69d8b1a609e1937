//! Maps opcodes, and targets of custom calls, to routines.

use std::sync::Arc;

use fusebox_core::hlo::{ComputationId, Module, Op, Opcode};

use crate::{
    Companions, Comparator, Operation, Routine, Unsupported, callback, dot, exchange, fft, foreign, identity, lapack,
    random, random_bits, sort, top_k,
};

/// A function that creates the routine of an operation.
type MakeRoutine = fn(&Operation) -> Result<Box<dyn Routine>, Unsupported>;

/// A function that creates the routine of an operation from the operation and its [`Companions`].
type MakeRoutineWith = fn(&Operation, &Companions) -> Result<Box<dyn Routine>, Unsupported>;

/// Functions that create the routines of operations other than custom calls, by opcode.
const OPERATIONS: &[(Opcode, MakeRoutine)] = &[
    (Opcode::AllGather, exchange::make),
    (Opcode::AllReduce, exchange::make),
    (Opcode::AllToAll, exchange::make),
    (Opcode::Cholesky, lapack::make_cholesky),
    (Opcode::CollectiveBroadcast, exchange::make),
    (Opcode::CollectivePermute, exchange::make),
    (Opcode::Dot, dot::make),
    (Opcode::Fft, fft::make),
    (Opcode::PartitionId, exchange::make_partition_id),
    (Opcode::ReduceScatter, exchange::make),
    (Opcode::Rng, random::numbers),
    (Opcode::RngBitGenerator, random_bits::make),
    (Opcode::RngGetAndUpdateState, random::state),
    (Opcode::Topk, top_k::operation),
    (Opcode::TriangularSolve, lapack::make_triangular_solve),
];

/// Functions that create the routines of operations that need [`Companions`], by opcode.
const ACCOMPANIED: &[(Opcode, MakeRoutineWith)] = &[(Opcode::Sort, sort::make)];

/// Functions that create the routines of custom calls, by target. A name that ends in `*` stands
/// for all targets that begin with the text before `*`.
const CUSTOM_CALLS: &[(&str, MakeRoutine)] = &[
    // Annotations for passes that a program on a single device does not need.
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
    ("fusebox_python_callback", callback::make),
    ("lapack_*", lapack::make),
    ("TopK", top_k::custom_call),
];

/// Creates the routine of a module's only operation. The module's entry computation must consist of
/// this operation and its parameters, in order.
///
/// # Errors
/// If no routine supports the operation, or the operation is a sort whose comparator must be
/// compiled.
pub fn routine_for(module: &Module) -> Result<Box<dyn Routine>, Unsupported> {
    routine_with(module, &Companions::default())
}

fn unaccompanied(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let make = match &operation.instruction.op {
        Op::CustomCall(call) => return custom_call(operation, &call.target),
        op => for_opcode(op.opcode()).ok_or_else(|| Unsupported::new(format!("the operation {}", op.opcode())))?,
    };
    make(operation)
}

/// Targets for which a function that the process has registered takes precedence over fusebox's own
/// routine. A Schur form is not unique, and the phases of its columns depend on rounding. JAX
/// registers LAPACK functions, and JAX programs expect the phases that these functions compute.
const REGISTERED_FIRST: [&str; 4] = ["lapack_sgees_ffi", "lapack_dgees_ffi", "lapack_cgees_ffi", "lapack_zgees_ffi"];

/// Creates the routine of a custom call. If fusebox has no routine of its own for the target, the
/// routine calls the function that the process has registered with the target's name. For the
/// targets in [`REGISTERED_FIRST`], a registered function takes precedence over fusebox's own
/// routine.
fn custom_call(operation: &Operation, target: &str) -> Result<Box<dyn Routine>, Unsupported> {
    let own = for_target(target).map(|make| make(operation));
    match (own, foreign::is_registered(target)) {
        (_, true) if REGISTERED_FIRST.contains(&target) => foreign::make(operation),
        (Some(Ok(routine)), _) => Ok(routine),
        (_, true) => foreign::make(operation),
        (Some(unsupported), false) => unsupported,
        (None, false) => Err(Unsupported::new("this target, and the process has registered no function with its name")),
    }
}

/// Returns the comparator of a module's only operation, if this operation is a sort whose
/// comparator must be compiled.
pub fn comparator_to_compile(module: &Module) -> Option<ComputationId> {
    sort::comparator_to_compile(&Operation::of(module).ok()?)
}

/// Creates the routine as [`routine_for`] does. The routine may use `companions`, for example a
/// compiled comparator.
///
/// # Errors
/// If no routine supports the operation, or if the operation is a sort whose comparator must be
/// compiled, and `companions` has no comparator.
pub fn routine_with(module: &Module, companions: &Companions) -> Result<Box<dyn Routine>, Unsupported> {
    let operation = Operation::of(module)?;
    let opcode = operation.instruction.opcode();
    match ACCOMPANIED.iter().find(|(known, _)| *known == opcode) {
        Some((_, make)) => make(&operation, companions),
        None => unaccompanied(&operation),
    }
}

/// Describes in a few words the algorithm that the routine of a module's only operation uses.
///
/// # Errors
/// If no routine supports the operation.
pub fn describe(module: &Module) -> Result<String, Unsupported> {
    /// A placeholder for a comparator that is not compiled yet.
    #[derive(Debug)]
    struct Promised;

    impl Comparator for Promised {
        fn on<'a>(&'a self, _: &'a [&'a [u8]]) -> Box<dyn FnMut(usize, usize) -> bool + 'a> {
            Box::new(|_, _| false)
        }
    }

    let companions = Companions { comparator: Some(Arc::new(Promised)) };
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
