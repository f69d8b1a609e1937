//! Decides when NVIDIA's assembler `ptxas` assembles PTX to machine code (cubins) at compile time.

use fusebox_compiler::{Assembler, AssemblerError, Options};
use fusebox_lowering::Runner;

use crate::ChoiceError;

/// When the compiler assembles PTX to machine code. If the compiler does not assemble the PTX, the
/// driver assembles it when loading the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cubins {
    /// The compiler assembles the PTX if the executable is kept in a file or in the cache, and
    /// `ptxas` is installed. A program that only this process executes is assembled once with or
    /// without `ptxas`, and the driver keeps the machine code that it assembles.
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

    /// Sets the assembler in `options` if this choice asks for one. `is_kept` states whether the
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
