//! Compiles programs.

use std::path::Path;
use std::sync::OnceLock;

use fusebox_choices::{
    CacheChoice, ChoiceError, EmitterChoice, cache, choose, database_path, load_tuned, path_in_variable, target,
    threads,
};
use fusebox_compiler::{Compilation, CompileError, Dump, Format, Options, Phase, Source, compile_or_load};
use fusebox_core::cost;
use fusebox_run::terminal;
use fusebox_runtime::{CodeImage, Executable};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Answer, Error};
use crate::messages::CompileOptions;
use crate::options::UserOptions;

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
}

/// Figures about a program that outlive its compilation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// A hash of the program and its options.
    pub fingerprint: String,
    /// Arithmetic of all kernels, in additions, and the bytes that they access. `None` if the
    /// executable comes from the cache.
    pub work: Option<(f32, f32)>,
    /// Bytes of machine code.
    pub code_bytes: i64,
    /// Bytes of constants and temporary values.
    pub temporary_bytes: i64,
    /// Bytes of outputs that share memory with arguments.
    pub alias_bytes: i64,
}

/// Compiles programs with the options of the environment.
#[derive(Default)]
pub struct Compiler {
    /// The options of programs without options of their own.
    usual: OnceLock<Answer<Options>>,
}

impl Compiler {
    /// Compiles a program. `format` is its name in the interface.
    pub fn compile(&self, code: &[u8], format: &str, options: &[u8]) -> Answer<Compiled> {
        let source = Source::new(String::from("program"), code.to_vec(), source_format(format)?);
        let given = CompileOptions::read(options)?;
        let usual = self.usual.get_or_init(|| compilation_options(&UserOptions::of_environment()?));
        let options = if given.named.is_empty() {
            usual.clone()?
        } else {
            compilation_options(&UserOptions::of_environment()?.with(&given)?)?
        };
        let compilation = compile_or_load(&source, &options)?;
        let figures = figures(&compilation, fingerprint(code, &given));
        let executable = compilation.executable.ok_or_else(|| Error::internal("the compiler made no executable"))?;
        Ok(Compiled { executable, figures })
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
    let mut named: Vec<(&String, String)> = options.named.iter().map(|(name, value)| (name, value.text())).collect();
    named.sort();
    let mut hash = Sha256::new().chain_update(env!("CARGO_PKG_VERSION")).chain_update(code);
    for (name, value) in named {
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
            CodeImage::Ptx(text) => text.len(),
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

/// Returns the options of compilations that the user's options ask for. As on the command line, a
/// `fusebox.toml` in the working directory or above it applies, and so do the choices of `fusebox
/// tune`.
fn compilation_options(user: &UserOptions) -> Answer<Options> {
    let name = if user.target.is_empty() { "cpu" } else { &user.target };
    let (target, device) = target(name, None)?;
    fusebox_lowering::dedicate(&target);
    let choice = EmitterChoice {
        emitters: user.emitters.clone(),
        load: user.load.clone(),
        config: user.config.clone(),
        server: path_in_variable(SERVER),
        ..EmitterChoice::default()
    };
    let mut warn = |text: &str| terminal::complain(&format!("fusebox: {text}"));
    let folder = Path::new(".");
    let emitters = choose(&choice, folder, &mut warn)?;
    let mut options = Options::new(target, device, emitters, Phase::Run);
    options.threads = threads(user.threads);
    if let Some(folder) = &user.dump_to {
        options.dump = Dump::to(folder)?;
    }
    let cached = CacheChoice { cache: user.cache.clone(), ..CacheChoice::default() };
    options.cache = cache(&cached, &choice, folder)?;
    if let Some(path) = database_path(None) {
        load_tuned(&path, false, &mut options, &mut warn)?;
    }
    Ok(options)
}
