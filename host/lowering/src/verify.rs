//! Reads the text of kernels' functions, and checks the functions.

use fusebox_core::ir;

use crate::error::{Diagnostic, LoweringError};

/// Checks a kernel's functions. [`compile`](crate::compile) begins with this check. A separate call
/// of `verify` finds faults of an emitter before compilation.
///
/// # Errors
/// The first fault found.
pub fn verify(kernel: &str, functions: &[ir::Function]) -> Result<(), LoweringError> {
    let mut foreign = None;
    for function in functions {
        function.body.walk(&mut |op| foreign = foreign.or(op.kind.is_of_lowering().then_some(op)));
    }
    match foreign {
        Some(op) => {
            let message = format!("only lowering may create the operation '{}'", op.kind);
            Err(invalid(kernel, op.place.to_string(), message))
        }
        None => verify_stage(kernel, functions),
    }
}

/// Checks the functions of a kernel at any stage.
pub(crate) fn verify_stage(kernel: &str, functions: &[ir::Function]) -> Result<(), LoweringError> {
    ir::verify(functions).map_err(|fault| invalid(kernel, fault.place.to_string(), fault.message.clone()))
}

/// Returns the error for a fault at one location of a kernel.
pub(crate) fn invalid(kernel: &str, location: String, message: String) -> LoweringError {
    LoweringError::Invalid { kernel: kernel.into(), diagnostics: vec![Diagnostic { location, message }] }
}

/// Reads the text of a kernel's functions and checks them as [`verify`] does.
///
/// # Errors
/// The first fault found.
pub fn read(kernel: &str, text: &str) -> Result<Vec<ir::Function>, LoweringError> {
    let functions = parse(kernel, text)?;
    verify(kernel, &functions)?;
    Ok(functions)
}

/// Reads the text of a kernel's functions.
///
/// # Errors
/// If the text is not kernel IR.
pub fn parse(kernel: &str, text: &str) -> Result<Vec<ir::Function>, LoweringError> {
    fusebox_kernel_text::parse(kernel, text).map_err(|fault| {
        let location = format!("{}:{}:{}", fault.file, fault.line, fault.column);
        invalid(kernel, location, fault.message.clone())
    })
}
