//! The right results of a module, and whether others are as right.

use fusebox_core::cost;
use fusebox_core::hlo::{Literal, Module, Opcode};
use fusebox_run::inputs;
use fusebox_runtime::{Executable, Options, Program};
use serde::{Deserialize, Serialize};

use crate::closeness::{difference_beyond_rounding, jitter};

/// Most additions of a module that the interpreter computes: some tenths of a second.
const MOST_INTERPRETED: f64 = 2e6;

/// The source of right results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Authority {
    /// The reference interpreter.
    Interpreter,
    /// A program by the emitters that come with fusebox, where the interpreter takes long.
    BundledEmitters,
}

impl Authority {
    /// As it is printed behind *by*.
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
    /// `None` is the interpreter.
    program: Option<Executable>,
    expected: Literal,
}

impl<'a> Reference<'a> {
    /// The interpreter's result where it does not take long; else that of the first program that has
    /// one. `None` if neither has a result. Programs are made no sooner than they are needed.
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

    /// Where its results come from, if its programs are by bundled emitters.
    pub fn authority(&self) -> Authority {
        if self.program.is_none() { Authority::Interpreter } else { Authority::BundledEmitters }
    }

    /// The difference of a result on the same inputs from the right one, in words, if rounding does
    /// not explain it.
    ///
    /// # Errors
    /// If the reference fails on inputs that are off in their last place.
    pub fn fault(&self, found: &Literal) -> Result<Option<String>, String> {
        let jittered = || {
            let inputs: Vec<Literal> = self.inputs.iter().map(jitter).collect();
            let changed = value(self.module, &inputs, self.run, self.program.as_ref())?;
            Ok([self.expected.clone(), changed])
        };
        difference_beyond_rounding(found, &self.expected, jittered)
    }
}

/// Whether a module makes at most so many additions. Loops turn as often as their execution says, so
/// that a module with one is not short.
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
    let mut program = Program::load(program.clone(), run).map_err(|error| error.to_string())?;
    program.run(&inputs::arrays(inputs)).map_err(|error| error.to_string())
}
