//! Values of the configuration.

use fusebox_core::emitter::{Configuration, EmitError};

/// The knob of that name, if the configuration sets it.
///
/// # Errors
/// If the value is not `allowed`; `wanted` says in words what is.
pub fn knob(
    configuration: &Configuration,
    name: &str,
    wanted: &str,
    allowed: impl Fn(i64) -> bool,
) -> Result<Option<i64>, EmitError> {
    match configuration.0.get(name) {
        Some(&value) if !allowed(value) => {
            Err(EmitError { message: format!("knob {name} is {value}, it must be {wanted}"), instruction: None })
        }
        value => Ok(value.copied()),
    }
}

/// A configuration of these knobs.
pub fn configuration(knobs: &[(&str, i64)]) -> Configuration {
    Configuration(knobs.iter().map(|&(name, value)| (name.to_owned(), value)).collect())
}

/// `a / b`, rounded up; both positive and far from overflow.
pub fn ceil_div(a: i64, b: i64) -> i64 {
    a / b + i64::from(a % b != 0)
}
