//! The stages in order.

use crate::error::LoweringError;
use crate::llvm::{FileKind, Machine, Module};
use crate::mlir::source::Source;
use crate::translate::{Traits, Translation};
use crate::{Code, KernelSource, Stage, Stages, Target, inline, optimize, ptx, symbols};

/// Compiles a batch of kernels to one piece of code.
///
/// # Errors
/// If a kernel's IR is invalid or uses what the target does not have, or if the target does not exist.
pub fn compile(kernels: &[KernelSource], target: &Target, stages: &mut dyn Stages) -> Result<Code, LoweringError> {
    if stages.wants(Stage::Mlir) {
        let text: Vec<&str> = kernels.iter().map(|kernel| kernel.functions.as_str()).collect();
        stages.stage(Stage::Mlir, &text.join("\n"));
    }
    let unknown = |reason| LoweringError::Target { target: target.to_string(), reason };
    ptx::check(target).map_err(unknown)?;
    let machine = Machine::new(target).map_err(unknown)?;
    let module = Module::new("kernels");
    machine.prepare(&module);
    let mut translation = Translation::new(module, target, Traits::of(target));
    let mut lowered = stages.wants(Stage::MlirLowered).then(String::new);
    for kernel in kernels {
        let source = lower(kernel, target)?;
        if let Some(text) = &mut lowered {
            text.push_str(&source.operation().text());
        }
        translation.add_kernel(kernel, &source)?;
    }
    if let Some(text) = lowered {
        stages.stage(Stage::MlirLowered, &text);
    }
    translation.add_math()?;
    generate(translation, &machine, target, stages)
}

/// Says that this process will generate code for no other target, once and before anything is compiled. Some of LLVM's
/// settings hold for the whole process; without this they suit all targets.
pub fn dedicate(target: &Target) {
    if matches!(target, Target::Cpu | Target::Simt) {
        crate::llvm::disable_strength_reduction();
    }
}

/// Text that a person wrote, in any form MLIR reads, in the generic form that kernels have, with the places it was read
/// from. MLIR's parser recurses and trusts what it reads: this is for text of one's own, not for a plugin's.
///
/// # Errors
/// If it is not valid; the kernel is `name`.
pub fn generic_form(name: &str, functions: &str) -> Result<String, LoweringError> {
    let source = Source::parse_own(name, functions);
    let invalid = |diagnostics| LoweringError::Invalid { kernel: name.into(), diagnostics };
    source.map(|source| source.generic_form()).map_err(invalid)
}

/// Parses and verifies a kernel's IR, as [`compile`] does before anything else: for whoever wants to know early
/// whether the writer of `functions` is at fault.
///
/// # Errors
/// What MLIR says about it.
pub fn verify(kernel: &str, functions: &str) -> Result<(), LoweringError> {
    let invalid = |diagnostics| LoweringError::Invalid { kernel: kernel.into(), diagnostics };
    Source::parse(kernel, functions).map_err(invalid).map(drop)
}

/// Parses and verifies one kernel and does what is done in MLIR.
fn lower(kernel: &KernelSource, target: &Target) -> Result<Source, LoweringError> {
    let invalid = |diagnostics| LoweringError::Invalid { kernel: kernel.entry.clone(), diagnostics };
    let source = Source::parse(&kernel.entry, &kernel.functions).map_err(invalid)?;
    source.merge_equal_operations().map_err(invalid)?;
    inline::inline_calls(&source, target);
    Ok(source)
}

fn generate(
    translation: Translation,
    machine: &Machine,
    target: &Target,
    stages: &mut dyn Stages,
) -> Result<Code, LoweringError> {
    let module = &translation.llvm;
    if stages.wants(Stage::LlvmUnoptimized) {
        stages.stage(Stage::LlvmUnoptimized, &module.text());
    }
    module.verify().map_err(LoweringError::Llvm)?;
    machine.optimize(module, &optimize::passes(target)).map_err(LoweringError::Llvm)?;
    if stages.wants(Stage::Llvm) {
        stages.stage(Stage::Llvm, &module.text());
    }
    let object = matches!(target, Target::Cpu | Target::Simt);
    if stages.wants(Stage::Assembly) || !object {
        // Generating code changes the module, but not what it means; a second time starts from there.
        let bytes = machine.emit(module, FileKind::Assembly).map_err(LoweringError::Llvm)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if stages.wants(Stage::Assembly) {
            stages.stage(Stage::Assembly, &text);
        }
        match target {
            Target::Nvptx { .. } => return ptx::checked(text, target).map(Code::Ptx),
            Target::Amdgpu { .. } => return Ok(Code::Assembly(text)),
            Target::Cpu | Target::Simt => {}
        }
    }
    let bytes = machine.emit(module, FileKind::Object).map_err(LoweringError::Llvm)?;
    symbols::check(&bytes)?;
    Ok(Code::Object { bytes, sites: translation.sites })
}
