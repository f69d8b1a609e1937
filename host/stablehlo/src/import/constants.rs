//! Constants.

use fusebox_core::hlo::{ArrayLiteral, InstrId};
use fusebox_edit::Builder;

use super::Imported;
use super::location::unsupported;
use crate::program::{Attribute, Constant, Operation};

/// Adds a constant. An array of equal elements becomes a broadcast of a scalar.
pub(super) fn constant(edit: &mut Builder, operation: &Operation) -> Imported<InstrId> {
    let constant = operation.constant("value")?;
    let is_spread = constant.elements.dims.is_empty() && !constant.dims.is_empty();
    let ArrayLiteral { element_type, data, .. } = &constant.elements;
    if !is_spread {
        let literal = ArrayLiteral::new(*element_type, constant.dims.clone(), data.clone());
        let literal = literal.map_err(|_| unsupported(operation, "the constant is not complete"))?;
        return Ok(edit.constant(literal));
    }
    let scalar = edit.constant(constant.elements.clone());
    Ok(edit.spread(scalar, &constant.dims))
}

/// Returns the constant that an operation computes.
pub(super) fn constant_of(operation: &Operation) -> Option<&Constant> {
    match operation.attribute("value") {
        Some(Attribute::Array(constant)) => Some(constant),
        _ => None,
    }
}
