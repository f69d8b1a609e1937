//! The state of the parser. Other files read the parts of a module into this state.

use std::collections::{HashMap, HashSet};

use super::ParseOptions;
use super::source::Source;
use crate::{ComputationId, Diagnostic, Module};

/// State of the parser while it reads one module.
pub(crate) struct Parser<'t> {
    pub(super) source: Source<'t>,
    pub(super) options: &'t ParseOptions,
    pub(super) module: Module,
    pub(super) by_name: HashMap<&'t str, ComputationId>,
    /// Computations that could not be read. The parser does not report their uses as faults.
    pub(super) broken: HashSet<&'t str>,
    pub(super) generated_names: HashSet<String>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Names of computations and instructions that were used before they were defined. The number
    /// is the index of the diagnostic about the name.
    pub(super) undefined: Vec<(usize, String)>,
    /// Nesting depth of inline computations.
    pub(super) depth: usize,
}
