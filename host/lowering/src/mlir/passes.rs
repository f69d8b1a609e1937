//! MLIR's passes on a kernel, between two stages.

use std::sync::Once;

use fusebox_core::ir::Function;
use melior::ir::Module;
use melior::pass::PassManager;
use melior::utility;

use crate::error::{Diagnostic, LoweringError};
use crate::verify::verify_stage;
use crate::{Rewritten, Stage, launch, mlir};

unsafe extern "C" {
    /// Registers the passes that pipelines can name (`mlir/passes.cpp`).
    fn fusebox_register_passes();
}

/// Registers the passes that pipelines can name, once per process.
pub(super) fn register_passes() {
    static REGISTERED: Once = Once::new();
    // SAFETY: called once.
    REGISTERED.call_once(|| unsafe { fusebox_register_passes() });
}

/// A pipeline of MLIR's passes, and the stage after which lowering runs this pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MlirPasses {
    stage: Stage,
    /// The pipeline in MLIR's notation, including the kind of operation that it runs on:
    /// `builtin.module(canonicalize,cse)`.
    pipeline: String,
}

impl MlirPasses {
    /// Reads `STAGE=PIPELINE`.
    ///
    /// # Errors
    /// If the kernel IR has no stage with this name, or if the pipeline is invalid for MLIR.
    pub fn parse(text: &str) -> Result<MlirPasses, LoweringError> {
        let stage_of = |name: &str| Stage::OF_KERNEL_IR.into_iter().find(|it| it.name() == name);
        let parts = text.split_once('=').and_then(|(stage, pipeline)| Some((stage_of(stage)?, pipeline)));
        let Some((stage, pipeline)) = parts else {
            return Err(LoweringError::Stage(format!(
                "write MLIR passes as STAGE='builtin.module(…)', where STAGE is one of {}, not `{text}`",
                Stage::OF_KERNEL_IR.map(Stage::name).join(", ")
            )));
        };
        let passes = MlirPasses { stage, pipeline: pipeline.into() };
        let context = mlir::context();
        passes.manager(&context).map(|_| passes.clone())
    }

    /// Returns the stage after which lowering runs the passes.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Runs the passes on the functions of a kernel. MLIR verifies the functions after each pass.
    ///
    /// # Errors
    /// If a pass fails, or if the result is not kernel IR. The error has MLIR's diagnostics.
    pub fn run(&self, kernel: &str, functions: &mut Vec<Function>) -> Result<(), LoweringError> {
        let text: String = functions.iter().map(Function::to_string).collect();
        let context = mlir::context();
        let failed = |diagnostics| self.failed(kernel, diagnostics);
        let module = mlir::parsed(&context, kernel, &text).map_err(failed)?;
        let mut module = Module::from_operation(module).ok_or_else(|| {
            let message = "the kernel's text is not one module".into();
            failed(vec![Diagnostic { location: kernel.into(), message }])
        })?;
        let manager = self.manager(&context)?;
        if let Err(error) = manager.run(&mut module) {
            let mut diagnostics = mlir::reported(kernel);
            if diagnostics.is_empty() {
                diagnostics.push(Diagnostic { location: kernel.into(), message: error.to_string() });
            }
            return Err(failed(diagnostics));
        }
        let text = mlir::generic(&module.as_operation(), kernel);
        let rewritten = launch::parse_generic(kernel, &text).and_then(|functions| {
            verify_stage(kernel, &functions)?;
            Ok(functions)
        });
        *functions = rewritten.map_err(|error| match error {
            LoweringError::Invalid { diagnostics, .. } => failed(diagnostics),
            other => other,
        })?;
        Ok(())
    }

    /// Runs the passes in `all` that belong to the kernel's current stage, in the order of `all`.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run).
    pub fn run_all(all: &[MlirPasses], kernel: &mut Rewritten<'_>) -> Result<(), LoweringError> {
        let of_stage = all.iter().filter(|passes| passes.stage == kernel.stage);
        of_stage.into_iter().try_for_each(|passes| passes.run(kernel.kernel, kernel.functions))
    }

    fn manager<'c>(&self, context: &'c melior::Context) -> Result<PassManager<'c>, LoweringError> {
        register_passes();
        let manager = PassManager::new(context);
        match utility::parse_pass_pipeline(manager.as_operation_pass_manager(), &self.pipeline) {
            Ok(()) => Ok(manager),
            Err(error) => Err(LoweringError::Stage(format!(
                "`{}` is no pipeline of MLIR passes: {}",
                self.pipeline,
                error.to_string().trim_end()
            ))),
        }
    }

    fn failed(&self, kernel: &str, diagnostics: Vec<Diagnostic>) -> LoweringError {
        LoweringError::MlirPasses { kernel: kernel.into(), stage: self.stage.name(), diagnostics }
    }
}
