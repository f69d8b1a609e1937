//! Computes the right results of a module, and compares other results with them.

use fusebox_core::cost;
use fusebox_core::hlo::{Literal, Module, Opcode};
use fusebox_run::inputs;
use fusebox_runtime::{Executable, LoadedExecutable, Options};
use serde::{Deserialize, Serialize};

use crate::closeness::{difference_beyond_rounding, jitter};

/// Largest work of a module that the interpreter evaluates, as a number of additions. The
/// interpreter takes some tenths of a second for so much work.
const MOST_INTERPRETED: f64 = 2e6;

/// The source of right results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Authority {
    /// The reference interpreter.
    Interpreter,
    /// A program that was compiled with the bundled emitters. A program with bundled emitters
    /// computes the reference if the interpreter would take too long.
    BundledEmitters,
}

impl Authority {
    /// Returns the name that reports print after the word "by".
    pub fn name(self) -> &'static str {
        match self {
            Authority::Interpreter => "the interpreter",
            Authority::BundledEmitters => "the bundled emitters",
        }
    }
}

/// The right result of a module on some inputs.
pub struct Reference<'a> {
    module: &'a Module,
    inputs: &'a [Literal],
    run: &'a Options,
    /// The program whose result is the reference; `None` if the interpreter computed the reference.
    program: Option<Executable>,
    expected: Literal,
}

impl<'a> Reference<'a> {
    /// Returns the interpreter's result if the module needs little work. Otherwise returns the
    /// result of the first program that runs without error. Returns `None` if there is no result.
    /// Takes programs from the iterator only until one of them runs without error.
    pub fn new(
        module: &'a Module,
        inputs: &'a [Literal],
        run: &'a Options,
        programs: impl Iterator<Item = Executable>,
    ) -> Option<Reference<'a>> {
        let interpreter = is_short(module, MOST_INTERPRETED).then_some(None);
        interpreter.into_iter().chain(programs.map(Some)).find_map(|program| {
            let expected = value(module, inputs, run, program.as_ref()).ok()?;
            Some(Reference { module, inputs, run, program, expected })
        })
    }

    /// Returns the source of the reference result. Assumes that bundled emitters built all
    /// programs.
    pub fn authority(&self) -> Authority {
        if self.program.is_none() { Authority::Interpreter } else { Authority::BundledEmitters }
    }

    /// Describes how a result on the same inputs differs from the reference result; `None` if
    /// rounding explains the difference.
    ///
    /// # Errors
    /// If the reference fails on inputs whose last bits are changed.
    pub fn fault(&self, found: &Literal) -> Result<Option<String>, String> {
        let jittered = || {
            let inputs: Vec<Literal> = self.inputs.iter().map(jitter).collect();
            let changed = value(self.module, &inputs, self.run, self.program.as_ref())?;
            Ok([self.expected.clone(), changed])
        };
        difference_beyond_rounding(found, &self.expected, jittered)
    }
}

/// Whether the work of a module takes at most as long as `most` additions. Returns false for a
/// module with a loop, because the number of iterations is unknown.
pub fn is_short(module: &Module, most: f64) -> bool {
    let holds_loops = module
        .computations
        .iter()
        .flat_map(|computation| &computation.instructions)
        .any(|instruction| matches!(instruction.opcode(), Opcode::While));
    let additions: f64 = module.computations.iter().map(cost::of_computation).sum();
    !holds_loops && additions <= most
}

fn value(module: &Module, inputs: &[Literal], run: &Options, program: Option<&Executable>) -> Result<Literal, String> {
    let Some(program) = program else {
        return fusebox_interpreter::evaluate(module, inputs).map_err(|error| error.to_string());
    };
    let program = LoadedExecutable::open(program.clone(), run).map_err(|error| error.to_string())?;
    program.run(&inputs::arrays(inputs)).map_err(|error| error.to_string())
}
