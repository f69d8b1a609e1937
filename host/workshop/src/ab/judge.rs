//! Judges whether the results of both sides are right.

use fusebox_compiler::{Emitters, Options};
use fusebox_core::hlo::Literal;
use serde::Serialize;

use super::settings::Trial;
use crate::WorkshopError;
use crate::reference::{Authority, Reference};

/// The verdict of a reference on the results of both sides.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
pub enum ResultJudgement {
    /// Both results are right: rounding explains their differences from the reference.
    Right {
        /// The source of the reference result.
        by: Authority,
    },
    /// At least one result is wrong: rounding does not explain its difference from the reference.
    /// `a` and `b` describe the differences of the two sides; `None` if a side is right.
    Wrong {
        /// The source of the reference result.
        by: Authority,
        a: Option<String>,
        b: Option<String>,
    },
    /// The verdict is unknown, because neither the interpreter nor the bundled emitters have a
    /// result.
    Unknown,
}

impl ResultJudgement {
    /// Judges the results of both sides on some inputs.
    ///
    /// # Errors
    /// If the module cannot be read, or if the reference cannot be computed on inputs whose last
    /// bits are changed.
    pub fn of(trial: &Trial<'_>, inputs: &[Literal], found: [&Literal; 2]) -> Result<ResultJudgement, WorkshopError> {
        let Trial { source, of_part, settings, .. } = *trial;
        let module = source.parse()?;
        let bundled = || {
            let emitters = Emitters { registry: settings.bundled.clone(), of_part, ..Emitters::default() };
            let options = Options { emitters, stages: Vec::new(), ..settings.compile.clone() };
            fusebox_compiler::compile(source, &options).ok()?.executable
        };
        let programs = std::iter::once_with(bundled).flatten();
        let Some(reference) = Reference::new(&module, inputs, &settings.run, programs) else {
            return Ok(ResultJudgement::Unknown);
        };
        let by = reference.authority();
        let failed = |reason| WorkshopError::Reference { by, reason };
        let [a, b] = found.map(|found| reference.fault(found));
        Ok(match (a.map_err(failed)?, b.map_err(failed)?) {
            (None, None) => ResultJudgement::Right { by },
            (a, b) => ResultJudgement::Wrong { by, a, b },
        })
    }

    /// Returns the names of the sides with wrong results, each with a description of the fault.
    pub fn faults(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let [a, b] = match self {
            ResultJudgement::Wrong { a, b, .. } => [a.as_deref(), b.as_deref()],
            ResultJudgement::Right { .. } | ResultJudgement::Unknown => [None, None],
        };
        [("A", a), ("B", b)].into_iter().filter_map(|(side, fault)| Some((side, fault?)))
    }

    /// Whether the result of at least one side is wrong.
    pub fn is_wrong(&self) -> bool {
        matches!(self, ResultJudgement::Wrong { .. })
    }
}
