//! Prints modules as text. The parser reads an equal module from the printed text.

use std::fmt::{self, Write};

use super::lexer::Cursor;
use super::pieces::{braced, joined, quoted};
use crate::{
    AliasKind, ArrayShape, Computation, ComputationId, EntryLayout, Extra, FileLocation, InputOutputAlias, InstrId,
    Layout, Metadata, Module, Op, Shape, StackFrame,
};

/// Style of printed text.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrintOptions {
    /// Write `%` before names.
    pub percent: bool,
    /// Number of elements above which a constant is printed as `{...}`. By default, the parser
    /// rejects constants that are printed as `{...}`.
    pub elide_above: Option<usize>,
    /// Omit the origin of instructions, which is in `metadata` and in the debug tables.
    pub omit_metadata: bool,
}

/// Prints a module in the style of JAX's lowering: no `%`, all constants in full.
pub fn print_module(module: &Module) -> String {
    print_module_with(module, &PrintOptions::default())
}

/// Prints a module in the given style.
pub fn print_module_with(module: &Module, options: &PrintOptions) -> String {
    text(module, options, Names::Own)
}

/// Prints only the parts of a module that affect its result. `print_nameless` replaces names by
/// numbers, and omits the origin of instructions. `print_nameless` also omits the other extra
/// attributes, except the configuration of a custom call, which affects the result.
pub(crate) fn print_nameless(module: &Module) -> String {
    text(module, &PrintOptions::default(), Names::Numbered)
}

fn text(module: &Module, options: &PrintOptions, names: Names) -> String {
    let mut printer = Printer { module, options, names, out: String::new() };
    // Writing to a string cannot fail.
    let _ = printer.module();
    printer.out
}

/// The names that are printed for instructions and computations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    Own,
    /// Names like `i7` and `c2`, which contain the index of the instruction or computation.
    Numbered,
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print_module(self))
    }
}

pub(super) struct Printer<'m> {
    pub module: &'m Module,
    pub options: &'m PrintOptions,
    names: Names,
    pub out: String,
}

impl Printer<'_> {
    fn module(&mut self) -> fmt::Result {
        let module = self.module;
        if !module.name.is_empty() && self.names == Names::Own {
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
            let shows_entry = !module.bare || self.names == Names::Numbered;
            let is_entry = shows_entry && module.entry.is_some_and(|entry| entry.index() == index);
            self.computation(ComputationId(index as u32), computation, is_entry)?;
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
            let aliases = joined(module.input_output_alias.iter().map(alias), ", ");
            write!(self.out, ", input_output_alias={{ {aliases} }}")?;
        }
        if !module.buffer_donor.is_empty() {
            let donor = |(parameter, index): &(i64, Vec<i64>)| format!("({parameter}, {})", braced(index));
            write!(self.out, ", buffer_donor={{ {} }}", joined(module.buffer_donor.iter().map(donor), ", "))?;
        }
        if let Some(EntryLayout { parameters, result }) = &module.entry_layout {
            write!(self.out, ", entry_computation_layout={{({})->{result}}}", joined(parameters, ", "))?;
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
        self.table("FileNames", &tables.file_names, |name| quoted(name))?;
        self.table("FunctionNames", &tables.function_names, |name| quoted(name))?;
        self.table("FileLocations", &tables.file_locations, |row| {
            let FileLocation { file_name_id, function_name_id, line, end_line, column, end_column } = row;
            let lines = format!("line={line} end_line={end_line} column={column} end_column={end_column}");
            format!("{{file_name_id={file_name_id} function_name_id={function_name_id} {lines}}}")
        })?;
        self.table("StackFrames", &tables.stack_frames, |StackFrame { file_location_id, parent_frame_id }| {
            format!("{{file_location_id={file_location_id} parent_frame_id={parent_frame_id}}}")
        })
    }

    /// Prints the title of a table, and its rows with numbers from 1. Prints nothing if there are
    /// no rows.
    fn table<T>(&mut self, title: &str, rows: &[T], text: impl Fn(&T) -> String) -> fmt::Result {
        if !rows.is_empty() {
            writeln!(self.out, "\n{title}")?;
        }
        rows.iter().enumerate().try_for_each(|(index, row)| writeln!(self.out, "{} {}", index + 1, text(row)))
    }

    fn computation(&mut self, id: ComputationId, computation: &Computation, is_entry: bool) -> fmt::Result {
        if is_entry {
            self.out.push_str("ENTRY ");
        }
        self.computation_name(id);
        self.out.push_str(" {\n");
        for id in computation.ids() {
            self.out.push_str("  ");
            if id == computation.root {
                self.out.push_str("ROOT ");
            }
            self.instruction(computation, id)?;
            self.out.push('\n');
        }
        self.out.push('}');
        if let Some(thread) = &computation.execution_thread {
            write!(self.out, ", execution_thread={}", quoted(thread))?;
        }
        self.out.push('\n');
        Ok(())
    }

    fn instruction(&mut self, computation: &Computation, id: InstrId) -> fmt::Result {
        let instruction = computation.instruction(id);
        self.instruction_name(computation, id);
        write!(self.out, " = {} {}(", instruction.shape, instruction.opcode())?;
        match &instruction.op {
            Op::Parameter { number } => write!(self.out, "{number}")?,
            Op::Constant(value) => super::print_literal::write_literal(&mut self.out, value, self.options)?,
            _ => self.instruction_names(computation, &instruction.operands),
        }
        self.out.push(')');
        instruction.op.write(self);
        match (&instruction.extra, self.names) {
            (None, _) => Ok(()),
            (Some(extra), Names::Own) => self.extra(computation, extra),
            (Some(extra), Names::Numbered) if matches!(instruction.op, Op::CustomCall(_)) => self.backend_config(extra),
            (Some(_), Names::Numbered) => Ok(()),
        }
    }

    fn instruction_names(&mut self, computation: &Computation, ids: &[InstrId]) {
        for (position, &id) in ids.iter().enumerate() {
            self.out.push_str(if position > 0 { ", " } else { "" });
            self.instruction_name(computation, id);
        }
    }

    fn instruction_name(&mut self, computation: &Computation, id: InstrId) {
        self.name(&computation.instruction(id).name, 'i', id.0);
    }

    pub(super) fn computation_name(&mut self, id: ComputationId) {
        let module = self.module;
        self.name(&module.computation(id).name, 'c', id.0);
    }

    /// Prints the original name, or `letter` followed by `number`.
    fn name(&mut self, own: &str, letter: char, number: u32) {
        if self.options.percent {
            self.out.push('%');
        }
        match self.names {
            Names::Own => self.out.push_str(own),
            Names::Numbered => {
                self.out.push(letter);
                // Writing to a string cannot fail.
                let _ = write!(self.out, "{number}");
            }
        }
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
            self.instruction_names(computation, &extra.control_predecessors);
            self.out.push('}');
        }
        if !extra.frontend_attributes.is_empty() {
            let entry = |(key, value): (&String, &String)| format!("{key}={}", text_or_dictionary(value));
            write!(self.out, ", frontend_attributes={{{}}}", joined(extra.frontend_attributes.iter().map(entry), ","))?;
        }
        if let Some(metadata) = extra.metadata.as_ref().filter(|_| !self.options.omit_metadata) {
            write!(self.out, ", metadata={}", metadata_text(metadata))?;
        }
        self.backend_config(extra)
    }

    fn backend_config(&mut self, extra: &Extra) -> fmt::Result {
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

/// Returns a dictionary unchanged, and any other text in quotes.
fn text_or_dictionary(text: &str) -> String {
    let mut cursor = Cursor::new(text);
    if text.starts_with('{') && cursor.balanced().is_ok_and(|dictionary| dictionary.len() == text.len()) {
        return text.to_owned();
    }
    quoted(text)
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.suffix.is_empty() { "" } else { ":" };
        f.write_str("{")?;
        for (position, dimension) in self.minor_to_major.iter().enumerate() {
            f.write_str(if position > 0 { "," } else { "" })?;
            write!(f, "{dimension}")?;
        }
        write!(f, "{colon}{}}}", self.suffix)
    }
}

impl fmt::Display for ArrayShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.element_type)?;
        for (dimension, size) in self.dims.iter().enumerate() {
            f.write_str(if dimension > 0 { "," } else { "" })?;
            f.write_str(if self.dynamic.get(dimension) == Some(&true) { "<=" } else { "" })?;
            write!(f, "{size}")?;
        }
        f.write_str("]")?;
        self.layout.as_ref().map_or(Ok(()), |layout| write!(f, "{layout}"))
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Array(array) => write!(f, "{array}"),
            Shape::Token => f.write_str("token[]"),
            Shape::Opaque => f.write_str("opaque[]"),
            Shape::Tuple(elements) => write!(f, "({})", joined(elements, ", ")),
        }
    }
}
