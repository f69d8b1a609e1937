//! Registers operations at run time through the C++ shim.

use melior::Context;
use mlir_sys::{MlirContext, MlirLogicalResult, MlirOperation, MlirStringRef};

use crate::mlir::{Operation, string_ref};

/// A structural property of an operation.
#[derive(Clone, Copy)]
pub(super) enum Trait {
    Terminator = 1,
    SingleBlock = 2,
    RecursiveEffects = 4,
}

/// What an operation does to memory. None at all: it is pure.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    Read = 1,
    Write = 2,
    Allocate = 4,
    /// Decided by traits, or not known.
    Unknown = 8,
}

/// Checks one operation; the error is reported at its place.
pub(super) type Verifier = fn(Operation) -> Result<(), String>;

/// An operation as registered.
pub(super) struct Definition {
    name: &'static str,
    traits: &'static [Trait],
    effects: &'static [Effect],
    verifier: Verifier,
}

#[repr(C)]
struct FuseboxOperation {
    name: MlirStringRef,
    traits: u32,
    effects: u32,
    verify: unsafe extern "C" fn(MlirOperation) -> MlirLogicalResult,
}

unsafe extern "C" {
    fn fuseboxRegisterOperations(
        context: MlirContext,
        dialect: MlirStringRef,
        operations: *const FuseboxOperation,
        count: usize,
    );
    fn fuseboxEmitError(operation: MlirOperation, message: MlirStringRef);
}

impl Definition {
    pub(super) const fn new(
        name: &'static str,
        traits: &'static [Trait],
        effects: &'static [Effect],
        verifier: Verifier,
    ) -> Self {
        Definition { name, traits, effects, verifier }
    }
}

pub(super) fn register(context: &Context, dialect: &str, definitions: &[Definition]) {
    let operations: Vec<FuseboxOperation> = definitions
        .iter()
        .map(|definition| FuseboxOperation {
            name: string_ref(definition.name),
            traits: definition.traits.iter().fold(0, |bits, &it| bits | it as u32),
            effects: definition.effects.iter().fold(0, |bits, &it| bits | it as u32),
            verify,
        })
        .collect();
    // SAFETY: the context is alive; the shim copies what the pointers lead to.
    unsafe { fuseboxRegisterOperations(context.to_raw(), string_ref(dialect), operations.as_ptr(), operations.len()) }
}

/// Called by MLIR for every operation of the dialect. Verifiers do not panic: an unwinding here would abort.
unsafe extern "C" fn verify(raw: MlirOperation) -> MlirLogicalResult {
    let operation = Operation(raw);
    let name = operation.name();
    let found = super::OPERATIONS.iter().find(|definition| definition.name == name);
    match found.map_or(Ok(()), |definition| (definition.verifier)(operation)) {
        Ok(()) => MlirLogicalResult { value: 1 },
        Err(message) => {
            // SAFETY: MLIR passes a live operation; the message is copied.
            unsafe { fuseboxEmitError(raw, string_ref(&message)) };
            MlirLogicalResult { value: 0 }
        }
    }
}
