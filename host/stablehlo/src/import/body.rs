//! The values of a computation under construction, and the instructions to which an operation is
//! converted.

use std::collections::{BTreeMap, HashMap};

use fusebox_core::hlo::{Extra, InstrId, Instruction, Op, Shape};
use fusebox_edit::{Builder, detached_instruction};

use super::Imported;
use super::functions::Importer;
use super::location::{metadata, unsupported};
use super::movement::constant;
use super::types::shape;
use crate::program::{Attribute, Operation, ValueId};

/// The instructions that compute the values of a computation.
#[derive(Default)]
pub(super) struct Body {
    values: HashMap<ValueId, InstrId>,
}

impl Body {
    pub(super) fn set(&mut self, value: ValueId, instruction: InstrId) {
        self.values.insert(value, instruction);
    }

    pub(super) fn get(&self, value: ValueId) -> Option<InstrId> {
        self.values.get(&value).copied()
    }
}

impl Importer<'_> {
    /// Returns the instruction that computes a value. A constant from outside of the computation is
    /// added to the computation.
    pub(super) fn value(
        &self,
        edit: &mut Builder,
        body: &mut Body,
        value: ValueId,
        user: &Operation,
    ) -> Imported<InstrId> {
        if let Some(known) = body.get(value) {
            return Ok(known);
        }
        let Some(&definition) = self.constants.get(&value) else {
            return Err(unsupported(user, "a value from outside of this region is not supported here"));
        };
        let added = edit.with_origin(self.origin(definition)?, |edit| constant(edit, definition))?;
        body.set(value, added);
        Ok(added)
    }

    pub(super) fn operands(&self, edit: &mut Builder, body: &mut Body, user: &Operation) -> Imported<Vec<InstrId>> {
        user.operands.iter().map(|&value| self.value(edit, body, value, user)).collect()
    }

    /// Returns the shape of the instruction for an operation: the shape of its only result, or the
    /// tuple of the shapes of all its results.
    pub(super) fn shape(&self, operation: &Operation) -> Imported<Shape> {
        let shapes = operation.results.iter().map(|&result| shape(self.program.value(result)));
        let mut shapes = shapes.collect::<Result<Vec<_>, _>>().map_err(|message| unsupported(operation, message))?;
        match (shapes.pop(), shapes.is_empty()) {
            (Some(single), true) => Ok(single),
            (last, _) => Ok(Shape::Tuple(shapes.into_iter().chain(last).collect())),
        }
    }

    /// Returns an instruction with the attributes that all instructions of an operation inherit.
    pub(super) fn origin(&self, operation: &Operation) -> Imported<Instruction> {
        let mut origin = detached_instruction(Op::Tuple, self.shape(operation)?);
        let metadata = metadata(&operation.location);
        let name = metadata.as_ref().map_or("", |it| &it.op_type);
        origin.name = if is_name(name) { name.to_owned() } else { operation.name.replace(['_', '.'], "-") };
        let frontend_attributes = frontend_attributes(operation);
        let sharding = operation.text("mhlo.sharding").ok().map(str::to_owned);
        let extra = Extra { metadata, frontend_attributes, sharding, ..Extra::default() };
        origin.extra = (extra != Extra::default()).then(|| Box::new(extra));
        Ok(origin)
    }

    /// Sets the instructions that compute the results of an operation: the instruction itself, or
    /// the elements of the tuple that it returns.
    pub(super) fn set_results(&self, edit: &mut Builder, body: &mut Body, operation: &Operation, added: InstrId) {
        match operation.results[..] {
            [result] => body.set(result, added),
            _ => {
                for (index, &result) in operation.results.iter().enumerate() {
                    let element = edit.element(added, index);
                    body.set(result, element);
                }
            }
        }
    }
}

fn frontend_attributes(operation: &Operation) -> BTreeMap<String, String> {
    let Some(Attribute::Dictionary(entries)) = operation.attribute("mhlo.frontend_attributes") else {
        return BTreeMap::new();
    };
    entries.iter().filter_map(|(name, value)| Some((name.to_string(), value.as_text()?.to_owned()))).collect()
}

/// Whether HLO text can contain a name without quotes.
fn is_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit() || b".-".contains(&byte))
}
