//! A module with inputs, and what it means: the interpreter's result.

use fusebox_compiler::{Options, Selected, Source};
use fusebox_core::hlo::{Literal, Module, Shape, print_module};
use fusebox_interpreter::EvalError;
use fusebox_run::inputs::arrays;
use fusebox_runtime::{Executable, Program};

use crate::WorkshopError;
use crate::closeness::{difference_beyond_rounding, jitter};

/// A module with inputs.
#[derive(Clone, Debug)]
pub struct Case {
    pub module: Module,
    /// One value per parameter.
    pub inputs: Vec<Literal>,
}

impl Case {
    /// A fusion alone, as text without `ENTRY` is one.
    pub fn of_fusion(kernel: &Selected, inputs: Vec<Literal>) -> Case {
        Case { module: alone(kernel), inputs }
    }

    /// What is compiled.
    pub fn source(&self) -> Source {
        Source::text(&self.module.name, &print_module(&self.module))
    }

    /// The shapes of a module's parameters.
    pub fn parameters(module: &Module) -> Vec<Shape> {
        let entry = module.entry_computation();
        let shapes = |entry: &fusebox_core::hlo::Computation| {
            entry.parameters().into_iter().map(|id| entry.instruction(id).shape.clone()).collect()
        };
        entry.map_or_else(Vec::new, shapes)
    }

    /// The interpreter's result.
    ///
    /// # Errors
    /// If it has none.
    pub fn meant(&self) -> Result<Literal, EvalError> {
        fusebox_interpreter::evaluate(&self.module, &self.inputs)
    }

    /// How a result is further from what is meant than rounding explains.
    ///
    /// # Errors
    /// If the interpreter has no result.
    pub fn difference(&self, found: &Literal) -> Result<Option<String>, EvalError> {
        self.difference_between(found, &self.meant()?)
    }

    /// How a result of the module is further from another than rounding explains.
    ///
    /// # Errors
    /// If the interpreter has no result.
    pub fn difference_between(&self, found: &Literal, expected: &Literal) -> Result<Option<String>, EvalError> {
        let jittered = || {
            let inputs: Vec<Literal> = self.inputs.iter().map(jitter).collect();
            Ok([self.meant()?, fusebox_interpreter::evaluate(&self.module, &inputs)?])
        };
        difference_beyond_rounding(found, expected, jittered)
    }

    /// The result of the compiled module.
    ///
    /// # Errors
    /// If it cannot be compiled or fails.
    pub fn compiled(&self, options: &Options, run: &fusebox_runtime::Options) -> Result<Literal, WorkshopError> {
        let made = fusebox_compiler::compile(&self.source(), options)?;
        executed(made.executable, &self.inputs, run)
    }
}

/// The result of a program.
///
/// # Errors
/// If there is none, or it fails.
pub fn executed(
    executable: Option<Executable>,
    inputs: &[Literal],
    options: &fusebox_runtime::Options,
) -> Result<Literal, WorkshopError> {
    Ok(loaded(executable, options)?.run(&arrays(inputs))?)
}

/// What was compiled, ready to run.
///
/// # Errors
/// If nothing was, or it cannot be loaded.
pub fn loaded(executable: Option<Executable>, options: &fusebox_runtime::Options) -> Result<Program, WorkshopError> {
    let executable = executable.ok_or_else(|| WorkshopError::Interface("nothing was compiled to run".into()))?;
    Ok(Program::load(executable, options)?)
}

/// A fusion of a program as a module of its own.
pub fn alone(kernel: &Selected) -> Module {
    Module { bare: true, ..kernel.unit.fusion.module.clone() }
}

/// The same as a source.
pub fn source_alone(kernel: &Selected) -> Source {
    Source::text(&kernel.unit.fusion.name, &print_module(&alone(kernel)))
}
