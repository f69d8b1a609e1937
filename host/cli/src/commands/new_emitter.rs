//! `fusebox new-emitter`: creates a crate for a new emitter.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use fusebox_run::terminal;
use fusebox_workshop::new_emitter::{self, NewEmitterError, kinds};

use crate::exit::Failure;

/// `fusebox new-emitter`
#[derive(Debug, Args)]
pub struct NewEmitter {
    /// Name of the crate and its emitter, for example my-loop
    pub name: String,
    /// Kind of fusions that the emitter computes; with `own`, the emitter bids for fusions of a new
    /// kind, which has the emitter's name
    #[arg(long, value_parser = PossibleValuesParser::new(kinds()))]
    pub kind: String,
    /// Folder of the crate; default: the crate's name
    #[arg(long, value_name = "DIR")]
    pub path: Option<PathBuf>,
    /// Build against these sources of fusebox-core; default: the sources from which this program
    /// was built or, if they are absent, the release of this version
    #[arg(long, value_name = "DIR")]
    pub core: Option<PathBuf>,
}

pub fn run(arguments: &NewEmitter) -> Result<(), Failure> {
    let NewEmitter { name, kind, path, core } = arguments;
    let folder = path.clone().unwrap_or_else(|| name.into());
    let program = std::env::current_exe().ok();
    let core = core.clone().or_else(|| new_emitter::core_sources_of(program.as_deref()?));
    let is_release = core.is_none();
    let begun = new_emitter::NewEmitter { name: name.clone(), kind: kind.clone(), folder: folder.clone(), core };
    let files = begun.write()?;
    // The built-in fusions of `check-emitter` belong to no new kind. So for an `own` kind the
    // command needs a module.
    let module = if kind == new_emitter::OWN { " --module benches/small.hlo" } else { "" };
    let kind = begun.kind();
    let library = format!("target/release/lib{}.so", name.replace('-', "_"));
    Ok(terminal::print(|out| {
        files.iter().try_for_each(|file| writeln!(out, "{}", folder.join(file).display()))?;
        writeln!(out, "\nnext:")?;
        if is_release {
            let version = env!("CARGO_PKG_VERSION");
            writeln!(
                out,
                "  # builds against fusebox-core {version} of the registry; --core DIR takes sources instead"
            )?;
        }
        if let Some(folder) = program.as_deref().filter(|program| !is_in_path(program)).and_then(Path::parent) {
            writeln!(out, "  export PATH={}:$PATH", folder.display())?;
        }
        writeln!(out, "  cd {}", folder.display())?;
        writeln!(out, "  cargo test && cargo build --release")?;
        writeln!(out, "  fusebox check-emitter {library}{module}")?;
        writeln!(out, "  fusebox run benches/small.hlo --check --emitter {kind}={library}")?;
        writeln!(out, "  cargo bench")
    })?)
}

/// Whether a shell that searches `PATH` for the name of `program` would find this file.
fn is_in_path(program: &Path) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let files = std::env::split_paths(&path).filter_map(|folder| folder.join(program.file_name()?).canonicalize().ok());
    program.canonicalize().is_ok_and(|program| files.into_iter().next().is_some_and(|first| first == program))
}

impl From<NewEmitterError> for Failure {
    fn from(error: NewEmitterError) -> Self {
        match error {
            NewEmitterError::Write(error) => error.into(),
            NewEmitterError::Folder { .. } => Failure::input(error),
            other => Failure::usage(other),
        }
    }
}
