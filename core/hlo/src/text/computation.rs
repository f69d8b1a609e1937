//! The main part of the parser: modules, computations, and their names.

use std::collections::{HashMap, HashSet};

use super::ParseOptions;
use super::instruction::{MAX_BODY_NESTING, Scope};
use super::lexer::Cursor;
use super::parser::Parser;
use super::shapes::shape;
use super::source::{Fault, Parse, Source, ensure_at};
use crate::{Computation, ComputationId, Diagnostic, InstrId, Module, Shape};

/// The signature of a computation, `(name: shape, …) -> shape`.
struct Signature {
    at: usize,
    parameters: Vec<Shape>,
    result: Shape,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str, file: &'t str, options: &'t ParseOptions) -> Result<Self, Vec<Diagnostic>> {
        let source = Source::new(text, file);
        // Offsets into the text have 32 bits.
        if u32::try_from(text.len()).is_err() {
            let fault = Fault::new(0, "the text is larger than 4 GiB");
            return Err(vec![source.diagnostic(fault, None)]);
        }
        let module = Module {
            replica_count: 1,
            num_partitions: 1,
            source_file: file.to_owned(),
            source_text: text.into(),
            ..Module::default()
        };
        Ok(Parser {
            source,
            options,
            module,
            by_name: HashMap::new(),
            broken: HashSet::new(),
            generated_names: HashSet::new(),
            diagnostics: Vec::new(),
            undefined: Vec::new(),
            depth: 0,
        })
    }

    /// Reads the whole text.
    pub(super) fn module(mut self) -> Result<Module, Vec<Diagnostic>> {
        let mut cursor = Cursor::new(self.source.text);
        if let Err(fault) = self.header(&mut cursor) {
            cursor.move_to(fault.at);
            self.report(fault, None);
            self.skip_to_computation(&mut cursor);
        }
        if self.diagnostics.is_empty() && stands_alone(&cursor) {
            if let Err(fault) = self.lone_instruction(&mut cursor) {
                self.report(fault, None);
            }
            cursor = Cursor::new("");
        }
        let mut entry = None;
        while !cursor.is_done() && self.diagnostics.len() < self.options.max_diagnostics {
            let before = cursor.at();
            if let Err(fault) = self.top_level(&mut cursor, &mut entry) {
                self.report(fault, None);
                cursor.skip_body(before);
            }
        }
        self.explain_late_definitions();
        self.choose_entry(entry);
        if self.diagnostics.is_empty() { Ok(self.module) } else { Err(self.diagnostics) }
    }

    fn skip_to_computation(&mut self, cursor: &mut Cursor<'t>) {
        cursor.skip_line();
        while let Some(word) = cursor.peek_word() {
            if word == "ENTRY" || !word.bytes().next().is_some_and(|byte| byte.is_ascii_digit()) {
                return;
            }
            cursor.skip_line();
        }
    }

    fn top_level(&mut self, cursor: &mut Cursor<'t>, entry: &mut Option<ComputationId>) -> Parse<()> {
        let at = cursor.at();
        let is_entry = cursor.eat_word("ENTRY");
        let id = self.computation(cursor)?;
        let only = !is_entry || entry.replace(id).is_none();
        ensure_at!(only, at, "a module has one ENTRY computation, this is a second one");
        Ok(())
    }

    fn choose_entry(&mut self, entry: Option<ComputationId>) {
        self.module.bare = entry.is_none();
        let last = self.module.computations.len().checked_sub(1).map(|last| ComputationId(last as u32));
        self.module.entry = entry.or_else(|| self.module.find_computation("fusion")).or(last);
        if self.module.entry.is_none() && self.diagnostics.is_empty() {
            self.report(Fault::new(0, "the text holds no computation"), None);
        }
    }

    /// Records a fault. Ignores faults without a message, because they are consequences of faults
    /// that were recorded earlier.
    pub(super) fn report(&mut self, fault: Fault, subject: Option<&str>) {
        if fault.message.is_empty() || self.diagnostics.len() >= self.options.max_diagnostics {
            return;
        }
        if let Some(name) = &fault.undefined {
            self.undefined.push((self.diagnostics.len(), name.clone()));
        }
        self.diagnostics.push(self.source.diagnostic(fault, subject.map(str::to_owned)));
    }

    /// Changes the message about an undefined computation if the text defines the computation after
    /// its use. The new message says that the definition comes too late.
    fn explain_late_definitions(&mut self) {
        for (index, name) in std::mem::take(&mut self.undefined) {
            if let Some(id) = self.by_name.get(name.as_str()) {
                let line = self.module.computation(*id).span.line;
                self.diagnostics[index].message = format!(
                    "the computation `{name}` is used before its definition in line {line}; callees come first"
                );
            }
        }
    }

    /// Changes the message "not defined" to "used before its definition" if a scope defines the
    /// name after its use.
    pub(super) fn explain_late_instructions(&mut self, scope: &Scope<'t>, from: usize) {
        for (index, name) in &self.undefined {
            if *index >= from
                && let Some(line) = scope.line_of(name)
            {
                self.diagnostics[*index].message = format!(
                    "`{name}` is used before its definition in line {line}; operands come before their users, \
                     and a cycle has no such order"
                );
            }
        }
    }

    pub(super) fn diagnostic_count(&self) -> usize {
        self.diagnostics.len()
    }

    /// Reads `[%]name [(parameters) -> shape] { … } [, execution_thread="…"]`.
    fn computation(&mut self, cursor: &mut Cursor<'t>) -> Parse<ComputationId> {
        let (name, at) = cursor.name("a computation")?;
        let result = self.named_computation(cursor, name, at);
        if result.is_err() {
            self.broken.insert(name);
        }
        result
    }

    fn named_computation(&mut self, cursor: &mut Cursor<'t>, name: &'t str, at: usize) -> Parse<ComputationId> {
        let signature = if cursor.peek() == Some(b'(') { Some(signature(cursor)?) } else { None };
        cursor.expect(b'{', &format!("before the body of the computation `{name}`"))?;
        let mut computation = self.body(cursor, name.to_owned(), at)?;
        if cursor.eat(b',') {
            let thread_at = cursor.at();
            let fits = cursor.eat_word("execution_thread");
            ensure_at!(fits, thread_at, "only execution_thread=\"…\" can follow a computation");
            cursor.expect(b'=', "after execution_thread")?;
            computation.execution_thread = Some(cursor.string("the execution thread")?).filter(|name| name != "main");
        }
        if let Some(signature) = signature {
            self.check_signature(&computation, signature)?;
        }
        let only = !self.by_name.contains_key(name) && !self.generated_names.contains(name);
        ensure_at!(only, at, "a second computation is named `{name}`");
        let id = self.add_computation(computation);
        self.by_name.insert(name, id);
        Ok(id)
    }

    /// Reads one instruction outside of a computation. Operands that are written with a shape
    /// become parameters.
    fn lone_instruction(&mut self, cursor: &mut Cursor<'t>) -> Parse<()> {
        let at = cursor.at();
        let mut scope = Scope::default();
        scope.implicit_parameters = true;
        self.instruction(cursor, &mut scope)?;
        cursor.finish("a text of one instruction")?;
        let root = InstrId(scope.instructions.len() as u32 - 1);
        let name = scope.instructions[root.index()].name.clone();
        let span = self.source.span(at);
        let instructions = scope.instructions;
        self.add_computation(Computation { name, instructions, root, execution_thread: None, span });
        Ok(())
    }

    /// Adds a computation that has no name in the text.
    pub(super) fn add_generated(&mut self, computation: Computation, stem: &str) -> ComputationId {
        let name = self.unused_computation_name(stem);
        self.add_computation(Computation { name, ..computation })
    }

    fn add_computation(&mut self, computation: Computation) -> ComputationId {
        self.module.computations.push(computation);
        ComputationId(self.module.computations.len() as u32 - 1)
    }

    /// Reads the instructions up to the closing brace. The caller has read the opening brace.
    fn body(&mut self, cursor: &mut Cursor<'t>, name: String, at: usize) -> Parse<Computation> {
        let first_diagnostic = self.diagnostic_count();
        let mut scope = Scope::default();
        while !cursor.eat(b'}') {
            let start = cursor.at();
            ensure_at!(!cursor.is_done(), at, "the body of the computation `{name}` is not closed with `}}`");
            if let Err(fault) = self.instruction(cursor, &mut scope) {
                let subject = scope.take_current(&self.source);
                self.report(fault, subject);
                cursor.skip_statement(start);
            }
            if self.diagnostics.len() >= self.options.max_diagnostics {
                return Err(Fault::new(at, ""));
            }
        }
        self.explain_late_instructions(&scope, first_diagnostic);
        if scope.instructions.is_empty() {
            let message = format!("the computation `{name}` has no instructions");
            let already_reported = self.diagnostic_count() > first_diagnostic;
            return Err(Fault::new(at, if already_reported { String::new() } else { message }));
        }
        let last = InstrId(scope.instructions.len() as u32 - 1);
        let span = self.source.span(at);
        let root = scope.root.unwrap_or(last);
        Ok(Computation { name, instructions: scope.instructions, root, execution_thread: None, span })
    }

    /// Checks that a signature agrees with the computation that follows it.
    fn check_signature(&self, computation: &Computation, signature: Signature) -> Parse<()> {
        let root = &computation.root_instruction().shape;
        let (at, any) = (signature.at, !self.diagnostics.is_empty());
        let fits = any || root.same_structure(&signature.result);
        ensure_at!(fits, at, "the signature's result is {}, the root's is {root}", signature.result);
        let parameters = computation.parameters();
        for (number, shape) in signature.parameters.iter().enumerate() {
            // The verifier reports gaps in the numbers.
            let Some(&id) = parameters.get(number) else { break };
            let parameter = &computation.instruction(id).shape;
            let fits = any || parameter.same_structure(shape);
            ensure_at!(fits, at, "parameter {number} is {shape} in the signature, but {parameter}");
        }
        Ok(())
    }

    /// Reads an attribute value that states a computation, either by the computation's name or by
    /// its body in braces.
    pub(super) fn computation_reference(&mut self, cursor: &mut Cursor<'t>) -> Parse<ComputationId> {
        let at = cursor.at();
        if cursor.eat(b'{') {
            return self.inline_computation(cursor, at);
        }
        let (name, at) = cursor.name("the name of a computation")?;
        if let Some(&id) = self.by_name.get(name) {
            return Ok(id);
        }
        let message = if self.broken.contains(name) { String::new() } else { undefined_computation(name) };
        Err(Fault { at, message, undefined: Some(name.to_owned()) })
    }

    fn inline_computation(&mut self, cursor: &mut Cursor<'t>, at: usize) -> Parse<ComputationId> {
        let fits = self.depth < MAX_BODY_NESTING;
        ensure_at!(fits, at, "inline computations are nested more than {MAX_BODY_NESTING} deep");
        self.depth += 1;
        let computation = self.body(cursor, String::new(), at);
        self.depth -= 1;
        Ok(self.add_generated(computation?, "inline"))
    }

    fn unused_computation_name(&mut self, stem: &str) -> String {
        let taken =
            |parser: &Self, name: &str| parser.by_name.contains_key(name) || parser.generated_names.contains(name);
        let mut number = self.generated_names.len() + 1;
        while taken(self, &format!("{stem}.{number}")) {
            number += 1;
        }
        let name = format!("{stem}.{number}");
        self.generated_names.insert(name.clone());
        name
    }
}

/// Whether the text begins with an instruction: `[ROOT] [%]name =`.
fn stands_alone(cursor: &Cursor) -> bool {
    let mut ahead = *cursor;
    ahead.eat_word("ROOT");
    ahead.name("").is_ok() && ahead.eat(b'=')
}

fn undefined_computation(name: &str) -> String {
    format!("the computation `{name}` is not defined; define it before its first use")
}

fn signature(cursor: &mut Cursor) -> Parse<Signature> {
    let at = cursor.at();
    cursor.expect(b'(', "before the parameters")?;
    let parameters = cursor.list(b')', |cursor| {
        cursor.name("the name of a parameter")?;
        cursor.expect(b':', "between a parameter and its shape")?;
        shape(cursor)
    })?;
    if !cursor.eat_symbol("->") {
        return Err(cursor.unexpected("`->` and the shape of the result"));
    }
    let result = shape(cursor)?;
    Ok(Signature { at, parameters, result })
}
