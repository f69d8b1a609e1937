//! Reads one instruction: name, shape, opcode, operands and attributes.

use std::collections::{HashMap, HashSet};

use super::attributes::Attributes;
use super::lexer::Cursor;
use super::literals::literal;
use super::ops::kept_attributes;
use super::parser::Parser;
use super::shapes::{shape, shape_follows};
use super::source::{Fault, Parse, Source, ensure_at};
use crate::{InstrId, Instruction, Op, Opcode, Shape, Span, infer_shape};

/// Largest nesting depth of operands and of inline computations. A level of nested operands or
/// computations needs far more stack than a level of a tuple shape.
pub(super) const MAX_BODY_NESTING: usize = 32;

/// The instructions of the computation being read.
#[derive(Default)]
pub(crate) struct Scope<'t> {
    pub instructions: Vec<Instruction>,
    pub root: Option<InstrId>,
    names: HashMap<&'t str, InstrId>,
    /// Faulty instructions and their lines. The parser does not report uses of faulty instructions
    /// as further faults.
    broken: HashMap<&'t str, u32>,
    generated_names: HashSet<String>,
    /// The instructions that the parser generates for tuple elements, which HLO text writes as
    /// `name#1`.
    elements: HashMap<(InstrId, i64), InstrId>,
    /// The instruction being read, and its location.
    current: Option<(&'t str, usize)>,
    /// Whether an undefined name becomes a parameter. The shape before the undefined name becomes
    /// the parameter's shape.
    pub implicit_parameters: bool,
}

impl<'t> Scope<'t> {
    /// Returns the name of the instruction that could not be read. Marks the instruction as broken,
    /// so that the parser does not report its uses.
    pub(super) fn take_current(&mut self, source: &Source) -> Option<&'t str> {
        let (name, at) = self.current.take()?;
        if !self.names.contains_key(name) {
            self.broken.insert(name, source.span(at).line);
        }
        Some(name)
    }

    /// Returns the line that defines a name.
    pub(super) fn line_of(&self, name: &str) -> Option<u32> {
        let found = self.names.get(name).map(|id| self.instructions[id.index()].span.line);
        found.or_else(|| self.broken.get(name).copied())
    }

    pub(super) fn find(&self, name: &str, at: usize) -> Parse<InstrId> {
        if let Some(&id) = self.names.get(name) {
            return Ok(id);
        }
        let message =
            if self.broken.contains_key(name) { String::new() } else { format!("the operand `{name}` is not defined") };
        Err(Fault { at, message, undefined: Some(name.to_owned()) })
    }

    /// Returns the operand `name` of an instruction that is not in a computation. Adds a parameter
    /// if the name is new.
    fn find_or_add_parameter(&mut self, name: &'t str, shape: &Shape, span: Span) -> InstrId {
        if let Some(&id) = self.names.get(name) {
            return id;
        }
        let op = Op::Parameter { number: self.names.len() as i64 };
        let id = self.add(Instruction { span, ..Instruction::new(name, shape.clone(), op, Vec::new()) });
        self.names.insert(name, id);
        id
    }

    fn unused_name(&mut self, stem: &str) -> String {
        let mut number = self.generated_names.len() + 1;
        let mut name = format!("{stem}.{number}");
        while self.names.contains_key(name.as_str()) || self.generated_names.contains(&name) {
            number += 1;
            name = format!("{stem}.{number}");
        }
        self.generated_names.insert(name.clone());
        name
    }

    fn add(&mut self, instruction: Instruction) -> InstrId {
        self.instructions.push(instruction);
        InstrId(self.instructions.len() as u32 - 1)
    }
}

impl<'t> Parser<'t> {
    /// Reads `[ROOT] [%]name = …`.
    pub(super) fn instruction(&mut self, cursor: &mut Cursor<'t>, scope: &mut Scope<'t>) -> Parse<()> {
        scope.current = None;
        let root_at = cursor.at();
        let is_root = cursor.eat_word("ROOT");
        let (name, at) = cursor.name("an instruction or `}`")?;
        scope.current = Some((name, at));
        cursor.expect(b'=', &format!("after the instruction name `{name}`"))?;
        let instruction = self.right_hand_side(cursor, scope, Some((name, at)), 0)?;
        let only = !scope.names.contains_key(name) && !scope.generated_names.contains(name);
        ensure_at!(only, at, "a second instruction is named `{name}`");
        let id = scope.add(instruction);
        scope.names.insert(name, id);
        let only = !is_root || scope.root.replace(id).is_none();
        ensure_at!(only, root_at, "a computation has one ROOT, this is a second one");
        Ok(())
    }

    /// Reads `[shape] opcode(operands){, attribute=value}`. If `name` is `None`, the text is a
    /// nested operand, which has no attributes.
    fn right_hand_side(
        &mut self,
        cursor: &mut Cursor<'t>,
        scope: &mut Scope<'t>,
        name: Option<(&'t str, usize)>,
        depth: usize,
    ) -> Parse<Instruction> {
        let shape_at = cursor.at();
        let declared = if shape_follows(cursor) { Some(shape(cursor)?) } else { None };
        let at = cursor.at();
        let word = cursor.expect_word("an opcode")?;
        let fits = !cursor.touches(b'[');
        ensure_at!(fits, at, "unknown element type `{word}`; types are written like f32, s8, pred");
        let opcode = match word.parse::<Opcode>() {
            Ok(opcode) => opcode,
            Err(()) => return self.sugared(cursor, scope, (word, at), declared, name),
        };
        let (operands, mut op) = self.parentheses(cursor, scope, opcode, at, declared.as_ref(), depth)?;
        let mut attributes = match name {
            Some(_) => Attributes::read(cursor, at, opcode.name())?,
            None => Attributes::empty(at, opcode.name()),
        };
        let mut extra = self.extra(&mut attributes, opcode, scope)?;
        let op = match op.take() {
            Some(op) => op,
            None => self.op(opcode, at, &mut attributes)?,
        };
        self.keep_or_reject(&mut attributes, opcode, &mut extra)?;
        let shape = match declared {
            Some(shape) => shape,
            None => self.inferred(&op, &operands, scope, shape_at)?,
        };
        let (name, span) = match name {
            Some((name, at)) => (name.to_owned(), self.source.span(at)),
            None => (scope.unused_name(opcode.name()), self.source.span(at)),
        };
        Ok(Instruction { name, shape, op, operands, extra: extra.into_box(), span })
    }

    /// Reads the content of the parentheses after an opcode. The parentheses of a constant or
    /// parameter contain the whole operation. The parentheses of any other operation contain its
    /// operands.
    fn parentheses(
        &mut self,
        cursor: &mut Cursor<'t>,
        scope: &mut Scope<'t>,
        opcode: Opcode,
        at: usize,
        declared: Option<&Shape>,
        depth: usize,
    ) -> Parse<(Vec<InstrId>, Option<Op>)> {
        cursor.expect(b'(', &format!("after the opcode `{opcode}`"))?;
        let op = match opcode {
            Opcode::Parameter => Op::Parameter { number: cursor.integer("the number of the parameter")? },
            Opcode::Constant => match declared {
                Some(shape) => Op::Constant(literal(cursor, shape, self.options)?),
                None => return Err(Fault::new(at, "a constant needs a shape before its opcode")),
            },
            _ => {
                let operands = cursor.list(b')', |cursor| self.operand(cursor, scope, depth))?;
                return Ok((operands, None));
            }
        };
        cursor.expect(b')', &format!("after the content of the {opcode}"))?;
        Ok((Vec::new(), Some(op)))
    }

    /// Reads an operand. The text of an operand is `[shape] [%]name`, an element of a tuple
    /// (`name#1#0`), or a nested instruction.
    pub(super) fn operand(&mut self, cursor: &mut Cursor<'t>, scope: &mut Scope<'t>, depth: usize) -> Parse<InstrId> {
        let start = *cursor;
        let shape_at = cursor.at();
        let declared = if shape_follows(cursor) { Some(shape(cursor)?) } else { None };
        let mut ahead = *cursor;
        if ahead.word().is_some() && ahead.touches(b'(') {
            *cursor = start;
            return self.nested(cursor, scope, depth);
        }
        let (name, at) = cursor.name("an operand")?;
        let mut id = match &declared {
            Some(shape) if scope.implicit_parameters => scope.find_or_add_parameter(name, shape, self.source.span(at)),
            _ => scope.find(name, at)?,
        };
        while cursor.touches(b'#') {
            cursor.eat(b'#');
            let index_at = cursor.at();
            let index = cursor.integer("the index of a tuple element")?;
            id = self.element(scope, id, index, index_at)?;
        }
        let actual = &scope.instructions[id.index()].shape;
        match declared {
            Some(shape) if !shape.same_structure(actual) => {
                Err(Fault::new(shape_at, format!("the operand `{name}` is {actual}, not {shape}")))
            }
            _ => Ok(id),
        }
    }

    fn nested(&mut self, cursor: &mut Cursor<'t>, scope: &mut Scope<'t>, depth: usize) -> Parse<InstrId> {
        ensure_at!(depth < MAX_BODY_NESTING, cursor.at(), "operands are nested more than {MAX_BODY_NESTING} deep");
        let instruction = self.right_hand_side(cursor, scope, None, depth + 1)?;
        Ok(scope.add(instruction))
    }

    fn element(&mut self, scope: &mut Scope<'t>, tuple: InstrId, index: i64, at: usize) -> Parse<InstrId> {
        if let Some(&id) = scope.elements.get(&(tuple, index)) {
            return Ok(id);
        }
        let source = &scope.instructions[tuple.index()];
        let element = source.shape.as_tuple().and_then(|elements| elements.get(usize::try_from(index).ok()?));
        let Some(shape) = element.cloned() else {
            let message = format!("`{}` is {}, which has no element {index}", source.name, source.shape);
            return Err(Fault::new(at, message));
        };
        let mut instruction =
            Instruction::new(scope.unused_name("element"), shape, Op::GetTupleElement { index }, vec![tuple]);
        instruction.span = self.source.span(at);
        let id = scope.add(instruction);
        scope.elements.insert((tuple, index), id);
        Ok(id)
    }

    /// Keeps the attributes that the opcode allows, and rejects all other attributes.
    pub(super) fn keep_or_reject(
        &mut self,
        attributes: &mut Attributes<'t>,
        opcode: Opcode,
        extra: &mut super::extra::CommonAttributes,
    ) -> Parse<()> {
        for attribute in attributes.drain() {
            let fits = kept_attributes(opcode).contains(&attribute.name);
            ensure_at!(fits, attribute.at, "{opcode} has no attribute `{}`", attribute.name);
            extra.keep(attribute.name, attribute.raw());
        }
        Ok(())
    }

    /// Infers the shape of an instruction that was written without a shape.
    fn inferred(&mut self, op: &Op, operands: &[InstrId], scope: &Scope<'t>, at: usize) -> Parse<Shape> {
        let shapes: Vec<&Shape> = operands.iter().map(|id| &scope.instructions[id.index()].shape).collect();
        infer_shape(&self.module, op, &shapes, None).map_err(|message| Fault::new(at, message))
    }
}
