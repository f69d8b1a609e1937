//! What MLIR itself is asked for: to read text that a person wrote, in any form it knows, and to say whether a text is valid.

use std::cell::RefCell;
use std::ffi::CString;

use melior::Context;
use melior::diagnostic::DiagnosticSeverity;
use melior::ir::operation::{Operation, OperationLike, OperationPrintingFlags};
use melior::ir::{BlockLike, RegionLike};
use mlir_sys::*;

use crate::error::{Diagnostic, LoweringError};

thread_local! {
    /// What MLIR has reported on this thread since it was last asked.
    static REPORTED: RefCell<Vec<Diagnostic>> = const { RefCell::new(Vec::new()) };
}

/// Knows the dialects of the kernel IR. Operations of `xla_gpu`, which are fusebox's own, are taken as they are.
fn context() -> Context {
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
            mlirGetDialectHandle__llvm__(),
            mlirGetDialectHandle__amx__(),
        ] {
            mlirDialectHandleInsertDialect(dialect, registry);
        }
        mlirContextAppendDialectRegistry(context.to_raw(), registry);
        mlirDialectRegistryDestroy(registry);
    }
    context.set_allow_unregistered_dialects(true);
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

/// Calls `use_it` with the module that a text is; `name` stands for the file in places.
fn with_module<T>(name: &str, text: &str, use_it: impl FnOnce(&Operation<'_>) -> T) -> Result<T, LoweringError> {
    let context = context();
    REPORTED.with_borrow_mut(Vec::clear);
    let wrapped = CString::new(format!("module {{{text}\n}}\n"));
    let (Ok(wrapped), Ok(file)) = (wrapped, CString::new(name.replace('"', ""))) else {
        let diagnostic = Diagnostic { location: name.into(), message: "there is a zero byte in it".into() };
        return Err(LoweringError::Invalid { kernel: name.into(), diagnostics: vec![diagnostic] });
    };
    // SAFETY: the context is alive; both strings are zero-terminated; a null operation is filtered out and any other is
    // ours.
    let module = unsafe {
        let raw = mlirOperationCreateParse(
            context.to_raw(),
            mlirStringRefCreateFromCString(wrapped.as_ptr()),
            mlirStringRefCreateFromCString(file.as_ptr()),
        );
        (!raw.ptr.is_null()).then(|| Operation::from_raw(raw))
    };
    match module {
        Some(module) => Ok(use_it(&module)),
        None => {
            let mut diagnostics = REPORTED.with_borrow_mut(std::mem::take);
            for diagnostic in &mut diagnostics {
                if let Some(place) = diagnostic.location.strip_prefix("-:") {
                    diagnostic.location = format!("{name}:{place}");
                }
            }
            Err(LoweringError::Invalid { kernel: name.into(), diagnostics })
        }
    }
}

/// Text that a person wrote, in any form MLIR reads, in the generic form that kernels have, with the places it was read
/// from. MLIR's parser recurses and trusts what it reads: this is for text of one's own, not for a plugin's.
///
/// # Errors
/// If it is not valid; the kernel is `name`.
pub fn generic_form(name: &str, functions: &str) -> Result<String, LoweringError> {
    with_module(name, functions, |module| {
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
        // MLIR calls a text without a file `-`.
        text.replace("loc(\"-\":", &format!("loc({name:?}:"))
    })
}

/// Whether MLIR parses and verifies a text.
///
/// # Errors
/// What MLIR says about it.
pub fn check_with_mlir(name: &str, functions: &str) -> Result<(), LoweringError> {
    with_module(name, functions, |_| ())
}
