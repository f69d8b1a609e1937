//! Prints programs as text, in MLIR's generic form, which MLIR and [`read_text`](crate::read_text)
//! read.
//!
//! ```text
//! "stablehlo.reduce"(%0, %1) <{dimensions = array<i64: 1>}> ({ … }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
//! ```

mod attributes;
mod constants;
mod locations;
mod types;

use std::fmt::Write;

use self::attributes::{attributes, is_discardable};
use self::locations::location;
use self::types::r#type;
use crate::program::{Block, Operation, Program, ValueId};
use crate::tables::name_in_text;

/// Prints a program. Prints the location of an operation after the operation, if the location is
/// known.
///
/// The nesting depth of the program's regions must be bounded, as in all programs that readers
/// return.
pub fn print_text(program: &Program) -> String {
    let mut printer = Printer { program, out: String::new() };
    printer.operation(&program.module, 0, false);
    printer.out
}

struct Printer<'p> {
    program: &'p Program,
    out: String,
}

impl Printer<'_> {
    /// Writes formatted text. Writing to a string does not fail.
    fn put(&mut self, text: std::fmt::Arguments) {
        _ = self.out.write_fmt(text);
    }

    fn operation(&mut self, operation: &Operation, depth: usize, is_in_function: bool) {
        self.put(format_args!("{:1$}", "", 2 * depth));
        if !operation.results.is_empty() {
            let names: Vec<String> = operation.results.iter().map(name_of).collect();
            self.put(format_args!("{} = ", names.join(", ")));
        }
        let operands: Vec<String> = operation.operands.iter().map(name_of).collect();
        self.put(format_args!("\"{}\"({})", name_in_text(&operation.name, is_in_function), operands.join(", ")));
        let own = attributes(operation, |name| !is_discardable(name));
        if !own.is_empty() {
            self.put(format_args!(" <{{{own}}}>"));
        }
        if !operation.regions.is_empty() {
            self.out.push_str(" (");
            for (number, region) in operation.regions.iter().enumerate() {
                self.out.push_str(if number == 0 { "{\n" } else { ", {\n" });
                region.blocks.iter().for_each(|block| self.block(block, depth + 1, &*operation.name == "func"));
                self.put(format_args!("{:1$}}}", "", 2 * depth));
            }
            self.out.push(')');
        }
        let discardable = attributes(operation, is_discardable);
        if !discardable.is_empty() {
            self.put(format_args!(" {{{discardable}}}"));
        }
        self.put(format_args!(" : ({}) -> {}", self.types(&operation.operands), self.results(&operation.results)));
        if let Some(location) = location(&operation.location) {
            self.put(format_args!(" loc({location})"));
        }
        self.out.push('\n');
    }

    fn block(&mut self, block: &Block, depth: usize, is_in_function: bool) {
        if !block.arguments.is_empty() {
            let argument = |id: &ValueId| format!("{}: {}", name_of(id), r#type(self.program.value(*id)));
            let arguments: Vec<String> = block.arguments.iter().map(argument).collect();
            self.put(format_args!("{:1$}^bb0({2}):\n", "", 2 * depth - 2, arguments.join(", ")));
        }
        block.operations.iter().for_each(|operation| self.operation(operation, depth, is_in_function));
    }

    fn types(&self, values: &[ValueId]) -> String {
        let types: Vec<String> = values.iter().map(|&id| r#type(self.program.value(id))).collect();
        types.join(", ")
    }

    /// Returns the types of results: a single type has no parentheses.
    fn results(&self, values: &[ValueId]) -> String {
        match values {
            [single] => r#type(self.program.value(*single)),
            _ => format!("({})", self.types(values)),
        }
    }
}

fn name_of(id: &ValueId) -> String {
    format!("%{}", id.0)
}
