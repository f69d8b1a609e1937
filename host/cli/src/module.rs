//! Reads modules from files or standard input, and compiles these modules.

use std::path::Path;

use fusebox_choices::{target, threads};
use fusebox_compiler::{Compilation, CompileError, Departures, Dump, Options, Phase, Source};
use fusebox_core::hlo::Elided;
use fusebox_files::SizeLimit;
use fusebox_lowering::Stage;
use fusebox_run::inputs::{InputChoice, InputError};
use fusebox_run::terminal;
use fusebox_runtime::npz;

use crate::arguments::{CacheChoice, CommonArguments, CompilationArguments, ElidedConstants};
use crate::exit::Failure;
use crate::progress::{ProgressChoice, ProgressReporter};
use crate::{cache, emitters, passes, source, tuned};

/// Reads a module, as the options of the command line require.
pub fn read(path: &Path, compiling: &CompilationArguments) -> Result<Source, Failure> {
    let elided = match compiling.elided_constants {
        ElidedConstants::Refuse => Elided::Refuse,
        ElidedConstants::Zero => Elided::Zero,
        ElidedConstants::Random => Elided::Random,
    };
    let sizes = compiling.shapes.as_ref().map(|shapes| shapes.0.clone());
    let module = compiling.module_named.clone();
    Ok(Source { elided, module, sizes, ..source::of_file(path, compiling.file_limit)? })
}

/// Reads a module that will have these inputs. If neither the program nor an option of the command
/// line states a size, the inputs determine the size.
pub fn read_for(path: &Path, compiling: &CompilationArguments, inputs: &InputChoice) -> Result<Source, Failure> {
    let source = read(path, compiling)?;
    match &inputs.inputs {
        Some(file) if source.sizes.is_none() && source.needs_sizes()? => {
            Ok(Source { sizes: Some(npz::read_sizes(file).map_err(InputError::from)?), ..source })
        }
        _ => Ok(source),
    }
}

/// Returns the folder of a module; for standard input, the working directory.
pub fn folder_of(module: &Path) -> &Path {
    match module.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

pub fn dump(common: &CommonArguments) -> Result<Dump, Failure> {
    dump_to(common.dump_to.as_deref())
}

/// Returns a dump that writes into `folder`. Without a folder, returns a dump that writes nothing.
pub fn dump_to(folder: Option<&Path>) -> Result<Dump, Failure> {
    match folder {
        Some(folder) => Ok(Dump::to(folder)?),
        None => Ok(Dump::default()),
    }
}

/// Converts the options of the command line to options of a compilation, which ends after the phase
/// `until`.
pub fn options(
    common: &CommonArguments,
    ptx_version: Option<u32>,
    until: Phase,
    stages: Vec<Stage>,
) -> Result<Options, Failure> {
    let threads = threads(common.compiling.threads);
    let (target, device) = target(&common.compiling.target, ptx_version)?;
    let target = target.with_lowering(common.compiling.lowering);
    if until > Phase::Emit {
        fusebox_lowering::dedicate(&target);
    }
    let emitters = emitters::choose(&common.compiling.emitters, folder_of(&common.module))?;
    let without_passes = passes::left_out(&common.compiling.passes);
    let mlir_passes = common.compiling.mlir_passes.clone();
    let verify_each = common.compiling.verify_each;
    let departures = Departures { without_passes, mlir_passes, verify_each, ..Departures::default() };
    let mut options = Options::new(target, device, emitters, until);
    options.memory_limit = common.compiling.memory_limit.and_then(SizeLimit::most);
    (options.threads, options.stages, options.departures) = (threads, stages, departures);
    options.dump = dump(common)?;
    if until > Phase::Code {
        common.compiling.cubins.apply(false, &mut options)?;
    }
    tuned::load(&common.tuned, common.compiling.emitters.locked, &mut options)?;
    Ok(options)
}

/// Compiles a module up to a phase, with the options of the command line. Prints warnings to
/// standard error.
pub fn compile(
    source: &Source,
    common: &CommonArguments,
    ptx_version: Option<u32>,
    until: Phase,
    stages: Vec<Stage>,
) -> Result<Compilation, Failure> {
    compile_with(source, &options(common, ptx_version, until, stages)?)
}

/// A compiler that has the options of the command line, a progress bar and a cache.
pub struct Compiler<'a> {
    pub common: &'a CommonArguments,
    pub progress: &'a ProgressChoice,
    pub cache: &'a CacheChoice,
    /// Whether the command reports the compile time.
    pub is_measured: bool,
    /// Whether the command writes the executable to a file.
    pub is_written: bool,
}

impl Compiler<'_> {
    /// Compiles a module up to a phase.
    pub fn compile(
        &self,
        source: &Source,
        ptx_version: Option<u32>,
        until: Phase,
        stages: Vec<Stage>,
    ) -> Result<Compilation, Failure> {
        self.compile_with(source, options(self.common, ptx_version, until, stages)?, fusebox_compiler::compile)
    }

    /// Compiles a module to an executable. If the executable comes from the cache, all other fields
    /// of the result are empty.
    pub fn executable(&self, source: &Source, ptx_version: Option<u32>) -> Result<Compilation, Failure> {
        let options = options(self.common, ptx_version, Phase::Run, Vec::new())?;
        self.compile_with(source, options, fusebox_compiler::compile_or_load)
    }

    fn compile_with(
        &self,
        source: &Source,
        mut options: Options,
        compile: fn(&Source, &Options) -> Result<Compilation, CompileError>,
    ) -> Result<Compilation, Failure> {
        let Compiler { common, progress, cache, is_measured, is_written } = self;
        if *is_measured {
            emitters::remark_on_builds([&options.emitters.registry]);
        }
        let bar = ProgressReporter::new(&source.name, progress);
        options.progress = bar.of_compiler();
        options.cache = cache::open(cache, &common.compiling.emitters, folder_of(&common.module))?;
        if options.until > Phase::Code {
            common.compiling.cubins.apply(*is_written || options.cache.is_used(), &mut options)?;
        }
        let made = compile(source, &options);
        bar.end();
        let made = warned(made?)?;
        if let (Some(cached), true) = (made.cached, progress.progress) {
            terminal::complain(&format!("{}: cache: {cached}", source.name));
        }
        Ok(made)
    }
}

/// Compiles a module with these options. Prints warnings to standard error.
pub fn compile_with(source: &Source, options: &Options) -> Result<Compilation, Failure> {
    warned(fusebox_compiler::compile(source, options)?)
}

fn warned(made: Compilation) -> Result<Compilation, Failure> {
    made.warnings.iter().for_each(|warning| terminal::complain(&format!("warning: {warning}")));
    Ok(made)
}
