//! Reads the `HloModule` line and the debug tables.

use super::attributes::{Attribute, Attributes};
use super::extra::fields;
use super::lexer::Cursor;
use super::parser::Parser;
use super::shapes::{braces, shape};
use super::source::{Fault, Parse, ensure_at};
use crate::attribute::InText;
use crate::{AliasKind, EntryLayout, FileLocation, InputOutputAlias, StackFrame};

impl<'t> Parser<'t> {
    /// Reads the header if the text has one. A text without a header begins with a computation or
    /// consists of a single instruction.
    pub(super) fn header(&mut self, cursor: &mut Cursor<'t>) -> Parse<()> {
        let at = cursor.at();
        if !cursor.eat_word("HloModule") {
            return Ok(());
        }
        let (name, _) = cursor.name("the name of the module")?;
        self.module.name = name.to_owned();
        let mut attributes = Attributes::read(cursor, at, "HloModule")?;
        if let Some(attribute) = attributes.take("is_scheduled") {
            self.module.is_scheduled = attribute.read(|value| bool::read(value, "is_scheduled"))?;
        }
        let mut count = |name| match attributes.take(name) {
            Some(attribute) => attribute.read(|value| value.integer("an integer")),
            None => Ok(1),
        };
        self.module.replica_count = count("replica_count")?;
        self.module.num_partitions = count("num_partitions")?;
        if let Some(attribute) = attributes.take("input_output_alias") {
            self.module.input_output_alias = attribute.read(|value| {
                value.expect(b'{', "before the aliases")?;
                value.list(b'}', alias)
            })?;
        }
        if let Some(attribute) = attributes.take("buffer_donor") {
            self.module.buffer_donor = attribute.read(|value| {
                value.expect(b'{', "before the donors")?;
                value.list(b'}', donor)
            })?;
        }
        if let Some(attribute) = attributes.take("entry_computation_layout") {
            self.module.entry_layout = Some(attribute.read(entry_layout)?);
        }
        let rest = attributes.drain().map(|attribute| (attribute.name.to_owned(), attribute.raw()));
        self.module.other_attributes = rest.collect();
        self.debug_tables(cursor)
    }

    fn debug_tables(&mut self, cursor: &mut Cursor<'t>) -> Parse<()> {
        let tables = &mut self.module.debug_tables;
        if cursor.eat_word("FileNames") {
            tables.file_names = rows(cursor, |cursor| cursor.string("the name of a file"))?;
        }
        if cursor.eat_word("FunctionNames") {
            tables.function_names = rows(cursor, |cursor| cursor.string("the name of a function"))?;
        }
        if cursor.eat_word("FileLocations") {
            tables.file_locations = rows(cursor, file_location)?;
        }
        if cursor.eat_word("StackFrames") {
            tables.stack_frames = rows(cursor, stack_frame)?;
        }
        Ok(())
    }
}

/// Reads `{out index}: (parameter, {parameter index}[, kind])`.
fn alias(value: &mut Cursor) -> Parse<InputOutputAlias> {
    let output = value.integers("an index")?;
    value.expect(b':', "after the output index of an alias")?;
    value.expect(b'(', "before the parameter of an alias")?;
    let parameter = value.integer("the number of a parameter")?;
    let mut parameter_index = Vec::new();
    let mut kind = AliasKind::May;
    if value.eat(b',') {
        parameter_index = value.integers("an index")?;
    }
    if value.eat(b',') {
        let at = value.at();
        kind = match value.expect_word("may-alias or must-alias")? {
            "may-alias" => AliasKind::May,
            "must-alias" => AliasKind::Must,
            word => return Err(Fault::new(at, format!("expected may-alias or must-alias, found `{word}`"))),
        };
    }
    value.expect(b')', "after the parameter of an alias")?;
    Ok(InputOutputAlias { output, parameter, parameter_index, kind })
}

/// Reads `(parameter, {index})`.
fn donor(value: &mut Cursor) -> Parse<(i64, Vec<i64>)> {
    value.expect(b'(', "before a donor")?;
    let parameter = value.integer("the number of a parameter")?;
    value.expect(b',', "after the parameter of a donor")?;
    let index = value.integers("an index")?;
    value.expect(b')', "after a donor")?;
    Ok((parameter, index))
}

/// Reads `{(shape, …)->shape}`.
fn entry_layout(value: &mut Cursor) -> Parse<EntryLayout> {
    let mut inner = braces(value)?;
    inner.expect(b'(', "before the shapes of the parameters")?;
    let parameters = inner.list(b')', shape)?;
    if !inner.eat_symbol("->") {
        return Err(inner.unexpected("`->` and the shape of the result"));
    }
    let result = shape(&mut inner)?;
    inner.finish("the entry layout")?;
    Ok(EntryLayout { parameters, result })
}

/// Reads the rows of a table, numbered from 1.
fn rows<'t, T>(cursor: &mut Cursor<'t>, mut row: impl FnMut(&mut Cursor<'t>) -> Parse<T>) -> Parse<Vec<T>> {
    let mut rows = Vec::new();
    while matches!(cursor.peek(), Some(b'0'..=b'9')) {
        let at = cursor.at();
        let number = cursor.integer("the number of the row")?;
        let fits = number == rows.len() as i64 + 1;
        ensure_at!(fits, at, "expected row {} of the table, found row {number}", rows.len() + 1);
        rows.push(row(cursor)?);
    }
    Ok(rows)
}

/// Reads the fields of a row, which are all integers.
fn integer_fields<'t>(cursor: &mut Cursor<'t>, mut set: impl FnMut(&str, i64) -> bool) -> Parse<()> {
    for field in fields(cursor)? {
        let Attribute { name, at, .. } = field;
        let number = field.read(|value| value.integer32("the column"))?;
        ensure_at!(set(name, number), at, "this table has no column `{name}`");
    }
    Ok(())
}

fn file_location(cursor: &mut Cursor) -> Parse<FileLocation> {
    let mut location = FileLocation::default();
    integer_fields(cursor, |name, number| {
        let column = match name {
            "file_name_id" => &mut location.file_name_id,
            "function_name_id" => &mut location.function_name_id,
            "line" => &mut location.line,
            "end_line" => &mut location.end_line,
            "column" => &mut location.column,
            "end_column" => &mut location.end_column,
            _ => return false,
        };
        *column = number;
        true
    })?;
    Ok(location)
}

fn stack_frame(cursor: &mut Cursor) -> Parse<StackFrame> {
    let mut frame = StackFrame::default();
    integer_fields(cursor, |name, number| {
        let column = match name {
            "file_location_id" => &mut frame.file_location_id,
            "parent_frame_id" => &mut frame.parent_frame_id,
            _ => return false,
        };
        *column = number;
        true
    })?;
    Ok(frame)
}
