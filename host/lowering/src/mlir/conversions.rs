//! MLIR's conversions of kernels to its dialect `llvm`, and its translation of this dialect to LLVM
//! IR.

use melior::Context;
use melior::ir::BlockLike;
use melior::ir::Module;
use melior::ir::operation::{OperationLike, OperationPrintingFlags};
use melior::pass::PassManager;
use melior::utility;
use mlir_sys::*;

use super::passes::register_passes;
use crate::error::Diagnostic;
use crate::{llvm, mlir};

unsafe extern "C" {
    /// Adds the translations of the dialects `builtin` and `llvm` (`mlir/passes.cpp`).
    fn fusebox_insert_translations(registry: MlirDialectRegistry);
    /// Restores the loop annotations and overflow flags that MLIR's conversions drop
    /// (`mlir/passes.cpp`).
    fn fusebox_annotate_loops(module: MlirOperation);
}

/// MLIR's conversion passes, in order.
const PIPELINE: &str = "builtin.module(convert-scf-to-cf,convert-vector-to-llvm,convert-math-to-llvm,\
convert-arith-to-llvm,convert-cf-to-llvm,convert-func-to-llvm,reconcile-unrealized-casts)";

/// Converts the kernels of a batch to LLVM IR.
pub(crate) struct Conversions {
    context: Context,
}

/// A module in the dialect `llvm`.
pub(crate) struct Converted<'c> {
    module: Module<'c>,
    name: String,
}

impl Conversions {
    pub(crate) fn new() -> Self {
        register_passes();
        let context = mlir::context();
        let registry = melior::dialect::DialectRegistry::new();
        // SAFETY: the registry is alive.
        unsafe { fusebox_insert_translations(registry.to_raw()) };
        context.append_dialect_registry(&registry);
        Conversions { context }
    }

    /// Converts functions to the dialect `llvm`, for the machine of an LLVM module. `name`
    /// identifies the functions in error messages.
    ///
    /// # Errors
    /// MLIR's diagnostics.
    pub(crate) fn to_llvm_dialect(
        &self,
        name: &str,
        functions: &str,
        llvm: &llvm::Module,
    ) -> Result<Converted<'_>, Vec<Diagnostic>> {
        let [triple, layout] = llvm.machine().map(|text| fusebox_core::ir::Attribute::str(text).to_string());
        let attributes = format!("attributes {{llvm.target_triple = {triple}, llvm.data_layout = {layout}}}");
        let text = format!("module {attributes} {{\n{functions}}}\n");
        let module = mlir::parsed_module(&self.context, name, text)?;
        let fault = |message: String| vec![Diagnostic { location: name.into(), message }];
        let module = Module::from_operation(module).ok_or_else(|| fault("the text is not one module".into()))?;
        let mut converted = Converted { module, name: name.into() };
        let manager = PassManager::new(&self.context);
        utility::parse_pass_pipeline(manager.as_operation_pass_manager(), PIPELINE)
            .map_err(|error| fault(error.to_string()))?;
        manager.run(&mut converted.module).map_err(|error| converted.failure(error.to_string()))?;
        // SAFETY: the module is alive.
        unsafe { fusebox_annotate_loops(converted.module.as_operation().to_raw()) };
        Ok(converted)
    }
}

impl Converted<'_> {
    /// Returns the functions as text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let mut next = self.module.body().first_operation();
        while let Some(operation) = next {
            let flags = OperationPrintingFlags::new().use_local_scope();
            text.push_str(&operation.to_string_with_flags(flags).unwrap_or_default());
            text.push('\n');
            next = operation.next_in_block();
        }
        text
    }

    /// Translates the module to LLVM IR, and moves its functions to an LLVM module.
    ///
    /// # Errors
    /// MLIR's diagnostics.
    pub(crate) fn link_into(self, llvm: &llvm::Module) -> Result<(), Vec<Diagnostic>> {
        // SAFETY: the module is alive. The result is null or a module of the given context, which
        // `link` takes over.
        let linked = unsafe {
            let operation = self.module.as_operation().to_raw();
            let translated = mlirTranslateModuleToLLVMIR(operation, llvm.context().cast());
            if translated.is_null() {
                Err("the translation to LLVM IR fails".into())
            } else {
                llvm.link(translated.cast())
            }
        };
        linked.map_err(|message| self.failure(message))
    }

    /// Returns MLIR's diagnostics, or `message` if there are none.
    fn failure(&self, message: String) -> Vec<Diagnostic> {
        let mut diagnostics = mlir::reported(&self.name);
        if diagnostics.is_empty() {
            diagnostics.push(Diagnostic { location: self.name.clone(), message });
        }
        diagnostics
    }
}
