//! `fusebox new-emitter`: a crate of one's own to begin with.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use fusebox_run::terminal;
use fusebox_workshop::new_emitter::{self, NewEmitterError, kinds};

use crate::exit::Failure;

/// `fusebox new-emitter`
#[derive(Debug, Args)]
pub struct NewEmitter {
    /// Name of the crate and its emitter, like my-loop
    pub name: String,
    /// What it is for
    #[arg(long, value_parser = PossibleValuesParser::new(kinds()))]
    pub kind: String,
    /// Folder of the crate; the name by default
    #[arg(long, value_name = "DIR")]
    pub path: Option<PathBuf>,
    /// Build against these sources of fusebox-core instead of the release of this version
    #[arg(long, value_name = "DIR")]
    pub core: Option<PathBuf>,
}

pub fn run(arguments: &NewEmitter) -> Result<(), Failure> {
    let NewEmitter { name, kind, path, core } = arguments;
    let folder = path.clone().unwrap_or_else(|| name.into());
    let files =
        new_emitter::NewEmitter { name: name.clone(), kind: kind.clone(), folder: folder.clone(), core: core.clone() };
    let files = files.write()?;
    let library = format!("target/release/lib{}.so", name.replace('-', "_"));
    Ok(terminal::print(|out| {
        files.iter().try_for_each(|file| writeln!(out, "{}", folder.join(file).display()))?;
        writeln!(out, "\nnext:")?;
        writeln!(out, "  cd {}", folder.display())?;
        writeln!(out, "  cargo test && cargo build --release")?;
        writeln!(out, "  fusebox run MODULE.hlo --emitter {kind}={library}")?;
        writeln!(out, "  cargo bench")
    })?)
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
