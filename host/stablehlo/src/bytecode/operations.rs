//! The operations of an artifact.
//!
//! Numbers identify values. The values of an isolated region are numbered from zero. In any other
//! region, the numbers continue the numbers of the enclosing region. Later regions use the numbers
//! of an ended region again.

use std::sync::Arc;

use super::container::{Container, nested_body};
use super::cursor::{Cursor, Read};
use super::entities::{Decoder, Dialects, Entities};
use super::operation_table::attributes_of;
use crate::program::{Attribute, Block, Operation, Region, Type, ValueId};

/// Maximum nesting depth of regions. The reader refuses artifacts with a deeper nesting, so that
/// reading needs a bounded stack.
const MAX_DEPTH: usize = 64;

// Parts of an operation that follow, as bits of its mask.
const HAS_ATTRIBUTES: u8 = 1;
const HAS_RESULTS: u8 = 2;
const HAS_OPERANDS: u8 = 4;
const HAS_SUCCESSORS: u8 = 8;
const HAS_REGIONS: u8 = 16;
const HAS_USE_LISTS: u8 = 32;
const HAS_PROPERTIES: u8 = 64;

/// Reads operations, and collects the types of their values.
pub(super) struct Reader<'c, 'a> {
    container: &'c Container<'a>,
    entities: Entities<'c, 'a>,
    /// The names of operations in the program. The index is the number of the name in the artifact.
    /// `None` until the first operation with this name has been read.
    names: Vec<Option<Name>>,
    /// Types of all values.
    pub values: Vec<Type>,
    /// The values of the regions around the current position. The index is the number of the value.
    /// `None` for a value that a later operation defines.
    visible: Vec<Option<ValueId>>,
    depth: usize,
}

/// Name and attributes of an operation.
#[derive(Clone)]
struct Name {
    in_program: Arc<str>,
    properties: Arc<[Property]>,
}

/// An attribute that is stored without its name.
struct Property {
    name: Arc<str>,
    is_optional: bool,
}

impl<'c, 'a> Reader<'c, 'a> {
    pub(super) fn new(container: &'c Container<'a>, dialects: &'c Dialects) -> Self {
        Reader {
            container,
            entities: Entities::new(container, dialects),
            names: vec![None; container.operations.len()],
            values: Vec::new(),
            visible: Vec::new(),
            depth: 0,
        }
    }

    /// Reads the outermost operation.
    pub(super) fn module(&mut self) -> Read<Operation> {
        let mut cursor = self.container.body;
        let mut block = self.block(&mut cursor, &mut 0)?;
        cursor.finish("the operations")?;
        match (block.operations.pop(), block.operations.is_empty()) {
            (Some(module), true) => Ok(module),
            _ => Err(cursor.error("an artifact has one outermost operation")),
        }
    }

    fn decoder(&self) -> Decoder<'_, 'c, 'a> {
        self.entities.decoder()
    }

    /// Reads a block. `next` is the number of the next value.
    fn block(&mut self, cursor: &mut Cursor<'a>, next: &mut usize) -> Read<Block> {
        let (operations, has_arguments) = cursor.flagged()?;
        let operations = cursor.checked_count(operations, 1)?;
        let arguments = if has_arguments { self.arguments(cursor, next)? } else { Vec::new() };
        let operations = (0..operations).map(|_| self.operation(cursor, next)).collect::<Read<_>>()?;
        Ok(Block { arguments, operations })
    }

    fn arguments(&mut self, cursor: &mut Cursor<'a>, next: &mut usize) -> Read<Vec<ValueId>> {
        let arguments = (0..cursor.count_of(1)?)
            .map(|_| {
                if self.container.version < 4 {
                    let r#type = self.decoder().r#type(cursor)?;
                    self.decoder().location(cursor)?;
                    return self.define(cursor, r#type, next);
                }
                // The flag says whether a location follows.
                let (index, has_location) = cursor.flagged()?;
                let r#type = self.decoder().type_at(cursor, index)?;
                if has_location {
                    self.decoder().location(cursor)?;
                }
                self.define(cursor, r#type, next)
            })
            .collect::<Read<Vec<_>>>()?;
        if self.container.version >= 3 && cursor.byte()? != 0 {
            use_lists(cursor, arguments.len())?;
        }
        Ok(arguments)
    }

    fn operation(&mut self, cursor: &mut Cursor<'a>, next: &mut usize) -> Read<Operation> {
        let number = cursor.index(self.container.operations.len(), "names of operations")?;
        let Name { in_program: name, properties } = self.name(cursor, number)?;
        let mask = cursor.byte()?;
        let has = |part: u8| mask & part != 0;
        let location = self.decoder().location(cursor)?;
        let mut attributes = Vec::new();
        if has(HAS_ATTRIBUTES) {
            match self.decoder().attribute(cursor)? {
                Attribute::Dictionary(entries) => attributes.extend(entries.iter().cloned()),
                _ => return Err(cursor.error(format!("attributes of {name} that are no dictionary"))),
            }
        }
        if has(HAS_PROPERTIES) {
            let set = cursor.index(self.container.properties.len(), "sets of properties")?;
            self.properties(&properties, self.container.properties[set], &mut attributes)?;
        }
        let types = if has(HAS_RESULTS) { self.decoder().types(cursor)? } else { Vec::new() };
        let operands = if has(HAS_OPERANDS) { cursor.list(|cursor| self.operand(cursor))? } else { Vec::new() };
        if has(HAS_SUCCESSORS) {
            return Err(cursor.error(format!("{name} has successors, which StableHLO's operations do not have")));
        }
        if has(HAS_USE_LISTS) {
            use_lists(cursor, types.len())?;
        }
        let results = types.into_iter().map(|of| self.define(cursor, of, next)).collect::<Read<_>>()?;
        let regions = if has(HAS_REGIONS) { self.regions(cursor)? } else { Vec::new() };
        Ok(Operation { name, operands, results, attributes, regions, location })
    }

    fn regions(&mut self, cursor: &mut Cursor<'a>) -> Read<Vec<Region>> {
        let (count, is_isolated) = cursor.flagged()?;
        let count = cursor.checked_count(count, 1)?;
        if self.depth == MAX_DEPTH {
            return Err(cursor.error(format!("regions are nested more than {MAX_DEPTH} deep")));
        }
        self.depth += 1;
        let regions = if is_isolated && count > 0 {
            let outer = std::mem::take(&mut self.visible);
            let mut own;
            let cursor = if self.container.version >= 2 {
                own = nested_body(cursor)?;
                &mut own
            } else {
                cursor
            };
            let regions = (0..count).map(|_| self.region(cursor)).collect();
            self.visible = outer;
            regions
        } else {
            (0..count).map(|_| self.region(cursor)).collect()
        };
        self.depth -= 1;
        regions
    }

    fn region(&mut self, cursor: &mut Cursor<'a>) -> Read<Region> {
        let blocks = cursor.count_of(1)?;
        if blocks == 0 {
            return Ok(Region::default());
        }
        let values = cursor.count_of(1)?;
        let begin = self.visible.len();
        self.visible.resize(begin + values, None);
        let mut next = begin;
        let blocks = (0..blocks).map(|_| self.block(cursor, &mut next)).collect::<Read<_>>()?;
        self.visible.truncate(begin);
        Ok(Region { blocks })
    }

    /// Creates the value with the number `next`.
    fn define(&mut self, cursor: &Cursor, r#type: Type, next: &mut usize) -> Read<ValueId> {
        let id = u32::try_from(self.values.len()).map_err(|_| cursor.error("the program has too many values"))?;
        let place = self.visible.get_mut(*next);
        *place.ok_or_else(|| cursor.error("a region has more values than it states"))? = Some(ValueId(id));
        self.values.push(r#type);
        *next += 1;
        Ok(ValueId(id))
    }

    fn operand(&self, cursor: &mut Cursor) -> Read<ValueId> {
        let number = cursor.index(self.visible.len(), "values")?;
        self.visible[number].ok_or_else(|| cursor.error("an operand is computed after its use"))
    }

    /// Reads values of attributes that are stored without their names.
    fn properties(
        &self,
        properties: &[Property],
        mut values: Cursor<'a>,
        attributes: &mut Vec<(Arc<str>, Attribute)>,
    ) -> Read<()> {
        for Property { name, is_optional } in properties {
            let index = if *is_optional {
                let (index, is_present) = values.flagged()?;
                if !is_present {
                    continue;
                }
                index
            } else {
                values.number()?
            };
            attributes.push((name.clone(), self.decoder().attribute_at(&values, index)?));
        }
        values.finish("the properties of an operation")
    }

    fn name(&mut self, cursor: &Cursor, number: usize) -> Read<Name> {
        if let Some(name) = &self.names[number] {
            return Ok(name.clone());
        }
        let stored = &self.container.operations[number];
        let full = format!("{}.{}", stored.dialect, stored.name);
        if !stored.is_registered {
            return Err(cursor.error(format!("{full}: an operation that the writer did not know")));
        }
        let (in_program, properties) = match &*stored.dialect {
            "vhlo" => (without_version(&stored.name).to_owned(), vhlo_properties(&stored.name)),
            _ => (full.clone(), properties_of(&full)),
        };
        let properties = properties.ok_or_else(|| cursor.error(format!("the operation {full} is not known")))?;
        let name = Name { in_program: in_program.into(), properties };
        self.names[number] = Some(name.clone());
        Ok(name)
    }
}

/// Skips the use-list orders of `values` values, which only MLIR needs.
fn use_lists(cursor: &mut Cursor, values: usize) -> Read<()> {
    let lists = if values > 1 { cursor.count_of(1)? } else { 1 };
    for _ in 0..lists {
        if values > 1 {
            cursor.number()?;
        }
        let (numbers, _) = cursor.flagged()?;
        for _ in 0..cursor.checked_count(numbers, 1)? {
            cursor.number()?;
        }
    }
    Ok(())
}

/// Removes the version from a name: `add_v1` is `add`.
fn without_version(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((base, version)) if !version.is_empty() && version.bytes().all(|it| it.is_ascii_digit()) => base,
        _ => name,
    }
}

fn vhlo_properties(name: &str) -> Option<Arc<[Property]>> {
    let property = |name: &&str| Property { name: (*name).into(), is_optional: false };
    Some(attributes_of(name)?.iter().map(property).collect())
}

/// Returns the properties of an operation of another dialect than VHLO.
fn properties_of(name: &str) -> Option<Arc<[Property]>> {
    let (needed, optional): (&[&str], &[&str]) = match name {
        "builtin.module" => (&[], &["sym_name", "sym_visibility"]),
        "builtin.unrealized_conversion_cast" | "sdy.return" => (&[], &[]),
        "sdy.manual_computation" => (&["in_shardings", "manual_axes", "out_shardings"], &[]),
        "sdy.mesh" => (&["mesh", "sym_name"], &[]),
        "sdy.named_computation" => (&["name"], &["in_shardings", "out_shardings"]),
        "sdy.propagation_barrier" => (&["allowed_direction"], &[]),
        "sdy.sharding_constraint" => (&["sharding"], &[]),
        "sdy.sharding_group" => (&["group_id"], &[]),
        _ => return None,
    };
    let property = |name: &&str, is_optional| Property { name: (*name).into(), is_optional };
    let mut all: Vec<Property> = needed.iter().map(|name| property(name, false)).collect();
    all.extend(optional.iter().map(|name| property(name, true)));
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Some(all.into())
}
