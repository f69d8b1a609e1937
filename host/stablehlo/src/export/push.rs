//! Adds the operation of an instruction, with the attributes that all instructions may have.

use fusebox_core::hlo::{ArrayLiteral, ElementType, Extra, Instruction};

use super::Exported;
use super::exporter::{Exporter, Named, text};
use super::held::Held;
use crate::program::{Attribute, Constant};

/// Adds the operation of an instruction. Each element of a tuple becomes a separate result of the
/// operation.
pub(super) fn push(
    exporter: &mut Exporter,
    instruction: &Instruction,
    mut operation: crate::program::Operation,
) -> Exported<Held> {
    operation.attributes.extend(instruction.extra.iter().flat_map(|extra| annotations(extra)));
    let types = exporter.result_types(&instruction.shape)?;
    let results = exporter.add(operation, types)?;
    Ok(Held::of_results(&instruction.shape, &results))
}

/// Returns the sharding and the attributes that users gave to an operation.
pub(super) fn annotations(extra: &Extra) -> Named {
    let mut attributes = Named::new();
    if let Some(sharding) = &extra.sharding {
        attributes.push(("mhlo.sharding".into(), text(sharding)));
    }
    if !extra.frontend_attributes.is_empty() {
        let entries = extra.frontend_attributes.iter().map(|(name, value)| (name.as_str().into(), text(value)));
        attributes.push(("mhlo.frontend_attributes".into(), Attribute::Dictionary(entries.collect())));
    }
    attributes
}

/// Returns a matrix of integers. All rows have the same number of columns.
pub(super) fn matrix(rows: Vec<Vec<i64>>, columns: usize) -> Attribute {
    let dims = vec![rows.len() as i64, columns as i64];
    let data: Vec<u8> = rows.iter().flatten().flat_map(|number| number.to_le_bytes()).collect();
    let elements = ArrayLiteral { element_type: ElementType::S64, dims: dims.clone(), data: data.into() };
    Attribute::Array(Constant { elements, dims }.into())
}
