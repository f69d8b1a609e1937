//! Operations among devices.

use fusebox_core::hlo::{ComputationId, InstrId, Op, Opcode};

use super::Imported;
use super::call::Call;
use super::regions;
use crate::program::{Attribute, Constant, Operation};

/// Adds a collective operation.
pub(super) fn collective(call: &mut Call) -> Imported<InstrId> {
    if &*call.operation.name == "all_to_all"
        && let Some(added) = all_to_all(call)?
    {
        return Ok(added);
    }
    let mut called = Vec::new();
    if !call.operation.regions.is_empty() {
        called.push(("to_apply".to_owned(), vec![regions::applied(call, 0)?]));
    }
    let op = collective_op(call, called)?;
    call.push(op)
}

fn collective_op(call: &Call, called: Vec<(String, Vec<ComputationId>)>) -> Imported<Op> {
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
    Ok(Op::Other { opcode, called, attributes })
}

/// Adds an exchange in which devices split their arrays along one dimension and join the parts
/// along another one. HLO's `all-to-all` splits and joins along the same dimension.
fn all_to_all(call: &mut Call) -> Imported<Option<InstrId>> {
    let operation = call.operation;
    let (split, concat) = (operation.integer("split_dimension")?, operation.integer("concat_dimension")?);
    let count = operation.integer("split_count")?;
    let (Ok(split), Ok(concat)) = (usize::try_from(split), usize::try_from(concat)) else { return Ok(None) };
    let [operand] = call.operands[..] else { return Ok(None) };
    let dims = call.edit.dims(operand);
    if split == concat || split >= dims.len() || concat >= dims.len() || count < 1 || dims[split] % count != 0 {
        return Ok(None);
    }
    let shape = call.edit.shape(operand).clone();
    let exchanged = call.edit.add_shaped(collective_op(call, Vec::new())?, shape, [operand]);
    // The parts become a dimension of their own, which moves to the dimension to join.
    let mut parted = dims.clone();
    parted[split] = dims[split] / count;
    parted.insert(split, count);
    let parts = call.edit.reshape(exchanged, &parted);
    let mut order: Vec<i64> = (0..parted.len() as i64).filter(|&it| it != split as i64).collect();
    order.insert(concat, split as i64);
    let moved = call.edit.transpose(parts, &order);
    let mut joined = dims;
    joined[split] /= count;
    joined[concat] *= count;
    Ok(Some(call.edit.reshape(moved, &joined)))
}

/// Returns the dimension along which a collective operation splits or joins arrays.
fn dimension(operation: &Operation) -> Imported<Option<i64>> {
    let name = match &*operation.name {
        "all_gather" => "all_gather_dim",
        "all_to_all" => "split_dimension",
        "reduce_scatter" => "scatter_dimension",
        _ => return Ok(None),
    };
    operation.integer(name).map(Some)
}

/// Returns a matrix as HLO text: a list of rows. Omits negative numbers, which only pad short rows.
fn rows(matrix: &Constant) -> String {
    let columns = matrix.dims.last().map_or(1, |&columns| columns.max(1)) as usize;
    let numbers = matrix.integers().unwrap_or_default();
    let row = |row: &[i64]| {
        let ids: Vec<String> = row.iter().filter(|&&id| id >= 0).map(i64::to_string).collect();
        format!("{{{}}}", ids.join(","))
    };
    format!("{{{}}}", numbers.chunks(columns).map(row).collect::<Vec<_>>().join(","))
}
