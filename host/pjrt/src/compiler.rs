//! Compiles programs.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use fusebox_choices::{
    CacheChoice, ChoiceError, EmitterChoice, cache, choose, database_path, load_tuned, path_in_variable, target,
    threads,
};
use fusebox_compiler::{Compilation, CompileError, Dump, Format, Options, Phase, Source, compile_or_load};
use fusebox_core::cost;
use fusebox_run::terminal;
use fusebox_runtime::{CodeImage, Executable};
use fusebox_workshop::profile::StepFacts;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Answer, Error};
use crate::messages::CompileOptions;
use crate::options::UserOptions;
use crate::progress::ProgressLine;
use crate::sharding::Shardings;

/// Environment variable with the path of the program `fusebox`, which serves isolated emitters.
const SERVER: &str = "FUSEBOX_PROGRAM";

impl From<CompileError> for Error {
    fn from(error: CompileError) -> Error {
        if error.is_internal() { Error::internal(error.to_string()) } else { Error::invalid(error.to_string()) }
    }
}

/// A compiled program with figures about it.
pub struct Compiled {
    pub executable: Executable,
    pub figures: Figures,
    pub shardings: Shardings,
}

/// Figures about a program, which fusebox keeps after the compilation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// A hash of the program and its options.
    pub fingerprint: String,
    /// Arithmetic of all kernels, in additions, and number of bytes that all kernels access. `None`
    /// if the executable comes from the cache.
    pub work: Option<(f32, f32)>,
    /// Bytes of machine code.
    pub code_bytes: i64,
    /// Bytes of constants and temporary values.
    pub temporary_bytes: i64,
    /// Bytes of outputs that share memory with arguments.
    pub alias_bytes: i64,
    /// Facts about the steps of the executable, which profiles show. The list is empty if the
    /// executable comes from the cache.
    pub steps: Vec<StepFacts>,
}

/// Compiles programs with the options of the environment.
#[derive(Default)]
pub struct Compiler {
    /// The options of the last program, which are kept because most programs have the same options.
    last: Mutex<Option<KnownOptions>>,
}

/// Compilation options, and the data from which they were computed: the user's options and the
/// version of the stored choices.
struct KnownOptions {
    user: UserOptions,
    version: u64,
    options: Options,
}

/// Version of the choices that `fusebox tune` has stored. The version increases when this process
/// stores choices.
static CHOICES: AtomicU64 = AtomicU64::new(0);

/// Records that this process has stored choices of emitters, so that later compilations read these
/// choices.
pub fn choices_have_changed() {
    CHOICES.fetch_add(1, Ordering::Relaxed);
}

impl Compiler {
    /// Compiles a program. `format` is the interface's name for the format of the program.
    pub fn compile(&self, code: &[u8], format: &str, options: &[u8]) -> Answer<Compiled> {
        let source = Source::new(String::from("program"), code.to_vec(), source_format(format)?);
        let given = CompileOptions::read(options)?;
        let mut options = self.options(UserOptions::of_environment()?.with(given.texts())?)?;
        let partitions = given.placement()?.partitions;
        let shardings =
            if partitions > 1 { Shardings::of(&source.parse()?, partitions)? } else { Shardings::default() };
        let line = ProgressLine::begin("compiling");
        options.progress = line.of_compiler();
        let compilation = compile_or_load(&source, &options);
        drop(line);
        let compilation = compilation?;
        let mut figures = figures(&compilation, fingerprint(code, &given));
        figures.steps = StepFacts::of(&compilation, &options.device);
        let executable = compilation.executable.ok_or_else(|| Error::internal("the compiler made no executable"))?;
        Ok(Compiled { executable, figures, shardings })
    }

    /// Returns the compilation options that follow from the user's options.
    fn options(&self, user: UserOptions) -> Answer<Options> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let version = CHOICES.load(Ordering::Relaxed);
        if let Some(known) = last.as_ref().filter(|known| known.user == user && known.version == version) {
            return Ok(known.options.clone());
        }
        let options = compilation_options(&user, Tuned::Used)?;
        *last = Some(KnownOptions { user, version, options: options.clone() });
        Ok(options)
    }
}

fn source_format(format: &str) -> Answer<Format> {
    match format {
        "mlir" => Ok(Format::Stablehlo),
        "hlo" => Ok(Format::Proto),
        _ => Err(Error::unimplemented(format!("programs in the format `{format}`; fusebox reads mlir and hlo"))),
    }
}

/// Returns a hash of a program and its options.
fn fingerprint(code: &[u8], options: &CompileOptions) -> String {
    let mut hash = Sha256::new().chain_update(env!("CARGO_PKG_VERSION")).chain_update(code);
    for (name, value) in options.texts() {
        hash = hash.chain_update(name).chain_update([0]).chain_update(value).chain_update([0]);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn figures(compilation: &Compilation, fingerprint: String) -> Figures {
    let mut figures = Figures { fingerprint, ..Figures::default() };
    if compilation.memory.is_some() {
        let (mut additions, mut bytes) = (0.0, 0);
        for kernel in &compilation.kernels {
            additions += cost::of_computation(kernel.unit.fusion.computation());
            bytes += kernel.prediction.read + kernel.prediction.written;
        }
        figures.work = Some((additions as f32, bytes as f32));
    }
    if let Some(memory) = &compilation.memory {
        figures.temporary_bytes = (memory.temporaries + memory.constants) as i64;
    }
    if let Some(executable) = &compilation.executable {
        let bytes = |image: &CodeImage| match image {
            CodeImage::Object { bytes, .. } => bytes.len(),
            CodeImage::Ptx { text, .. } => text.len(),
        };
        figures.code_bytes = executable.code.iter().map(bytes).sum::<usize>() as i64;
        let inputs: Vec<_> = executable.parameters.iter().flat_map(|it| &it.leaves).collect();
        let shared = executable.result.leaves.iter().filter(|leaf| inputs.iter().any(|it| it.overlaps(leaf)));
        figures.alias_bytes = shared.map(|leaf| leaf.bytes as i64).sum();
    }
    figures
}

impl From<ChoiceError> for Error {
    fn from(error: ChoiceError) -> Error {
        match error {
            ChoiceError::Bug(message) => Error::internal(message),
            ChoiceError::Input(message) | ChoiceError::Usage(message) => Error::invalid(message),
        }
    }
}

/// Whether a compilation uses the choices that `fusebox tune` has stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tuned {
    Used,
    Unused,
}

/// The folder in which the search for `fusebox.toml` begins, before it continues in the folders
/// above. On the command line, the search begins in the folder of the module instead.
pub const FOLDER: &str = ".";

/// Prints a warning.
pub fn warn(text: &str) {
    terminal::complain(&format!("fusebox: {text}"));
}

/// Returns the user's choice of emitters.
pub fn emitter_choice(user: &UserOptions) -> EmitterChoice {
    EmitterChoice {
        emitters: user.emitters.clone(),
        load: user.load.clone(),
        config: user.config.clone(),
        server: path_in_variable(SERVER),
        ..EmitterChoice::default()
    }
}

/// Returns the dump that the user's options ask for.
pub fn dump(user: &UserOptions) -> Answer<Dump> {
    Ok(user.dump_to.as_ref().map(Dump::to).transpose()?.unwrap_or_default())
}

/// Creates the compilation options that follow from the user's options.
pub fn compilation_options(user: &UserOptions, tuned: Tuned) -> Answer<Options> {
    let (target, device) = target(user.target_name(), None)?;
    fusebox_lowering::dedicate(&target);
    let (choice, folder) = (emitter_choice(user), Path::new(FOLDER));
    let emitters = choose(&choice, folder, &mut warn)?;
    let mut options = Options::new(target, device, emitters, Phase::Run);
    options.threads = threads(user.threads);
    options.dump = dump(user)?;
    let cached = CacheChoice { cache: user.cache.clone(), ..CacheChoice::default() };
    options.cache = cache(&cached, &choice, folder)?;
    user.cubins.apply(options.cache.is_used(), &mut options)?;
    if let Some(path) = database_path(None).filter(|_| tuned == Tuned::Used) {
        load_tuned(&path, false, &mut options, &mut warn)?;
    }
    Ok(options)
}
