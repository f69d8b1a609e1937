//! Collective operations: what each device receives, and the groups of devices that exchange
//! arrays.

use std::collections::BTreeMap;

use super::mesh::Mesh;
use super::{expect, integer, list, string, unexpected};
use crate::text::lexer::Cursor;
use crate::{BinaryOp, Combiner, Computation, ComputationId, InstrId, Instruction, Module, Op, Opcode};

/// An operation by which the devices of a group exchange arrays. The order of the devices in a
/// group is the order of their ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collective {
    /// The arrays that each device receives.
    pub kind: CollectiveKind,
    /// The groups of devices. The list is empty if all devices form one group, ordered by their
    /// numbers.
    groups: Vec<Vec<i64>>,
}

/// The arrays that each device of a group receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CollectiveKind {
    /// Every device receives the combination of all devices' arrays.
    AllReduce(BinaryOp),
    /// Every device receives all devices' arrays, concatenated along a dimension.
    AllGather(usize),
    /// The operation combines the arrays of all devices. Every device receives one part of the
    /// combined array, which is divided along a dimension.
    ReduceScatter(BinaryOp, usize),
    /// Every device cuts its array along a dimension into one part per device, and concatenates the
    /// parts that it receives. Without a dimension, every device sends one of its operands to each
    /// device.
    AllToAll(Option<usize>),
    /// Pairs of devices: the second device of a pair receives the array of the first device. A
    /// device receives zeros if no pair sends an array to it.
    Permute(Vec<(i64, i64)>),
    /// Every device receives the array of the group's first device.
    Broadcast,
}

impl Collective {
    /// Whether an operation is a collective. Returns true also for collectives that fusebox does
    /// not support.
    pub fn is(op: &Op) -> bool {
        use Opcode::{
            AllGather, AllReduce, AllToAll, CollectiveBroadcast, CollectivePermute, RaggedAllToAll, ReduceScatter,
        };
        let all =
            [AllGather, AllReduce, AllToAll, CollectiveBroadcast, CollectivePermute, RaggedAllToAll, ReduceScatter];
        matches!(op, Op::Other { opcode, .. } if all.contains(opcode))
    }

    /// Reads the attributes of a collective operation of a module.
    ///
    /// # Errors
    /// Fails if the operation is not a collective that fusebox supports.
    pub fn of(module: &Module, instruction: &Instruction) -> Result<Collective, String> {
        let Op::Other { opcode, called, attributes } = &instruction.op else {
            return Err(format!("{} is no collective", instruction.opcode()));
        };
        let attribute = |name: &str| attributes.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str());
        let dimension = || dimension(attribute("dimensions"));
        let combiner = || combiner(module, called);
        let kind = match opcode {
            Opcode::AllReduce => CollectiveKind::AllReduce(combiner()?),
            Opcode::AllGather => CollectiveKind::AllGather(needed(dimension()?)?),
            Opcode::ReduceScatter => CollectiveKind::ReduceScatter(combiner()?, needed(dimension()?)?),
            Opcode::AllToAll => CollectiveKind::AllToAll(dimension()?),
            Opcode::CollectivePermute => CollectiveKind::Permute(pairs(attribute("source_target_pairs"))?),
            Opcode::CollectiveBroadcast => CollectiveKind::Broadcast,
            _ => return Err(format!("{opcode} is not supported")),
        };
        if attribute("channel_id").is_none() {
            return Err(format!(
                "{opcode} without channel_id is an exchange between replicas, and programs have only one"
            ));
        }
        Ok(Collective { kind, groups: attribute("replica_groups").map_or(Ok(Vec::new()), groups)? })
    }

    /// Returns the group of `device`. `devices` contains the sorted numbers of the devices that
    /// execute the operation. Returns `None` if the device is in no group.
    pub fn group_of(&self, device: i64, devices: &[i64]) -> Option<Vec<i64>> {
        if let CollectiveKind::Permute(pairs) = &self.kind {
            return Some(linked(pairs, device, devices));
        }
        if self.groups.is_empty() {
            return Some(devices.to_vec());
        }
        let group = self.groups.iter().find(|group| group.contains(&device))?;
        Some(group.iter().filter(|it| devices.binary_search(it).is_ok()).copied().collect())
    }
}

/// Returns the devices that the pairs connect to `device`, directly or through other devices.
fn linked(pairs: &[(i64, i64)], device: i64, devices: &[i64]) -> Vec<i64> {
    let mut group = vec![device];
    let mut next = 0;
    while let Some(&member) = group.get(next) {
        let others = pairs.iter().filter(|(source, target)| *source == member || *target == member);
        for other in others.flat_map(|&(source, target)| [source, target]) {
            if !group.contains(&other) && devices.binary_search(&other).is_ok() {
                group.push(other);
            }
        }
        next += 1;
    }
    group.sort_unstable();
    group
}

/// Returns the operation by which a computation combines arrays.
fn combiner(module: &Module, called: &[(String, Vec<ComputationId>)]) -> Result<BinaryOp, String> {
    use BinaryOp::{Add, And, Maximum, Minimum, Multiply, Or, Xor};
    let id = called.iter().flat_map(|(_, ids)| ids).next().ok_or("a combination needs a computation")?;
    let computation = module.computation(*id);
    let combined = Combiner::of(&without_annotation(computation)).and_then(Combiner::in_order);
    let known = combined.filter(|op| [Add, And, Maximum, Minimum, Multiply, Or, Xor].contains(op));
    known.ok_or_else(|| {
        format!(
            "the combiner {} is not supported: it must be one add, multiply, minimum, maximum, and, or, xor",
            computation.name
        )
    })
}

/// Returns the computation with a new root: the value that the old root annotates or copies.
fn without_annotation(computation: &Computation) -> Computation {
    let mut result = computation.clone();
    let annotated = |id: InstrId| match &computation.instruction(id).op {
        Op::CustomCall(call) if call.target == "Sharding" => computation.instruction(id).operands.first().copied(),
        Op::Copy => computation.instruction(id).operands.first().copied(),
        _ => None,
    };
    while let Some(inner) = annotated(result.root) {
        result.root = inner;
    }
    result
}

fn needed(dimension: Option<usize>) -> Result<usize, String> {
    dimension.ok_or_else(|| "the attribute dimensions is missing".into())
}

/// Reads a list of at most one dimension.
fn dimension(text: Option<&str>) -> Result<Option<usize>, String> {
    let Some(text) = text else { return Ok(None) };
    let mut cursor = Cursor::new(text);
    expect(&mut cursor, "{")?;
    match list(&mut cursor, b'}', integer)?[..] {
        [] => Ok(None),
        [one] => usize::try_from(one).map(Some).map_err(|_| "a dimension is negative".into()),
        _ => Err("a collective has one dimension".into()),
    }
}

fn pairs(text: Option<&str>) -> Result<Vec<(i64, i64)>, String> {
    let mut cursor = Cursor::new(text.ok_or("the attribute source_target_pairs is missing")?);
    expect(&mut cursor, "{")?;
    let pairs = list(&mut cursor, b'}', |cursor| {
        expect(cursor, "{")?;
        match list(cursor, b'}', integer)?[..] {
            [source, target] => Ok((source, target)),
            _ => Err(unexpected(cursor, "a pair of devices")),
        }
    })?;
    for (number, (source, target)) in pairs.iter().enumerate() {
        if pairs[..number].iter().any(|(other, to)| other == source || to == target) {
            return Err(format!("a device sends or receives twice: {source} to {target}"));
        }
    }
    Ok(pairs)
}

/// Reads one of the forms `{{0,1},{2,3}}`, `[2,2]<=[4]T(0)` and `mesh['a'=2,'b'=2] {'b'}`.
fn groups(text: &str) -> Result<Vec<Vec<i64>>, String> {
    let mut cursor = Cursor::new(text);
    let groups = if cursor.eat(b'{') {
        list(&mut cursor, b'}', |cursor| {
            expect(cursor, "{")?;
            list(cursor, b'}', integer)
        })?
    } else if cursor.eat(b'[') {
        let dims = list(&mut cursor, b']', integer)?;
        expect(&mut cursor, "<=[")?;
        let ids = super::tiling::iota(&mut cursor)?;
        let &[count, size @ 1..=i64::MAX] = &dims[..] else {
            return Err(unexpected(&cursor, "two dimensions of groups"));
        };
        if count.checked_mul(size) != Some(ids.len() as i64) {
            return Err(unexpected(&cursor, "as many devices as groups have"));
        }
        ids.chunks(size as usize).map(<[i64]>::to_vec).collect()
    } else {
        along_axes(&mut cursor)?
    };
    let mut all: Vec<i64> = groups.iter().flatten().copied().collect();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    if all.len() == count { Ok(groups) } else { Err("a device is in several groups".into()) }
}

/// Reads `mesh['a'=2,'b'=2] {'b'}`: devices that differ only along the named axes are a group.
fn along_axes(cursor: &mut Cursor) -> Result<Vec<Vec<i64>>, String> {
    expect(cursor, "mesh")?;
    let mesh = Mesh::read(cursor)?;
    expect(cursor, "{")?;
    let names = list(cursor, b'}', string)?;
    let numbers = names.iter().map(|name| mesh.axis(name)).collect::<Result<Vec<usize>, String>>()?;
    // For each group, its coordinates along the other axes: the devices by their ranks.
    let mut groups: BTreeMap<Vec<i64>, BTreeMap<Vec<i64>, i64>> = BTreeMap::new();
    for position in 0..mesh.size() {
        let mut others = mesh.coordinates(position);
        let rank = numbers.iter().map(|&number| std::mem::replace(&mut others[number], 0)).collect();
        groups.entry(others).or_default().insert(rank, mesh.device(position));
    }
    Ok(groups.into_values().map(|members| members.into_values().collect()).collect())
}
