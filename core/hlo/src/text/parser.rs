//! The state of the parser. The functions in the other files of this folder read the parts of a
//! module into a [`Parser`].

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
    /// Computations that could not be read. The parser does not report uses of unreadable
    /// computations as faults.
    pub(super) broken: HashSet<&'t str>,
    pub(super) generated_names: HashSet<String>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Names of computations and instructions that were used before they were defined. The number
    /// before a name is the index of the diagnostic about this name.
    pub(super) undefined: Vec<(usize, String)>,
    /// Nesting depth of inline computations.
    pub(super) depth: usize,
}
