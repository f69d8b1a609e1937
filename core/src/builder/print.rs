//! Generic MLIR text of a recorded function.

use std::fmt::{self, Write as _};

use super::attribute::write_dictionary;
use super::function::{Operation, Region};
use super::{Attribute, Type, Value};

/// `(f32, index) -> f32`
pub(super) fn function_type(arguments: &[Type], results: &[Type]) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    _ = write_function_type(&mut text, arguments.iter(), results.iter());
    text
}

/// The whole `func.func` operation, with a line break at its end.
pub(super) fn function(header: &[(String, Attribute)], body: &Region, types: &[Type]) -> String {
    let mut printer = Printer { text: String::new(), types };
    _ = printer.function(header, body);
    printer.text
}

struct Printer<'a> {
    text: String,
    types: &'a [Type],
}

impl Printer<'_> {
    fn function(&mut self, header: &[(String, Attribute)], body: &Region) -> fmt::Result {
        self.text.push_str("\"func.func\"() (");
        self.region(body, 0)?;
        self.text.push_str(") ");
        write_dictionary(&mut self.text, header)?;
        self.text.push_str(" : () -> ()\n");
        Ok(())
    }

    fn region(&mut self, region: &Region, depth: usize) -> fmt::Result {
        self.text.push_str("{\n");
        if !region.arguments.is_empty() {
            write!(self.text, "{:1$}^bb0(", "", 2 * depth)?;
            for (i, &argument) in region.arguments.iter().enumerate() {
                let ty = &self.types[argument.0 as usize];
                write!(self.text, "{}%{}: {ty}", if i > 0 { ", " } else { "" }, argument.0)?;
            }
            self.text.push_str("):\n");
        }
        for operation in &region.operations {
            self.operation(operation, depth + 1)?;
        }
        write!(self.text, "{:1$}}}", "", 2 * depth)
    }

    fn operation(&mut self, operation: &Operation, depth: usize) -> fmt::Result {
        write!(self.text, "{:1$}", "", 2 * depth)?;
        if !operation.results.is_empty() {
            self.values(&operation.results)?;
            self.text.push_str(" = ");
        }
        write!(self.text, "\"{}\"(", operation.name)?;
        self.values(&operation.operands)?;
        self.text.push(')');
        for (i, region) in operation.regions.iter().enumerate() {
            self.text.push_str(if i > 0 { ", " } else { " (" });
            self.region(region, depth)?;
        }
        self.text.push_str(if operation.regions.is_empty() { "" } else { ")" });
        if !operation.attributes.is_empty() {
            self.text.push(' ');
            write_dictionary(&mut self.text, &operation.attributes)?;
        }
        self.text.push_str(" : ");
        let types = |values: &[Value]| -> Vec<&Type> { values.iter().map(|v| &self.types[v.0 as usize]).collect() };
        let (operands, results) = (types(&operation.operands), types(&operation.results));
        write_function_type(&mut self.text, operands.into_iter(), results.into_iter())?;
        if let Some(place) = &operation.place {
            write!(self.text, " loc(\"{}\")", place.escape_default())?;
        }
        self.text.push('\n');
        Ok(())
    }

    fn values(&mut self, values: &[Value]) -> fmt::Result {
        for (i, value) in values.iter().enumerate() {
            write!(self.text, "{}%{}", if i > 0 { ", " } else { "" }, value.0)?;
        }
        Ok(())
    }
}

fn write_function_type<'a>(
    text: &mut String,
    arguments: impl Iterator<Item = &'a Type>,
    results: impl ExactSizeIterator<Item = &'a Type>,
) -> fmt::Result {
    let list = |text: &mut String, types: &mut dyn Iterator<Item = &'a Type>| -> fmt::Result {
        text.push('(');
        for (i, ty) in types.enumerate() {
            write!(text, "{}{ty}", if i > 0 { ", " } else { "" })?;
        }
        text.push(')');
        Ok(())
    };
    list(text, &mut { arguments })?;
    text.push_str(" -> ");
    let mut results = results;
    if results.len() == 1
        && let Some(ty) = results.next()
    {
        return write!(text, "{ty}");
    }
    list(text, &mut results)
}
