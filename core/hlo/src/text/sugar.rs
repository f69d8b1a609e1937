//! Reads short forms of asynchronous operations. For example, `slice-start(…)` is short for an
//! `async-start` that calls a computation with a single `slice`.

use super::attributes::Attributes;
use super::instruction::Scope;
use super::lexer::Cursor;
use super::parser::Parser;
use super::source::{Fault, Parse};
use crate::{Computation, InstrId, Instruction, Op, Opcode, Shape, Span};

/// Attributes that belong to the asynchronous instruction itself. All other attributes belong to
/// the operation that the asynchronous instruction starts.
const OWN_ATTRIBUTES: &[&str] = &["async_execution_thread", "output_to_operand_aliasing"];

/// Splits a word like `slice-start` into the asynchronous opcode and the operation.
fn split(word: &str) -> Option<(Opcode, Opcode)> {
    let suffixes = [("-start", Opcode::AsyncStart), ("-update", Opcode::AsyncUpdate), ("-done", Opcode::AsyncDone)];
    let split = |&(suffix, opcode): &(&str, Opcode)| Some((opcode, word.strip_suffix(suffix)?.parse().ok()?));
    suffixes.iter().find_map(split)
}

impl<'t> Parser<'t> {
    /// Reads an instruction whose opcode is a short form.
    pub(super) fn sugared(
        &mut self,
        cursor: &mut Cursor<'t>,
        scope: &mut Scope<'t>,
        (word, at): (&str, usize),
        declared: Option<Shape>,
        name: Option<(&'t str, usize)>,
    ) -> Parse<Instruction> {
        let Some((opcode, inner)) = split(word) else {
            return Err(Fault::new(at, format!("unknown opcode `{word}`")));
        };
        let (Some(shape), Some((name, name_at))) = (declared, name) else {
            return Err(Fault::new(at, format!("{word} needs a name and a shape")));
        };
        cursor.expect(b'(', &format!("after the opcode `{word}`"))?;
        let operands = cursor.list(b')', |cursor| self.operand(cursor, scope, 0))?;
        let mut attributes = Attributes::read(cursor, at, word)?;
        let extra = self.extra(&mut attributes, opcode, scope)?;
        let op = match opcode {
            Opcode::AsyncStart => self.start(&mut attributes, inner, &operands, &shape, scope, (word, at))?,
            // The update and done instructions may have attributes of the operation. These
            // attributes only repeat the attributes of the start instruction.
            _ => self.op(opcode, at, &mut attributes)?,
        };
        if let Some(unknown) = attributes.drain().next() {
            return Err(Fault::new(unknown.at, format!("{word} has no attribute `{}`", unknown.name)));
        }
        let span = self.source.span(name_at);
        Ok(Instruction { name: name.to_owned(), shape, op, operands, extra: extra.into_box(), span })
    }

    /// Builds the instruction that starts an operation. Puts the operation into a separate
    /// computation.
    fn start(
        &mut self,
        attributes: &mut Attributes<'t>,
        inner: Opcode,
        operands: &[InstrId],
        shape: &Shape,
        scope: &Scope<'t>,
        (word, at): (&str, usize),
    ) -> Parse<Op> {
        let own = OWN_ATTRIBUTES.iter().filter_map(|name| attributes.take(name));
        let kept = own.map(|attribute| (attribute.name.to_owned(), attribute.raw())).collect();
        let op = self.op(inner, at, attributes)?;
        let wrapper = wrapper(op, operands, shape, scope, self.source.span(at))
            .ok_or_else(|| Fault::new(at, format!("{word} must have a shape ((operands), result, …)")))?;
        let called = vec![("calls".to_owned(), vec![self.add_generated(wrapper, "async")])];
        Ok(Op::Other { opcode: Opcode::AsyncStart, called, attributes: kept })
    }
}

/// Builds a computation that consists of a single operation. The operands become parameters of the
/// computation.
fn wrapper(op: Op, operands: &[InstrId], shape: &Shape, scope: &Scope, span: Span) -> Option<Computation> {
    let result = shape.as_tuple()?.get(1)?.clone();
    let parameter = |(number, id): (usize, &InstrId)| {
        let shape = scope.instructions[id.index()].shape.clone();
        let op = Op::Parameter { number: number as i64 };
        Instruction { span, ..Instruction::new(format!("parameter.{number}"), shape, op, Vec::new()) }
    };
    let mut instructions: Vec<Instruction> = operands.iter().enumerate().map(parameter).collect();
    let root = InstrId(instructions.len() as u32);
    let name = op.opcode().name().to_owned();
    instructions.push(Instruction { span, ..Instruction::new(name, result, op, (0..root.0).map(InstrId).collect()) });
    Some(Computation { name: String::new(), instructions, root, execution_thread: None, span })
}
