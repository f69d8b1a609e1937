//! One side of a comparison: the compiler of the side, and the module that it has compiled.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use fusebox_compiler::{Dump, Emitters, Options, Selected, Source};
use fusebox_lowering::{Lowering, MlirPasses, Stage};
use fusebox_runtime::{Access, CodeImage, Executable, Target};
use object::{Object, ObjectSection, SectionKind};

use super::report::{GpuKernelFigures, SideFigures};
use super::settings::ComparisonSettings;
use crate::roof::WorkAmount;
use crate::{WorkshopError, ptxas};

/// A side, as the user specifies it.
pub struct Side {
    /// The side as the user wrote it.
    pub name: String,
    /// The compiler of a side.
    pub compiler: SideCompiler,
    /// MLIR passes that run only for this side.
    pub mlir_passes: Vec<MlirPasses>,
    /// Lowering of this side's kernels. `None` if the side uses the lowering in the settings that
    /// both sides share.
    pub lowering: Option<Lowering>,
    /// Dump to which each phase of compilation writes its output. The side dumps the compilation of
    /// the whole program, but not those of single fusions.
    pub dump: Dump,
}

/// The compiler of a side.
pub enum SideCompiler {
    /// This fusebox program, with these emitters.
    Emitters(Emitters),
    /// The file of another fusebox program.
    Program(PathBuf),
}

/// A module compiled by a side.
pub struct CompiledSide {
    pub executable: Executable,
    pub figures: SideFigures,
    /// The kernels with their plans. `None` for another fusebox program, because only its
    /// executable is known.
    pub kernels: Option<Vec<Selected>>,
}

/// The stages that another fusebox program can print, with their names in its option `--emit`.
const ASKED: [(&str, Stage); 4] =
    [("mlir", Stage::Kernel), ("mlir-lowered", Stage::Scalars), ("llvm", Stage::Llvm), ("asm", Stage::Assembly)];

impl Side {
    /// Whether both sides turn kernels into code in the same way.
    pub(super) fn lowers_like(&self, other: &Side) -> bool {
        self.mlir_passes == other.mlir_passes && self.lowering == other.lowering
    }

    /// Compiles a program. `of_part` states that the program is only a part of another program.
    pub fn compile(
        &self,
        source: &Source,
        of_part: bool,
        settings: &ComparisonSettings,
    ) -> Result<CompiledSide, WorkshopError> {
        match &self.compiler {
            SideCompiler::Emitters(emitters) => {
                let emitters = Emitters { of_part, ..emitters.clone() };
                let dump = if of_part { Dump::default() } else { self.dump.clone() };
                let mut options = Options { emitters, dump, ..settings.compile.clone() };
                options.departures.mlir_passes.extend(self.mlir_passes.iter().cloned());
                let with = fusebox_lowering::Target::with_lowering;
                options.target = self.lowering.into_iter().fold(options.target, with);
                compile_here(source, &options)
            }
            SideCompiler::Program(program) => compile_with_program(program, source, settings),
        }
    }
}

fn compile_here(source: &Source, options: &Options) -> Result<CompiledSide, WorkshopError> {
    let made = fusebox_compiler::compile(source, options)?;
    let executable = made.executable.ok_or_else(|| WorkshopError::Interface("nothing was compiled to run".into()))?;
    let sum = |bytes: fn(&Selected) -> u64| made.kernels.iter().map(bytes).fold(0, u64::saturating_add);
    let texts = made.lowered.texts.into_iter().map(|(stage, batches)| (stage.name(), batches.join("\n"))).collect();
    let figures = SideFigures {
        kernels: made.kernels.iter().map(describe).collect(),
        bytes_read: sum(|kernel| kernel.prediction.read),
        bytes_written: sum(|kernel| kernel.prediction.written),
        operations: made.kernels.iter().map(|kernel| WorkAmount::of(kernel, &options.device).operations).sum(),
        compile_ms: milliseconds(made.elapsed),
        warnings: made.warnings,
        texts,
        ..of_code(&executable)
    };
    Ok(CompiledSide { executable, figures, kernels: Some(made.kernels) })
}

/// Returns the emitter, version and knobs of a kernel.
fn describe(kernel: &Selected) -> String {
    let knobs = &kernel.plan.configuration;
    format!("{} {}{knobs}", kernel.emitter.name, kernel.emitter.version)
}

fn compile_with_program(
    program: &Path,
    source: &Source,
    settings: &ComparisonSettings,
) -> Result<CompiledSide, WorkshopError> {
    let no_folder = |source| WorkshopError::System { what: "a folder for what another fusebox compiles", source };
    let folder = tempfile::tempdir().map_err(no_folder)?;
    let module = folder.path().join(format!("module.{}", source.format.extension()));
    fusebox_files::write(&module, &source.bytes)?;
    let ask = |emit: &str| {
        let output = folder.path().join(emit);
        let threads = settings.compile.threads.to_string();
        let arguments = ["compile", "--target", &settings.target, "--threads", &threads, "--emit", emit, "-o"];
        let begin = Instant::now();
        run_program(Command::new(program).args(arguments).args([&output, &module]), program, emit)?;
        let elapsed = begin.elapsed();
        Ok::<_, WorkshopError>((fusebox_files::read(&output, fusebox_files::SizeLimit::default())?, elapsed))
    };
    let (bytes, elapsed) = ask("executable")?;
    let foreign = |source| WorkshopError::Foreign { program: program.into(), source };
    let executable = Executable::from_bytes(&bytes).map_err(foreign)?;
    let wanted = ASKED.iter().filter(|(_, stage)| settings.compile.stages.contains(stage));
    let text = |(emit, stage): &(&str, Stage)| Ok((stage.name(), String::from_utf8_lossy(&ask(emit)?.0).into_owned()));
    let bytes_of = |is_meant: fn(Access) -> bool| {
        let arguments = executable.kernels.iter().flat_map(|kernel| &kernel.arguments);
        arguments.filter(|it| is_meant(it.access)).map(|it| it.bytes).fold(0, u64::saturating_add)
    };
    let figures = SideFigures {
        kernels: executable.kernels.iter().map(|kernel| kernel.emitter.clone()).collect(),
        bytes_read: bytes_of(|access| access == Access::Read),
        bytes_written: bytes_of(|access| access != Access::Read),
        compile_ms: milliseconds(elapsed),
        texts: wanted.map(text).collect::<Result<BTreeMap<_, _>, WorkshopError>>()?,
        ..of_code(&executable)
    };
    Ok(CompiledSide { executable, figures, kernels: None })
}

fn run_program(command: &mut Command, program: &Path, emit: &str) -> Result<(), WorkshopError> {
    let failed = |reason: String| WorkshopError::Program {
        program: program.into(),
        command: format!("compile --emit {emit}"),
        reason,
    };
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns the figures that depend only on the code: the size of the code, and the report of
/// NVIDIA's assembler.
fn of_code(executable: &Executable) -> SideFigures {
    let code_bytes = executable.code.iter().map(code_bytes).sum();
    let Target::Cuda(capability) = executable.target else {
        return SideFigures { code_bytes, ..SideFigures::default() };
    };
    let target = format!("sm_{capability}");
    let texts = executable.code.iter().filter_map(|code| match code {
        CodeImage::Ptx { text, .. } => Some(text),
        CodeImage::Object { .. } => None,
    });
    // Without an assembler, only the figures of its report are missing.
    let assembled = texts.filter_map(|text| ptxas::measure(text, &target).ok()).flatten();
    let launched = |name: &str| executable.kernels.iter().find(|kernel| kernel.symbol == name);
    let on_gpu = assembled.map(|quality| GpuKernelFigures {
        occupancy: launched(&quality.kernel).map(|kernel| quality.occupancy(kernel.threads_per_block, capability)),
        quality,
    });
    SideFigures { gpu: on_gpu.collect(), code_bytes, ..SideFigures::default() }
}

/// Returns the number of bytes of machine code, or of PTX text.
fn code_bytes(code: &CodeImage) -> u64 {
    match code {
        CodeImage::Ptx { text, .. } => text.len() as u64,
        CodeImage::Object { bytes, .. } => {
            let file = object::File::parse(bytes.as_slice());
            let sections = file.iter().flat_map(|file| file.sections());
            sections.filter(|section| section.kind() == SectionKind::Text).map(|section| section.size()).sum()
        }
    }
}
