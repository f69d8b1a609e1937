//! Runs a fusion on the software driver.

use fusebox_core::hlo::{ArrayLiteral, Literal, Shape};
use fusebox_run::inputs::InputChoice;
use fusebox_runtime::Executable;
use fusebox_runtime::npz::{NpzError, read_inputs, write_outputs};
use fusebox_workshop::driver::{DriverError, SoftwareDriver};

use crate::Failure;
use crate::compiler::parsed;

/// Reason why a run on the software driver has no result.
#[derive(Debug, thiserror::Error)]
pub enum DriverRunError {
    /// The driver failed, or reported a fault of a kernel.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The result cannot be read.
    #[error(transparent)]
    Result(#[from] NpzError),
    /// The inputs cannot be written.
    #[error(transparent)]
    Inputs(#[from] fusebox_files::WriteError),
    /// The folder for inputs and results cannot be created.
    #[error("a folder for inputs and results: {0}")]
    Folder(#[from] std::io::Error),
    /// The fusion cannot be parsed.
    #[error(transparent)]
    Fusion(#[from] Failure),
}

/// Runs the executable of a fusion once, with these inputs. `text` is the text of the fusion. The
/// root of the fusion has the shape of the result. Returns the result.
///
/// # Errors
/// If the driver reports a fault, or a file cannot be read or written.
pub fn run(
    driver: &SoftwareDriver,
    executable: &Executable,
    text: &str,
    inputs: &[ArrayLiteral],
) -> Result<Literal, DriverRunError> {
    let folder = tempfile::tempdir()?;
    let (given, outputs) = (folder.path().join("in.npz"), folder.path().join("out.npz"));
    write_outputs(&given, &Literal::Tuple(inputs.iter().cloned().map(Literal::Array).collect()))?;
    let choice = InputChoice { inputs: Some(given), ..InputChoice::default() };
    driver.run(executable, &choice, Some(&outputs))?;
    let module = parsed(text)?;
    let shape = module.entry_computation().map_or(Shape::Tuple(Vec::new()), |it| it.root_instruction().shape.clone());
    let mut results = read_inputs(&outputs, &[shape])?;
    Ok(results.pop().unwrap_or(Literal::Tuple(Vec::new())))
}
