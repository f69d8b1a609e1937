//! When PTX becomes machine code (cubins) at compile time, by NVIDIA's assembler `ptxas`.

use fusebox_compiler::{Assembler, AssemblerError, Options};
use fusebox_lowering::Runner;

use crate::ChoiceError;

/// When the compiler makes machine code from PTX. Otherwise the driver assembles the PTX when it
/// loads a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cubins {
    /// If the executable is kept in a file or in the cache, and `ptxas` is installed. A program
    /// that is executed only by this process is assembled once either way, and the driver keeps
    /// what it assembles.
    #[default]
    Auto,
    /// Never.
    Never,
    /// For every program. `ptxas` must be installed.
    Always,
}

impl Cubins {
    /// All choices.
    pub const ALL: [Cubins; 3] = [Cubins::Auto, Cubins::Never, Cubins::Always];

    /// Returns the name of the choice on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Cubins::Auto => "auto",
            Cubins::Never => "never",
            Cubins::Always => "always",
        }
    }

    /// Returns the choice with this name.
    pub fn parse(name: &str) -> Option<Cubins> {
        Cubins::ALL.into_iter().find(|choice| choice.name() == name)
    }

    /// Gives the options an assembler if this choice asks for one. `is_kept` states whether the
    /// executable is kept in a file or in the cache.
    ///
    /// # Errors
    /// If the choice is `Always` and there is no assembler, or if the file that `FUSEBOX_PTXAS`
    /// names is no assembler.
    pub fn apply(self, is_kept: bool, options: &mut Options) -> Result<(), ChoiceError> {
        let is_for_gpu = matches!(options.target.runner(), Some(Runner::Cuda(_)));
        let is_wanted = match self {
            Cubins::Auto => is_kept,
            Cubins::Never => false,
            Cubins::Always => true,
        };
        if !is_for_gpu || !is_wanted || options.assembler.is_some() {
            return Ok(());
        }
        options.assembler = match Assembler::find(&[]) {
            Err(AssemblerError::Missing) if self == Cubins::Auto => None,
            found => Some(found.map_err(ChoiceError::input)?),
        };
        Ok(())
    }
}
