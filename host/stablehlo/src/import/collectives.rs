//! Operations among devices.

use fusebox_core::hlo::{InstrId, Op, Opcode};

use super::Imported;
use super::call::Call;
use super::regions;
use crate::program::{Attribute, Constant, Operation};

/// Adds a collective operation.
pub(super) fn collective(call: &mut Call) -> Imported<InstrId> {
    let operation = call.operation;
    let name = operation.name.replace('_', "-");
    let Ok(opcode) = name.parse::<Opcode>() else {
        return call.unsupported("the operation is not supported");
    };
    let mut attributes = Vec::new();
    let mut add = |name: &str, value: String| attributes.push((name.to_owned(), value));
    if let Some(Attribute::Integer(_, channel @ 1..)) = operation.attribute("channel_id") {
        add("channel_id", channel.to_string());
    }
    for name in ["replica_groups", "source_target_pairs"] {
        if operation.attribute(name).is_some() {
            add(name, rows(operation.constant(name)?));
        }
    }
    if let Some(dimension) = dimension(operation)? {
        add("dimensions", format!("{{{dimension}}}"));
    }
    if operation.flag("use_global_device_ids")? {
        add("use_global_device_ids", "true".into());
    }
    let mut called = Vec::new();
    if !operation.regions.is_empty() {
        called.push(("to_apply".to_owned(), vec![regions::applied(call, 0)?]));
    }
    call.push(Op::Other { opcode, called, attributes })
}

/// Returns the dimension along which arrays are split or joined.
fn dimension(operation: &Operation) -> Imported<Option<i64>> {
    let name = match &*operation.name {
        "all_gather" => "all_gather_dim",
        "all_to_all" => "split_dimension",
        "reduce_scatter" => "scatter_dimension",
        _ => return Ok(None),
    };
    operation.integer(name).map(Some)
}

/// Returns a matrix in the form of HLO text: a list of rows. Rows end at the first negative number.
fn rows(matrix: &Constant) -> String {
    let columns = matrix.dims.last().map_or(1, |&columns| columns.max(1)) as usize;
    let numbers = matrix.integers().unwrap_or_default();
    let row = |row: &[i64]| {
        let ids: Vec<String> = row.iter().filter(|&&id| id >= 0).map(i64::to_string).collect();
        format!("{{{}}}", ids.join(","))
    };
    format!("{{{}}}", numbers.chunks(columns).map(row).collect::<Vec<_>>().join(","))
}
