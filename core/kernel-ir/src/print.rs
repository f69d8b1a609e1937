//! Prints functions in MLIR's generic text form.

use std::borrow::Cow;
use std::fmt::{self, Write};

use super::attribute::{write_dictionary, write_quoted};
use super::{Attribute, Function, Operation, Place, Region, Type, Value};

impl fmt::Display for Function {
    /// Prints the whole `func.func` operation with a line break at its end. The alternate form
    /// `{:#}` prints the origins of all operations. The plain form `{}` prints only origins that
    /// name an HLO instruction, and is easier to read than `{:#}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer { out: f, types: &self.types }.function(self)
    }
}

struct Printer<'a, 'f> {
    out: &'a mut fmt::Formatter<'f>,
    types: &'a [Type],
}

impl Printer<'_, '_> {
    fn function(&mut self, function: &Function) -> fmt::Result {
        self.out.write_str("\"func.func\"() (")?;
        self.region(&function.body, 0)?;
        self.out.write_str(") ")?;
        write_dictionary(self.out, &header(function))?;
        self.out.write_str(" : () -> ()\n")
    }

    fn region(&mut self, region: &Region, depth: usize) -> fmt::Result {
        self.out.write_str("{\n")?;
        if !region.arguments.is_empty() {
            write!(self.out, "{:1$}^bb0(", "", 2 * depth)?;
            for (i, &argument) in region.arguments.iter().enumerate() {
                let ty = &self.types[argument.number()];
                write!(self.out, "{}%{}: {ty}", if i > 0 { ", " } else { "" }, argument.0)?;
            }
            self.out.write_str("):\n")?;
        }
        for operation in &region.operations {
            self.operation(operation, depth + 1)?;
        }
        write!(self.out, "{:1$}}}", "", 2 * depth)
    }

    fn operation(&mut self, operation: &Operation, depth: usize) -> fmt::Result {
        write!(self.out, "{:1$}", "", 2 * depth)?;
        if !operation.results.is_empty() {
            self.values(&operation.results)?;
            self.out.write_str(" = ")?;
        }
        write!(self.out, "\"{}\"(", operation.kind)?;
        self.values(&operation.operands)?;
        self.out.write_char(')')?;
        for (i, region) in operation.regions.iter().enumerate() {
            self.out.write_str(if i > 0 { ", " } else { " (" })?;
            self.region(region, depth)?;
        }
        self.out.write_str(if operation.regions.is_empty() { "" } else { ")" })?;
        if !operation.attributes.is_empty() {
            self.out.write_char(' ')?;
            write_dictionary(self.out, &operation.attributes)?;
        }
        self.out.write_str(" : ")?;
        let types = |values: &[Value]| -> Vec<&Type> { values.iter().map(|v| &self.types[v.number()]).collect() };
        let (operands, results) = (types(&operation.operands), types(&operation.results));
        write!(self.out, "{}", FunctionType(&operands, &results))?;
        write_place(self.out, &operation.place)?;
        self.out.write_char('\n')
    }

    fn values(&mut self, values: &[Value]) -> fmt::Result {
        for (i, value) in values.iter().enumerate() {
            write!(self.out, "{}%{}", if i > 0 { ", " } else { "" }, value.0)?;
        }
        Ok(())
    }
}

/// Returns all attributes of a `func.func`.
fn header(function: &Function) -> Vec<(Cow<'static, str>, Attribute)> {
    let arguments: Vec<&Type> = function.body.arguments.iter().map(|&v| function.type_of(v)).collect();
    let results: Vec<&Type> = function.results.iter().collect();
    let mut header = vec![
        ("sym_name".into(), Attribute::Str(function.name.clone())),
        ("function_type".into(), Attribute::Raw(FunctionType(&arguments, &results).to_string())),
    ];
    if function.private {
        header.push(("sym_visibility".into(), Attribute::str("private")));
    }
    if function.argument_attributes.iter().any(|attributes| !attributes.is_empty()) {
        let dictionaries = function.argument_attributes.iter().cloned().map(Attribute::Dictionary).collect();
        header.push(("arg_attrs".into(), Attribute::Array(dictionaries)));
    }
    header.extend(function.attributes.iter().cloned());
    header
}

/// Writes `loc("instruction"("file":1:2))`: the instruction, and the operation's position in a text
/// or in Rust code.
fn write_place(f: &mut fmt::Formatter<'_>, place: &Place) -> fmt::Result {
    if place.instruction.is_none() && (place.source.is_none() || !f.alternate()) {
        return Ok(());
    }
    f.write_str(" loc(")?;
    if let Some(instruction) = &place.instruction {
        write_quoted(f, instruction)?;
    }
    if let Some((file, line, column)) = &place.source {
        let within = place.instruction.is_some();
        f.write_str(if within { "(" } else { "" })?;
        write_quoted(f, file)?;
        write!(f, ":{line}:{column}{}", if within { ")" } else { "" })?;
    }
    f.write_char(')')
}

/// A signature, printed as `(f32, index) -> f32`.
struct FunctionType<'a>(&'a [&'a Type], &'a [&'a Type]);

impl fmt::Display for FunctionType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, types: &[&Type]| -> fmt::Result {
            f.write_char('(')?;
            for (i, ty) in types.iter().enumerate() {
                write!(f, "{}{ty}", if i > 0 { ", " } else { "" })?;
            }
            f.write_char(')')
        };
        list(f, self.0)?;
        f.write_str(" -> ")?;
        match self.1 {
            [ty] => write!(f, "{ty}"),
            types => list(f, types),
        }
    }
}
