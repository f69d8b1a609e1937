//! Kernel IR as text, parsed and verified.

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

use melior::Context;
use melior::diagnostic::DiagnosticSeverity;
use mlir_sys::*;

use super::{Block, Operation, string_ref};
use crate::dialect;
use crate::error::Diagnostic;

/// Contexts that no source is using; making one costs more than translating a small kernel.
static CONTEXTS: Mutex<Vec<FreeContext>> = Mutex::new(Vec::new());

/// What stands before the functions of a kernel.
pub(super) const PROLOGUE: &str = "module {";

/// A context that nothing refers to.
struct FreeContext(Context);

// SAFETY: a context without threads of its own may go from thread to thread as long as one at a time uses it.
unsafe impl Send for FreeContext {}

thread_local! {
    /// What MLIR has reported on this thread since it was last asked.
    static REPORTED: RefCell<Vec<Diagnostic>> = const { RefCell::new(Vec::new()) };
}

/// The parser loads a dialect when it meets one of its operations: loading all of them takes longer than parsing a small
/// kernel.
fn new_context() -> Context {
    let context = Context::new_with_threading(false);
    // SAFETY: registry and context are alive; the context copies what the registry holds; these handles have no
    // wrapper.
    unsafe {
        let registry = mlirDialectRegistryCreate();
        for dialect in [
            mlirGetDialectHandle__func__(),
            mlirGetDialectHandle__scf__(),
            mlirGetDialectHandle__arith__(),
            mlirGetDialectHandle__tensor__(),
            mlirGetDialectHandle__gpu__(),
            mlirGetDialectHandle__math__(),
            mlirGetDialectHandle__complex__(),
            mlirGetDialectHandle__vector__(),
        ] {
            mlirDialectHandleInsertDialect(dialect, registry);
        }
        mlirContextAppendDialectRegistry(context.to_raw(), registry);
        mlirDialectRegistryDestroy(registry);
    }
    dialect::register(&context);
    context.attach_diagnostic_handler(|diagnostic| {
        if matches!(diagnostic.severity(), DiagnosticSeverity::Error) {
            let location = diagnostic.location().to_string();
            let location = location.strip_prefix("loc(").and_then(|text| text.strip_suffix(')')).unwrap_or(&location);
            let found = Diagnostic { location: location.replace('"', ""), message: diagnostic.to_string() };
            REPORTED.with_borrow_mut(|reported| reported.push(found));
        }
        true
    });
    context
}

fn take_context() -> Context {
    let free = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner).pop();
    free.map_or_else(new_context, |free| free.0)
}

/// A parsed and verified module of `func.func` operations.
pub(crate) struct Source {
    operation: MlirOperation,
    /// Given back when the operation is gone.
    context: Option<Context>,
}

impl Source {
    /// Parses and verifies a kernel, whoever wrote it; `name` stands for the file in locations.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Source, Vec<Diagnostic>> {
        super::grammar::check(name, text).map_err(|fault| vec![fault])?;
        let source = Source::parse_own(name, text)?;
        super::sizes::check(&source).map_err(|fault| vec![fault])?;
        Ok(source)
    }

    /// Parses and verifies text that fusebox itself has written.
    pub(crate) fn parse_own(name: &str, text: &str) -> Result<Source, Vec<Diagnostic>> {
        let wrapped = format!("{PROLOGUE}{text}\n}}\n");
        let name = name.replace('"', "");
        // The parser wants text and name terminated by a zero byte.
        let (terminated, name) = (format!("{wrapped}\0"), format!("{name}\0"));
        let context = take_context();
        REPORTED.with_borrow_mut(Vec::clear);
        // SAFETY: the context is alive; both strings are zero-terminated beyond their length.
        let operation = unsafe {
            mlirOperationCreateParse(
                context.to_raw(),
                string_ref(&terminated[..wrapped.len()]),
                string_ref(&name[..name.len() - 1]),
            )
        };
        let source = Source { operation, context: Some(context) };
        match source.operation.ptr.is_null() {
            true => Err(REPORTED.with_borrow_mut(std::mem::take)),
            false => Ok(source),
        }
    }

    /// The functions in generic form, with the places they were read from.
    pub(crate) fn generic_form(&self) -> String {
        self.functions().map(|function| function.generic_text() + "\n").collect()
    }

    pub(crate) fn operation(&self) -> Operation {
        Operation(self.operation)
    }

    pub(crate) fn functions(&self) -> impl Iterator<Item = Operation> {
        self.operation().block(0).into_iter().flat_map(Block::operations)
    }

    /// Merges equal operations without effects. To MLIR two tensors without elements are one; here each is memory of its
    /// own, so each gets a number.
    pub(crate) fn merge_equal_operations(&self) -> Result<(), Vec<Diagnostic>> {
        self.number_empty_tensors();
        // SAFETY: the pass manager lives for this block and owns the pass; the module and its context are alive.
        let done = unsafe {
            let manager = mlirPassManagerCreate(mlirOperationGetContext(self.operation));
            mlirPassManagerEnableVerifier(manager, false);
            mlirPassManagerAddOwnedPass(manager, mlirCreateTransformsCSE());
            let done = mlirPassManagerRunOnOp(manager, self.operation);
            mlirPassManagerDestroy(manager);
            done
        };
        if done.value != 0 { Ok(()) } else { Err(REPORTED.with_borrow_mut(std::mem::take)) }
    }

    fn number_empty_tensors(&self) {
        let mut number = 0;
        self.operation().walk(&mut |op| {
            if op.name() == "tensor.empty" {
                op.set_number("fusebox.memory", number);
                number += 1;
            }
        });
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        if !self.operation.ptr.is_null() {
            // SAFETY: this is the owner; handles are not used after it.
            unsafe { mlirOperationDestroy(self.operation) }
        }
        if let Some(context) = self.context.take() {
            CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner).push(FreeContext(context));
        }
    }
}
