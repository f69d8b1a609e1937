//! Functions that call MLIR itself, which the default lowering does not use. The functions read
//! text that a person wrote, check kernel IR, and run MLIR's own passes on kernels.

mod conversions;
mod passes;

use std::cell::RefCell;
use std::ffi::CString;

use melior::Context;
use melior::diagnostic::DiagnosticSeverity;
use melior::dialect::DialectRegistry;
use melior::ir::operation::{Operation, OperationLike, OperationPrintingFlags};
use melior::ir::{BlockLike, RegionLike};
use mlir_sys::*;

use crate::error::{Diagnostic, LoweringError};

pub(crate) use conversions::Conversions;
pub use passes::MlirPasses;

thread_local! {
    /// MLIR's errors on this thread that [`reported`] has not returned yet.
    static REPORTED: RefCell<Vec<Diagnostic>> = const { RefCell::new(Vec::new()) };
}

unsafe extern "C" {
    /// Adds the dialect `xla_gpu` (`mlir/xla_gpu.cpp`).
    fn fusebox_insert_xla_gpu(registry: MlirDialectRegistry);
}

/// Creates a context with MLIR's dialects and `xla_gpu`. The context collects errors for
/// [`reported`].
fn context() -> Context {
    let context = Context::new_with_threading(false);
    let registry = DialectRegistry::new();
    // SAFETY: the registry is alive; these handles have no wrapper.
    unsafe {
        for dialect in [
            mlirGetDialectHandle__func__(),
            mlirGetDialectHandle__scf__(),
            mlirGetDialectHandle__arith__(),
            mlirGetDialectHandle__tensor__(),
            mlirGetDialectHandle__gpu__(),
            mlirGetDialectHandle__math__(),
            mlirGetDialectHandle__complex__(),
            mlirGetDialectHandle__vector__(),
            mlirGetDialectHandle__llvm__(),
            mlirGetDialectHandle__amx__(),
        ] {
            mlirDialectHandleInsertDialect(dialect, registry.to_raw());
        }
        fusebox_insert_xla_gpu(registry.to_raw());
    }
    context.append_dialect_registry(&registry);
    // Unregistered dialects are allowed, because the kernel IR's own parser reports their
    // operations with better messages than MLIR.
    context.set_allow_unregistered_dialects(true);
    context.attach_diagnostic_handler(|diagnostic| {
        if matches!(diagnostic.severity(), DiagnosticSeverity::Error) {
            let location = diagnostic.location().to_string();
            let location = location.strip_prefix("loc(").and_then(|text| text.strip_suffix(')')).unwrap_or(&location);
            let diagnostic = Diagnostic { location: location.replace('"', ""), message: diagnostic.to_string() };
            REPORTED.with_borrow_mut(|reported| reported.push(diagnostic));
        }
        true
    });
    REPORTED.with_borrow_mut(Vec::clear);
    context
}

/// Returns and clears MLIR's errors. For a text that comes from no file, MLIR's locations have the
/// file name `-`; the returned locations have `name` instead.
fn reported(name: &str) -> Vec<Diagnostic> {
    let mut diagnostics = REPORTED.with_borrow_mut(std::mem::take);
    for diagnostic in &mut diagnostics {
        if let Some(place) = diagnostic.location.strip_prefix("-:") {
            diagnostic.location = format!("{name}:{place}");
        }
    }
    diagnostics
}

/// Parses and verifies functions as a module. An error has MLIR's diagnostics, with `name` as the
/// file.
fn parsed<'c>(context: &'c Context, name: &str, functions: &str) -> Result<Operation<'c>, Vec<Diagnostic>> {
    parsed_module(context, name, format!("module {{{functions}\n}}\n"))
}

/// Parses and verifies a module. An error has MLIR's diagnostics, with `name` as the file.
fn parsed_module<'c>(context: &'c Context, name: &str, module: String) -> Result<Operation<'c>, Vec<Diagnostic>> {
    let wrapped = CString::new(module);
    let (Ok(wrapped), Ok(file)) = (wrapped, CString::new(name.replace('"', ""))) else {
        return Err(vec![Diagnostic { location: name.into(), message: "there is a zero byte in it".into() }]);
    };
    // SAFETY: the context is alive; both strings are zero-terminated; a null operation is filtered
    // out, and we own any other.
    let module = unsafe {
        let raw = mlirOperationCreateParse(
            context.to_raw(),
            mlirStringRefCreateFromCString(wrapped.as_ptr()),
            mlirStringRefCreateFromCString(file.as_ptr()),
        );
        (!raw.ptr.is_null()).then(|| Operation::from_raw(raw))
    };
    module.ok_or_else(|| reported(name))
}

/// Prints the functions of a module in generic form, each operation with its location.
fn generic<'c>(module: &impl OperationLike<'c, 'c>, name: &str) -> String {
    let mut text = String::new();
    let body = module.region(0).ok().and_then(|region| region.first_block());
    let mut next = body.and_then(|block| block.first_operation());
    while let Some(function) = next {
        let flags = OperationPrintingFlags::new().print_generic_operation_form().enable_debug_info(true, false);
        if let Ok(function) = function.to_string_with_flags(flags.use_local_scope()) {
            text.push_str(&function);
            text.push('\n');
        }
        next = function.next_in_block();
    }
    text.replace("loc(\"-\":", &format!("loc({name:?}:"))
}

/// Converts text that a person wrote, in any form that MLIR reads, to MLIR's generic form with
/// source locations. MLIR's parser recurses and trusts its input, so do not call this function with
/// a plugin's text.
///
/// # Errors
/// If the text is not valid. The error names the kernel `name`.
pub fn generic_form(name: &str, functions: &str) -> Result<String, LoweringError> {
    let context = context();
    let invalid = |diagnostics| LoweringError::Invalid { kernel: name.into(), diagnostics };
    parsed(&context, name, functions).map(|module| generic(&module, name)).map_err(invalid)
}

/// Checks that MLIR parses and verifies a text.
///
/// # Errors
/// MLIR's diagnostics.
pub fn check_with_mlir(name: &str, functions: &str) -> Result<(), LoweringError> {
    generic_form(name, functions).map(drop)
}
