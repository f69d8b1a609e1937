//! The LLVM module of a batch, written by the lowering of the target.

use crate::error::LoweringError;
use crate::llvm::{Module, Val};
use crate::stages::{Facts, KernelFunctions};
use crate::targets::{Lowering, TargetInfo};
use crate::upstream::Upstream;
use crate::write::Translation;
use crate::{Composite, Stage, Stages};

/// A module that is being written.
pub(crate) struct BatchModule<'t> {
    /// fusebox's own writer. The writer holds the module, and writes composites for all lowerings.
    writer: Translation<'t>,
    /// The lowering `mlir`, if it writes the kernels.
    upstream: Option<Upstream<'t>>,
}

impl<'t> BatchModule<'t> {
    pub(crate) fn new(module: Module, target: &'t TargetInfo, stages: &dyn Stages) -> Self {
        let upstream = match target.lowering {
            Lowering::Fusebox => None,
            Lowering::Mlir => Some(Upstream::new(target, stages.wants(Stage::LlvmDialect))),
        };
        BatchModule { writer: Translation::new(module, target), upstream }
    }

    /// Adds a kernel. Only composites can call a kernel that is not visible.
    pub(crate) fn add_kernel(
        &mut self,
        kernel: &KernelFunctions,
        facts: &Facts<'_>,
        is_visible: bool,
    ) -> Result<(), LoweringError> {
        let Some(upstream) = &mut self.upstream else { return self.writer.add_kernel(kernel, facts, is_visible) };
        let added = upstream.add_kernel(&self.writer.llvm, kernel, facts, is_visible)?;
        self.writer.adopt_kernel(kernel, facts, is_visible, (added.body, added.past_caches));
        Ok(())
    }

    /// Adds composites. The kernels that the composites call must already be in the module.
    pub(crate) fn add_composites(&mut self, composites: &[Composite]) -> Result<(), LoweringError> {
        self.writer.add_composites(composites)
    }

    /// Adds the math functions that kernels use.
    pub(crate) fn add_math(&mut self) -> Result<(), LoweringError> {
        match &mut self.upstream {
            None => self.writer.add_math(),
            Some(upstream) => upstream.add_math(&self.writer.llvm),
        }
    }

    /// Adds the vector versions of math functions that LLVM's vectoriser has chosen, and returns
    /// them.
    pub(crate) fn add_vector_math(&mut self) -> Result<Vec<Val>, LoweringError> {
        match &mut self.upstream {
            None => self.writer.add_vector_math(),
            Some(upstream) => upstream.add_vector_math(&self.writer.llvm),
        }
    }

    pub(crate) fn llvm(&self) -> &Module {
        &self.writer.llvm
    }

    /// Returns the kernels and math functions in MLIR's dialect `llvm`, if the lowering uses this
    /// dialect and the caller has requested the text.
    pub(crate) fn dialect_text(&self) -> Option<&str> {
        self.upstream.as_ref().and_then(|upstream| upstream.text.as_deref())
    }

    /// Returns the locations of operations that report to the simulator.
    pub(crate) fn into_sites(self) -> Vec<String> {
        self.writer.sites
    }
}
