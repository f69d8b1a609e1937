//! A module with inputs, and its right result as the interpreter computes it.

use fusebox_compiler::{Options, Selected, Source};
use fusebox_core::hlo::{Literal, Module, Shape, print_module};
use fusebox_interpreter::EvalError;
use fusebox_run::inputs::arrays;
use fusebox_runtime::{Executable, LoadedExecutable};

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
    /// Returns a case whose module is a single fusion. The module's text has no `ENTRY`.
    pub fn of_fusion(kernel: &Selected, inputs: Vec<Literal>) -> Case {
        Case { module: isolated_module(kernel), inputs }
    }

    /// Returns the module as source text for the compiler.
    pub fn source(&self) -> Source {
        Source::text(&self.module.name, &print_module(&self.module))
    }

    /// Returns the shapes of a module's parameters.
    pub fn parameters(module: &Module) -> Vec<Shape> {
        let entry = module.entry_computation();
        let shapes = |entry: &fusebox_core::hlo::Computation| {
            entry.parameters().into_iter().map(|id| entry.instruction(id).shape.clone()).collect()
        };
        entry.map_or_else(Vec::new, shapes)
    }

    /// Returns the interpreter's result.
    ///
    /// # Errors
    /// If the interpreter fails.
    pub fn expected_result(&self) -> Result<Literal, EvalError> {
        fusebox_interpreter::evaluate(&self.module, &self.inputs)
    }

    /// Describes how a result differs from the interpreter's result. Returns `None` if rounding
    /// explains the difference.
    ///
    /// # Errors
    /// If the interpreter has no result.
    pub fn difference(&self, found: &Literal) -> Result<Option<String>, EvalError> {
        self.difference_between(found, &self.expected_result()?)
    }

    /// Describes how a result of the module differs from an expected result. Returns `None` if
    /// rounding explains the difference.
    ///
    /// # Errors
    /// If the interpreter has no result.
    pub fn difference_between(&self, found: &Literal, expected: &Literal) -> Result<Option<String>, EvalError> {
        let jittered = || {
            let inputs: Vec<Literal> = self.inputs.iter().map(jitter).collect();
            Ok([self.expected_result()?, fusebox_interpreter::evaluate(&self.module, &inputs)?])
        };
        difference_beyond_rounding(found, expected, jittered)
    }

    /// Compiles the module and returns its result.
    ///
    /// # Errors
    /// If the module cannot be compiled or its execution fails.
    pub fn compiled(&self, options: &Options, run: &fusebox_runtime::Options) -> Result<Literal, WorkshopError> {
        let made = fusebox_compiler::compile(&self.source(), options)?;
        executed(made.executable, &self.inputs, run)
    }
}

/// Runs a program and returns its result.
///
/// # Errors
/// If there is no executable, or the execution fails.
pub fn executed(
    executable: Option<Executable>,
    inputs: &[Literal],
    options: &fusebox_runtime::Options,
) -> Result<Literal, WorkshopError> {
    Ok(loaded(executable, options)?.run(&arrays(inputs))?)
}

/// Loads an executable.
///
/// # Errors
/// If there is no executable, or it cannot be loaded.
pub fn loaded(
    executable: Option<Executable>,
    options: &fusebox_runtime::Options,
) -> Result<LoadedExecutable, WorkshopError> {
    let executable = executable.ok_or_else(|| WorkshopError::Interface("nothing was compiled to run".into()))?;
    Ok(LoadedExecutable::open(executable, options)?)
}

/// Returns a fusion of a program as a separate module.
pub fn isolated_module(kernel: &Selected) -> Module {
    Module { bare: true, ..kernel.unit.fusion.module.clone() }
}

/// Returns a fusion of a program as source text.
pub fn isolated_source(kernel: &Selected) -> Source {
    Source::text(&kernel.unit.fusion.name, &print_module(&isolated_module(kernel)))
}
