//! Attributes that every instruction may have.

use std::collections::BTreeMap;

use super::attributes::{Attribute, Attributes};
use super::instruction::Scope;
use super::lexer::Cursor;
use super::parser::Parser;
use super::shapes::braces;
use super::source::{Fault, Parse};
use crate::{Extra, Metadata, Opcode};

/// The common attributes of one instruction, allocated only if the instruction has any.
#[derive(Default)]
pub(crate) struct CommonAttributes {
    extra: Option<Box<Extra>>,
}

impl CommonAttributes {
    fn get(&mut self) -> &mut Extra {
        self.extra.get_or_insert_default()
    }

    /// Keeps an attribute for which [`Extra`] has no separate field.
    pub(crate) fn keep(&mut self, name: &str, value: String) {
        self.get().other.push((name.to_owned(), value));
    }

    pub(crate) fn into_box(self) -> Option<Box<Extra>> {
        self.extra
    }
}

/// Names of attributes that any instruction may have. The parser keeps the listed attributes
/// verbatim.
const KEPT_ON_ALL: &[&str] = &["statistics", "origin", "original_value", "result_accuracy"];

impl<'t> Parser<'t> {
    /// Reads the attributes that every instruction may have.
    pub(super) fn extra(
        &mut self,
        attributes: &mut Attributes<'t>,
        _opcode: Opcode,
        scope: &Scope<'t>,
    ) -> Parse<CommonAttributes> {
        let mut common = CommonAttributes::default();
        if let Some(attribute) = attributes.take("metadata") {
            common.get().metadata = Some(attribute.read(metadata)?);
        }
        if let Some(attribute) = attributes.take("sharding") {
            common.get().sharding = Some(attribute.raw());
        }
        if let Some(attribute) = attributes.take("frontend_attributes") {
            common.get().frontend_attributes = attribute.read(string_map)?;
        }
        if let Some(attribute) = attributes.take("backend_config") {
            common.get().backend_config = Some(backend_config(attribute)?);
        }
        if let Some(attribute) = attributes.take("control-predecessors") {
            common.get().control_predecessors = attribute.read(|value| {
                value.expect(b'{', "before the control predecessors")?;
                value.list(b'}', |value| {
                    let (name, at) = value.name("an instruction")?;
                    scope.find(name, at)
                })
            })?;
        }
        for name in KEPT_ON_ALL {
            if let Some(attribute) = attributes.take(name) {
                common.keep(name, attribute.raw());
            }
        }
        Ok(common)
    }
}

/// Reads the raw text of a dictionary, or the content of a string.
fn backend_config(attribute: Attribute) -> Parse<String> {
    let mut value = attribute.value;
    match value.peek() {
        Some(b'"' | b'\'') => attribute.read(|value| value.string("the configuration")),
        _ => Ok(attribute.raw()),
    }
}

/// Reads `{key="value",key={…}}`.
pub(crate) fn string_map(value: &mut Cursor) -> Parse<BTreeMap<String, String>> {
    value.expect(b'{', "before the entries")?;
    let entries = value.list(b'}', |value| {
        let key = match value.peek() {
            Some(b'"' | b'\'') => value.string("a key")?,
            _ => value.expect_word("a key")?.to_owned(),
        };
        value.expect(b'=', "after the key")?;
        let content = match value.peek() {
            Some(b'"' | b'\'') => value.string("a value")?,
            _ => value.attribute_value()?.rest().trim().to_owned(),
        };
        Ok((key, content))
    })?;
    Ok(entries.into_iter().collect())
}

/// Reads `{name=value name=value}`, with blanks or commas between the fields.
pub(crate) fn fields<'t>(value: &mut Cursor<'t>) -> Parse<Vec<Attribute<'t>>> {
    let mut inner = braces(value)?;
    let mut fields = Vec::new();
    while !inner.is_done() {
        let at = inner.at();
        let name = inner.expect_word("the name of a field")?;
        inner.expect(b'=', "after the name of a field")?;
        fields.push(Attribute { name, at, value: inner.attribute_value()? });
        inner.eat(b',');
    }
    Ok(fields)
}

fn metadata(value: &mut Cursor) -> Parse<Metadata> {
    let mut metadata = Metadata::default();
    for field in fields(value)? {
        match field.name {
            "op_type" => metadata.op_type = field.read(|value| value.string("the type"))?,
            "op_name" => metadata.op_name = field.read(|value| value.string("the name"))?,
            "source_file" => metadata.source_file = field.read(|value| value.string("the file"))?,
            "source_line" => metadata.source_line = field.read(|value| value.integer32("the line"))?,
            "stack_frame_id" => metadata.stack_frame_id = field.read(|value| value.integer32("the frame"))?,
            "source_end_line" | "source_column" | "source_end_column" | "profile_type" | "deduplicated_name"
            | "scheduling_name" | "metadata_payload" | "preserve_layout" | "profile_info" => {
                metadata.other.push((field.name.to_owned(), field.raw()));
            }
            name => return Err(Fault::new(field.at, format!("metadata has no field `{name}`"))),
        }
    }
    Ok(metadata)
}
