//! Kernel IR as text, parsed and verified.

use std::cell::RefCell;

use melior::Context;
use melior::diagnostic::DiagnosticSeverity;
use melior::dialect::DialectHandle;
use mlir_sys::*;

use super::{Block, Operation, string_ref};
use crate::dialect;
use crate::error::Diagnostic;

thread_local! {
    /// MLIR's context with the dialects of the kernel IR; making one costs more than compiling a small kernel.
    static CONTEXT: Context = new_context();
    /// What MLIR has reported on this thread since it was last asked.
    static REPORTED: RefCell<Vec<Diagnostic>> = const { RefCell::new(Vec::new()) };
}

fn new_context() -> Context {
    let context = Context::new_with_threading(false);
    DialectHandle::func().load_dialect(&context);
    DialectHandle::scf().load_dialect(&context);
    DialectHandle::arith().load_dialect(&context);
    DialectHandle::tensor().load_dialect(&context);
    DialectHandle::gpu().load_dialect(&context);
    // SAFETY: the context is alive; these handles have no wrapper.
    unsafe {
        mlirDialectHandleLoadDialect(mlirGetDialectHandle__math__(), context.to_raw());
        mlirDialectHandleLoadDialect(mlirGetDialectHandle__complex__(), context.to_raw());
        mlirDialectHandleLoadDialect(mlirGetDialectHandle__vector__(), context.to_raw());
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

/// A parsed and verified module of `func.func` operations.
pub(crate) struct Source(MlirOperation);

impl Source {
    /// Parses and verifies `text`; `name` stands for the file in locations.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Source, Vec<Diagnostic>> {
        let wrapped = format!("module {{{text}\n}}\n");
        let name = name.replace('"', "");
        // The parser wants text and name terminated by a zero byte.
        let (terminated, name) = (format!("{wrapped}\0"), format!("{name}\0"));
        CONTEXT.with(|context| {
            REPORTED.with_borrow_mut(Vec::clear);
            // SAFETY: the context is alive; both strings are zero-terminated beyond their length.
            let raw = unsafe {
                mlirOperationCreateParse(
                    context.to_raw(),
                    string_ref(&terminated[..wrapped.len()]),
                    string_ref(&name[..name.len() - 1]),
                )
            };
            if raw.ptr.is_null() {
                return Err(REPORTED.with_borrow_mut(std::mem::take));
            }
            Ok(Source(raw))
        })
    }

    pub(crate) fn operation(&self) -> Operation {
        Operation(self.0)
    }

    pub(crate) fn functions(&self) -> impl Iterator<Item = Operation> {
        self.operation().block(0).into_iter().flat_map(Block::operations)
    }

    /// Merges equal operations without effects. To MLIR two tensors without elements are one; here each is memory of its
    /// own, so each gets a number.
    pub(crate) fn merge_equal_operations(&self) -> Result<(), Vec<Diagnostic>> {
        self.number_empty_tensors();
        CONTEXT.with(|context| {
            // SAFETY: the pass manager lives for this block and owns the pass; the module is alive.
            let done = unsafe {
                let manager = mlirPassManagerCreate(context.to_raw());
                mlirPassManagerEnableVerifier(manager, false);
                mlirPassManagerAddOwnedPass(manager, mlirCreateTransformsCSE());
                let done = mlirPassManagerRunOnOp(manager, self.0);
                mlirPassManagerDestroy(manager);
                done
            };
            if done.value != 0 { Ok(()) } else { Err(REPORTED.with_borrow_mut(std::mem::take)) }
        })
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
        // SAFETY: this is the owner; handles are not used after it.
        unsafe { mlirOperationDestroy(self.0) }
    }
}
