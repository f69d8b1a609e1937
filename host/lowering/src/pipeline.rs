//! Runs the stages in order.

use std::collections::BTreeSet;

use fusebox_core::ir;

use crate::batch::BatchModule;
use crate::error::LoweringError;
use crate::llvm::{FileKind, Machine, Module, VectorLoops};
use crate::optimize::{FunctionPasses, Passes};
use crate::stages::{self, KernelFunctions};
use crate::targets::{Lowering, TargetInfo};
use crate::verify::{invalid, verify, verify_stage};
use crate::{
    Batch, Code, Composite, KernelSource, MlirPasses, Rewritten, Stage, Stages, Target, launch, optimize, symbols,
    weight,
};

/// The stages that rewrite kernel IR.
const PASSES: [Stage; 5] = [Stage::Inlined, Stage::Memory, Stage::Loops, Stage::Indices, Stage::Scalars];

/// Compiles kernels to a single object or text.
///
/// # Errors
/// If a kernel's IR is invalid or uses a feature that the target lacks, or if the target does not
/// exist.
pub fn compile(kernels: &[KernelSource], target: &Target, stages: &mut dyn Stages) -> Result<Code, LoweringError> {
    compile_batch(&Batch { kernels, composites: &[], inner: &BTreeSet::new() }, target, stages)
}

/// Compiles kernels and composites to a single object or text.
///
/// # Errors
/// The errors of [`compile`], and an error if a composite does not match the kernels that it calls.
pub fn compile_batch(batch: &Batch<'_>, target: &Target, stages: &mut dyn Stages) -> Result<Code, LoweringError> {
    let staged = batch.kernels.iter().map(|kernel| StagedKernel::of(kernel, target, stages));
    let staged = staged.collect::<Result<Vec<StagedKernel>, LoweringError>>()?;
    let Batch { composites, inner, .. } = *batch;
    compile_staged(&StagedBatch { kernels: staged.iter().collect(), composites, inner }, target, stages)
}

/// A kernel that has passed the stages of kernel IR.
pub struct StagedKernel<'k> {
    source: &'k KernelSource,
    functions: KernelFunctions,
}

impl<'k> StagedKernel<'k> {
    /// Runs the stages of kernel IR on a kernel.
    ///
    /// # Errors
    /// If the kernel's IR is invalid, or uses a feature that the target lacks.
    pub fn of(source: &'k KernelSource, target: &Target, stages: &mut dyn Stages) -> Result<Self, LoweringError> {
        let functions = passed(source, target.info(), Stage::Kernel, &PASSES, stages)?;
        Ok(StagedKernel { source, functions })
    }

    /// Estimates how long LLVM takes for the kernel: about the number of machine instructions.
    pub fn weight(&self, target: &Target) -> usize {
        self.functions.functions.iter().map(|function| weight::of_function(function, target.info())).sum()
    }
}

/// Kernels and composites that are compiled together, after the stages of kernel IR.
pub struct StagedBatch<'b> {
    /// All kernels, including the kernels that composites call.
    pub kernels: Vec<&'b StagedKernel<'b>>,
    /// Functions that call several of the batch's kernels.
    pub composites: &'b [Composite],
    /// Names of the kernels that only composites call. The compiled code does not export these.
    pub inner: &'b BTreeSet<String>,
}

/// Compiles kernels that have passed the stages of kernel IR to a single object or text.
///
/// # Errors
/// If the target does not exist, or if a composite does not match the kernels that it calls.
pub fn compile_staged(
    batch: &StagedBatch<'_>,
    target: &Target,
    stages: &mut dyn Stages,
) -> Result<Code, LoweringError> {
    let info = target.info();
    let (machine, mut module) = started(info, stages)?;
    for StagedKernel { source, functions } in &batch.kernels {
        module.add_kernel(functions, &source.facts(), !batch.inner.contains(&source.entry))?;
    }
    module.add_composites(batch.composites)?;
    module.add_math()?;
    generate(module, &machine, info, stages)
}

/// Lowers a kernel from stage `from` to stage `to`, and runs MLIR's passes between the stages.
/// Returns the kernel's text at `to`.
///
/// # Errors
/// The errors of [`compile`]. It is also an error if `to` comes before `from`, if `from` is not a
/// stage of the kernel IR, or if passes belong to a stage outside of this range.
pub fn lower(
    kernel: &KernelSource,
    target: &Target,
    from: Stage,
    to: Stage,
    mlir_passes: &[MlirPasses],
) -> Result<String, LoweringError> {
    if from > Stage::Scalars {
        return Err(LoweringError::Stage(format!(
            "stage {} is not kernel IR and cannot be entered; these can: {}",
            from.name(),
            Stage::OF_KERNEL_IR.map(Stage::name).join(", ")
        )));
    }
    if to < from {
        return Err(LoweringError::Stage(format!("stage {} comes before {}", to.name(), from.name())));
    }
    if let Some(unused) = mlir_passes.iter().find(|passes| !(from..=to).contains(&passes.stage())) {
        let (stage, from, to) = (unused.stage().name(), from.name(), to.name());
        return Err(LoweringError::Stage(format!("MLIR passes after stage {stage} do not run from {from} to {to}")));
    }
    let info = target.info();
    if to == Stage::LlvmDialect && info.lowering != Lowering::Mlir {
        return Err(LoweringError::Stage(
            "only the lowering `mlir` has the stage llvm-dialect: add --lowering mlir".into(),
        ));
    }
    let passes: Vec<Stage> = PASSES.into_iter().filter(|&stage| from < stage && stage <= to).collect();
    let mut only = Only { wanted: to, text: String::new(), mlir_passes };
    let functions = passed(kernel, info, from, &passes, &mut only)?;
    if to <= Stage::Scalars {
        return Ok(functions.text(info));
    }
    let (machine, mut module) = started(info, &only)?;
    module.add_kernel(&functions, &kernel.facts(), true)?;
    module.add_math()?;
    generate(module, &machine, info, &mut only)?;
    Ok(only.text)
}

/// Creates LLVM's machine for a target, and an empty module for kernels.
fn started<'i>(info: &'i TargetInfo, stages: &dyn Stages) -> Result<(Machine, BatchModule<'i>), LoweringError> {
    let refused = |reason| LoweringError::Target { target: info.device.name.clone(), reason };
    if info.lowering == Lowering::Mlir && !info.is_cpu() {
        return Err(refused("the lowering `mlir` is only for the cpu; leave out --lowering".into()));
    }
    let checked = (info.backend.check)(info).and_then(|()| Machine::new(&info.backend, info.math.flushes));
    let machine = checked.map_err(refused)?;
    let mut module = Module::new("kernels");
    machine.prepare(&module);
    if info.states_origins {
        module.record_lines();
    }
    Ok((machine, BatchModule::new(module, info, stages)))
}

/// Returns the text of a kernel before lowering, including its launch.
/// [`read_kernel`](crate::read_kernel) reads this text.
pub fn kernel_text(kernel: &KernelSource) -> String {
    let mut functions = kernel.functions.clone();
    let entry = functions.iter_mut().find(|function| function.name == kernel.entry);
    entry.into_iter().for_each(|entry| launch::describe(entry, kernel));
    functions.iter().map(ir::Function::to_string).collect()
}

/// Receives the texts of stages, and keeps the text of one stage.
struct Only<'p> {
    wanted: Stage,
    text: String,
    mlir_passes: &'p [MlirPasses],
}

impl Stages for Only<'_> {
    fn wants(&self, stage: Stage) -> bool {
        stage == self.wanted
    }

    fn stage(&mut self, _: Stage, text: &str) {
        text.clone_into(&mut self.text);
    }

    fn rewrite(&mut self, mut kernel: Rewritten<'_>) -> Result<(), LoweringError> {
        MlirPasses::run_all(self.mlir_passes, &mut kernel)
    }
}

/// Runs the stages `passes` on a kernel and returns the kernel's functions.
fn passed(
    kernel: &KernelSource,
    info: &TargetInfo,
    from: Stage,
    passes: &[Stage],
    stages: &mut dyn Stages,
) -> Result<KernelFunctions, LoweringError> {
    let facts = kernel.facts();
    let mut functions = verified(kernel, from)?;
    rewrite(from, kernel, &mut functions, stages)?;
    offer(Stage::Kernel, &functions, info, stages);
    for &stage in passes {
        functions = stages::advance(functions, stage, &facts, info).map_err(|error| error.in_kernel(&facts, info))?;
        rewrite(stage, kernel, &mut functions, stages)?;
        offer(stage, &functions, info, stages);
    }
    Ok(functions)
}

/// Lets the caller's [`Stages`] rewrite a kernel after a stage.
fn rewrite(
    stage: Stage,
    kernel: &KernelSource,
    functions: &mut KernelFunctions,
    stages: &mut dyn Stages,
) -> Result<(), LoweringError> {
    stages.rewrite(Rewritten { stage, kernel: &kernel.entry, functions: &mut functions.functions })?;
    entry_first(kernel, &mut functions.functions).map(drop)
}

fn offer(stage: Stage, functions: &KernelFunctions, info: &TargetInfo, stages: &mut dyn Stages) {
    if stages.wants(stage) {
        stages.stage(stage, &functions.text(info));
    }
}

/// Declares that this process generates code for this target only. Call this function once, before
/// the first compilation. Without a call of this function, the settings of LLVM that apply to the
/// whole process suit all targets.
pub fn dedicate(target: &Target) {
    if !target.info().is_gpu() {
        crate::llvm::disable_strength_reduction();
    }
}

/// Returns the checked functions of a kernel. The entry function comes first and has the launch as
/// attributes.
fn verified(kernel: &KernelSource, stage: Stage) -> Result<KernelFunctions, LoweringError> {
    match stage {
        Stage::Kernel => verify(&kernel.entry, &kernel.functions)?,
        _ => verify_stage(&kernel.entry, &kernel.functions)?,
    }
    let mut functions = kernel.functions.clone();
    launch::describe(entry_first(kernel, &mut functions)?, kernel);
    Ok(KernelFunctions { functions })
}

/// Moves the entry function to the front. Fails if there is no entry function.
fn entry_first<'f>(
    kernel: &KernelSource,
    functions: &'f mut [ir::Function],
) -> Result<&'f mut ir::Function, LoweringError> {
    match functions.iter().position(|function| function.name == kernel.entry) {
        Some(entry) => {
            functions[..=entry].rotate_right(1);
            Ok(&mut functions[0])
        }
        None => {
            let message = "there is no function of the kernel's name".into();
            Err(invalid(&kernel.entry, kernel.entry.clone(), message))
        }
    }
}

fn generate(
    mut batch: BatchModule<'_>,
    machine: &Machine,
    info: &TargetInfo,
    stages: &mut dyn Stages,
) -> Result<Code, LoweringError> {
    if let Some(text) = batch.dialect_text() {
        stages.stage(Stage::LlvmDialect, text);
    }
    batch.llvm().finish_lines();
    if stages.wants(Stage::LlvmUnoptimized) {
        stages.stage(Stage::LlvmUnoptimized, &batch.llvm().text());
    }
    batch.llvm().verify().map_err(LoweringError::Llvm)?;
    if stages.optimises() {
        optimised(batch.llvm(), machine, &info.passes).map_err(LoweringError::Llvm)?;
    }
    for function in batch.add_vector_math()? {
        machine.optimize_function(batch.llvm(), function, optimize::STRAIGHT).map_err(LoweringError::Llvm)?;
    }
    let module = batch.llvm();
    if stages.wants(Stage::Llvm) {
        stages.stage(Stage::Llvm, &module.text());
    }
    if stages.wants(Stage::Assembly) || info.backend.assembled.is_some() {
        // Code generation changes the module but keeps its meaning, so a second run may use the
        // changed module.
        let bytes = machine.emit(module, FileKind::Assembly).map_err(LoweringError::Llvm)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if stages.wants(Stage::Assembly) {
            stages.stage(Stage::Assembly, &text);
        }
        if let Some(assembled) = info.backend.assembled {
            return assembled(info, text);
        }
    }
    let bytes = machine.emit(module, FileKind::Object).map_err(LoweringError::Llvm)?;
    symbols::check(&bytes)?;
    Ok(Code::Object { bytes, sites: batch.into_sites() })
}

/// Runs LLVM's passes. Returns LLVM's message as the error.
fn optimised(module: &Module, machine: &Machine, passes: &Passes) -> Result<(), String> {
    machine.optimize(module, &passes.first)?;
    if let Some(FunctionPasses { scalar, around_vectors, between_vectors, vectorising, vectorised }) =
        &passes.of_functions
    {
        // One run over the module: each run over a function would set up LLVM's analyses again.
        let first = match module.functions().map(VectorLoops::of).min() {
            Some(VectorLoops::All) => between_vectors,
            Some(VectorLoops::Some) => around_vectors,
            Some(VectorLoops::None) | None => scalar,
        };
        machine.optimize(module, &format!("function({first})"))?;
        for function in module.functions() {
            let second = if VectorLoops::of(function) == VectorLoops::All { vectorised } else { vectorising };
            machine.optimize_function(module, function, second)?;
        }
    }
    passes.last.as_ref().map_or(Ok(()), |last| machine.optimize(module, last))
}
