//! Modules as text that reads back as the same module.

use std::fmt::{self, Write};

use super::lexer::Cursor;
use crate::hlo::{
    AliasKind, ArrayShape, Computation, EntryLayout, Extra, InputOutputAlias, Instruction, Layout, Metadata, Module,
    Op, Shape,
};

/// Style of printed text.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrintOptions {
    /// Write `%` before names.
    pub percent: bool,
    /// Leave constants of more than this many elements out, as `{...}`; such text does not read back.
    pub elide_above: Option<usize>,
    /// Leave out where instructions came from: `metadata` and the tables it refers to.
    pub omit_metadata: bool,
}

/// Prints a module in the style of JAX's lowering: no `%`, all constants in full.
pub fn print_module(module: &Module) -> String {
    print_module_with(module, &PrintOptions::default())
}

/// Prints a module in the given style.
pub fn print_module_with(module: &Module, options: &PrintOptions) -> String {
    let mut printer = Printer { module, options, out: String::new() };
    // Writing to a string does not fail.
    let _ = printer.module();
    printer.out
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print_module(self))
    }
}

pub(super) struct Printer<'m> {
    pub module: &'m Module,
    pub options: &'m PrintOptions,
    pub out: String,
}

impl Printer<'_> {
    fn module(&mut self) -> fmt::Result {
        let module = self.module;
        if !module.name.is_empty() {
            self.header()?;
            if !self.options.omit_metadata {
                self.debug_tables()?;
            }
            self.out.push('\n');
        }
        for (index, computation) in module.computations.iter().enumerate() {
            if index > 0 {
                self.out.push('\n');
            }
            let is_entry = !module.bare && module.entry.is_some_and(|entry| entry.index() == index);
            self.computation(computation, is_entry)?;
        }
        Ok(())
    }

    fn header(&mut self) -> fmt::Result {
        let module = self.module;
        write!(self.out, "HloModule {}", module.name)?;
        if module.is_scheduled {
            self.out.push_str(", is_scheduled=true");
        }
        if !module.input_output_alias.is_empty() {
            let aliases: Vec<String> = module.input_output_alias.iter().map(alias).collect();
            write!(self.out, ", input_output_alias={{ {} }}", aliases.join(", "))?;
        }
        if !module.buffer_donor.is_empty() {
            let donor = |(parameter, index): &(i64, Vec<i64>)| format!("({parameter}, {})", braced(index));
            let donors: Vec<String> = module.buffer_donor.iter().map(donor).collect();
            write!(self.out, ", buffer_donor={{ {} }}", donors.join(", "))?;
        }
        if let Some(EntryLayout { parameters, result }) = &module.entry_layout {
            write!(self.out, ", entry_computation_layout={{({})->{result}}}", joined(parameters))?;
        }
        if module.replica_count != 1 {
            write!(self.out, ", replica_count={}", module.replica_count)?;
        }
        if module.num_partitions != 1 {
            write!(self.out, ", num_partitions={}", module.num_partitions)?;
        }
        for (name, value) in &module.other_attributes {
            write!(self.out, ", {name}={value}")?;
        }
        self.out.push('\n');
        Ok(())
    }

    fn debug_tables(&mut self) -> fmt::Result {
        let tables = &self.module.debug_tables;
        for (title, names) in [("FileNames", &tables.file_names), ("FunctionNames", &tables.function_names)] {
            if !names.is_empty() {
                writeln!(self.out, "\n{title}")?;
            }
            for (index, name) in names.iter().enumerate() {
                writeln!(self.out, "{} {}", index + 1, quoted(name))?;
            }
        }
        if !tables.file_locations.is_empty() {
            writeln!(self.out, "\nFileLocations")?;
        }
        for (index, row) in tables.file_locations.iter().enumerate() {
            write!(self.out, "{} {{file_name_id={} ", index + 1, row.file_name_id)?;
            write!(self.out, "function_name_id={} line={} ", row.function_name_id, row.line)?;
            writeln!(self.out, "end_line={} column={} end_column={}}}", row.end_line, row.column, row.end_column)?;
        }
        if !tables.stack_frames.is_empty() {
            writeln!(self.out, "\nStackFrames")?;
        }
        for (index, row) in tables.stack_frames.iter().enumerate() {
            write!(self.out, "{} {{file_location_id={} ", index + 1, row.file_location_id)?;
            writeln!(self.out, "parent_frame_id={}}}", row.parent_frame_id)?;
        }
        Ok(())
    }

    fn computation(&mut self, computation: &Computation, is_entry: bool) -> fmt::Result {
        if is_entry {
            self.out.push_str("ENTRY ");
        }
        self.name(&computation.name);
        self.out.push_str(" {\n");
        for (index, instruction) in computation.instructions.iter().enumerate() {
            self.out.push_str("  ");
            if index == computation.root.index() {
                self.out.push_str("ROOT ");
            }
            self.instruction(computation, instruction)?;
            self.out.push('\n');
        }
        self.out.push('}');
        if let Some(thread) = &computation.execution_thread {
            write!(self.out, ", execution_thread={}", quoted(thread))?;
        }
        self.out.push('\n');
        Ok(())
    }

    fn instruction(&mut self, computation: &Computation, instruction: &Instruction) -> fmt::Result {
        self.name(&instruction.name);
        write!(self.out, " = {} {}(", instruction.shape, instruction.opcode())?;
        match &instruction.op {
            Op::Parameter { number } => write!(self.out, "{number}")?,
            Op::Constant(value) => super::print_literal::write_literal(&mut self.out, value, self.options)?,
            _ => self.operands(computation, instruction),
        }
        self.out.push(')');
        instruction.op.write(self);
        match &instruction.extra {
            Some(extra) => self.extra(computation, extra),
            None => Ok(()),
        }
    }

    fn operands(&mut self, computation: &Computation, instruction: &Instruction) {
        for (position, &operand) in instruction.operands.iter().enumerate() {
            if position > 0 {
                self.out.push_str(", ");
            }
            self.name(&computation.instruction(operand).name);
        }
    }

    pub(super) fn name(&mut self, name: &str) {
        if self.options.percent {
            self.out.push('%');
        }
        self.out.push_str(name);
    }

    fn extra(&mut self, computation: &Computation, extra: &Extra) -> fmt::Result {
        for (name, value) in &extra.other {
            write!(self.out, ", {name}={value}")?;
        }
        if let Some(sharding) = &extra.sharding {
            write!(self.out, ", sharding={sharding}")?;
        }
        if !extra.control_predecessors.is_empty() {
            self.out.push_str(", control-predecessors={");
            for (position, &id) in extra.control_predecessors.iter().enumerate() {
                self.out.push_str(if position > 0 { ", " } else { "" });
                self.name(&computation.instruction(id).name);
            }
            self.out.push('}');
        }
        if !extra.frontend_attributes.is_empty() {
            let entry = |(key, value): (&String, &String)| format!("{key}={}", text_or_dictionary(value));
            let entries: Vec<String> = extra.frontend_attributes.iter().map(entry).collect();
            write!(self.out, ", frontend_attributes={{{}}}", entries.join(","))?;
        }
        if let Some(metadata) = extra.metadata.as_ref().filter(|_| !self.options.omit_metadata) {
            write!(self.out, ", metadata={}", metadata_text(metadata))?;
        }
        match &extra.backend_config {
            Some(config) => write!(self.out, ", backend_config={}", text_or_dictionary(config)),
            None => Ok(()),
        }
    }
}

fn alias(alias: &InputOutputAlias) -> String {
    let kind = match alias.kind {
        AliasKind::May => "may-alias",
        AliasKind::Must => "must-alias",
    };
    format!("{}: ({}, {}, {kind})", braced(&alias.output), alias.parameter, braced(&alias.parameter_index))
}

fn metadata_text(metadata: &Metadata) -> String {
    let mut fields = Vec::new();
    let strings =
        [("op_type", &metadata.op_type), ("op_name", &metadata.op_name), ("source_file", &metadata.source_file)];
    fields.extend(strings.iter().filter(|(_, v)| !v.is_empty()).map(|(name, v)| format!("{name}={}", quoted(v))));
    let numbers = [("source_line", metadata.source_line), ("stack_frame_id", metadata.stack_frame_id)];
    fields.extend(numbers.iter().filter(|(_, v)| *v != 0).map(|(name, v)| format!("{name}={v}")));
    fields.extend(metadata.other.iter().map(|(name, value)| format!("{name}={value}")));
    format!("{{{}}}", fields.join(" "))
}

/// A dictionary stands as it is, all else in quotes.
fn text_or_dictionary(text: &str) -> String {
    let mut cursor = Cursor::new(text);
    if text.starts_with('{') && cursor.balanced().is_ok_and(|dictionary| dictionary.len() == text.len()) {
        return text.to_owned();
    }
    quoted(text)
}

/// A string in quotes, with C escapes.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if (control as u32) < 0x20 || control as u32 == 0x7f => {
                out.push_str(&format!("\\{:03o}", control as u32));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// `{1,2,3}`
pub(super) fn braced(numbers: &[i64]) -> String {
    let mut out = String::from("{");
    for (position, number) in numbers.iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        let _ = write!(out, "{number}");
    }
    out.push('}');
    out
}

/// Shapes with commas between them.
pub(super) fn joined(shapes: &[Shape]) -> String {
    shapes.iter().map(Shape::to_string).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (position, dimension) in self.minor_to_major.iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            write!(f, "{comma}{dimension}")?;
        }
        if !self.suffix.is_empty() {
            write!(f, ":{}", self.suffix)?;
        }
        f.write_str("}")
    }
}

impl fmt::Display for ArrayShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.element_type)?;
        for (dimension, size) in self.dims.iter().enumerate() {
            let comma = if dimension > 0 { "," } else { "" };
            let bound = if self.dynamic.get(dimension) == Some(&true) { "<=" } else { "" };
            write!(f, "{comma}{bound}{size}")?;
        }
        f.write_str("]")?;
        match &self.layout {
            Some(layout) => write!(f, "{layout}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Array(array) => write!(f, "{array}"),
            Shape::Token => f.write_str("token[]"),
            Shape::Opaque => f.write_str("opaque[]"),
            Shape::Tuple(elements) => {
                f.write_str("(")?;
                for (position, element) in elements.iter().enumerate() {
                    let comma = if position > 0 { ", " } else { "" };
                    write!(f, "{comma}{element}")?;
                }
                f.write_str(")")
            }
        }
    }
}
