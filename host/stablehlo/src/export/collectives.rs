//! Operations among devices.

use fusebox_core::hlo::{Instruction, Op, Opcode};

use super::exporter::{Exporter, Named, integer, operation};
use super::held::Held;
use super::push::{matrix, push};
use super::{Exported, control};
use crate::program::{Attribute, Region, ValueId};

/// Adds a collective operation. HLO instructions hold the attributes of collective operations as
/// text.
pub(super) fn collective<'m>(
    exporter: &mut Exporter<'m>,
    instruction: &'m Instruction,
    operands: &[Held],
) -> Exported<Held> {
    let Op::Other { opcode, called, attributes: kept } = &instruction.op else {
        return exporter.refused("the operation is no exchange among devices");
    };
    let dimension = match opcode {
        Opcode::AllGather => Some("all_gather_dim"),
        Opcode::AllToAll => Some("split_dimension"),
        Opcode::ReduceScatter => Some("scatter_dimension"),
        Opcode::AllReduce | Opcode::CollectiveBroadcast | Opcode::CollectivePermute => None,
        _ => return exporter.refused(format!("StableHLO has no operation {opcode}")),
    };
    let mut attributes = Named::new();
    let mut devices = 1;
    for (name, value) in kept {
        let unknown = || exporter.refused(format!("StableHLO has no {name} {value}"));
        match name.as_str() {
            "channel_id" => match value.parse() {
                Ok(channel) => attributes.push(("channel_id".into(), integer(channel))),
                Err(_) => return unknown(),
            },
            "replica_groups" | "source_target_pairs" => match rows(value) {
                Some(rows) => {
                    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
                    devices = columns as i64;
                    attributes.push((name.as_str().into(), padded(rows, columns)));
                }
                None => return unknown(),
            },
            "use_global_device_ids" if value == "true" => {
                attributes.push((name.as_str().into(), Attribute::Unit));
            }
            "use_global_device_ids" | "constrain_layout" if value == "false" => {}
            "dimensions" => match (dimension, value.trim_matches(['{', '}']).parse()) {
                (Some(own), Ok(number)) => attributes.push((own.into(), integer(number))),
                _ => return unknown(),
            },
            _ => return unknown(),
        }
    }
    if let Some(needed) = dimension.filter(|needed| attributes.iter().all(|(name, _)| &**name != *needed)) {
        return exporter.refused(format!("StableHLO needs the dimension {needed}"));
    }
    if *opcode == Opcode::AllToAll {
        let split = attributes.iter().find(|(name, _)| &**name == "split_dimension").map(|(_, value)| value.clone());
        attributes.extend(split.map(|dimension| ("concat_dimension".into(), dimension)));
        attributes.push(("split_count".into(), integer(devices)));
    }
    let computations = called.iter().flat_map(|(_, ids)| ids);
    let regions = computations.map(|&id| control::applied(exporter, id)).collect::<Exported<Vec<Region>>>()?;
    let values = operands.iter().map(|it| exporter.value(it)).collect::<Exported<Vec<ValueId>>>()?;
    push(exporter, instruction, operation(&opcode.name().replace('-', "_"), values, attributes, regions))
}

/// Reads `{{0,1},{2,3}}`.
fn rows(text: &str) -> Option<Vec<Vec<i64>>> {
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let inner = compact.strip_prefix('{')?.strip_suffix('}')?;
    if inner.is_empty() {
        return Some(Vec::new());
    }
    let inner = inner.strip_prefix('{')?.strip_suffix('}')?;
    let row = |row: &str| row.split(',').map(|number| number.parse().ok()).collect();
    inner.split("},{").map(row).collect()
}

/// Returns rows as a matrix. Fills short rows up with -1.
fn padded(mut rows: Vec<Vec<i64>>, columns: usize) -> Attribute {
    rows.iter_mut().for_each(|row| row.resize(columns, -1));
    matrix(rows, columns)
}
