//! Builds an [`Op`] from an opcode and its attributes.

use super::attributes::{Attribute as Written, Attributes};
use super::lexer::Cursor;
use super::parser::Parser;
use super::source::{Fault, Parse};
use crate::attribute::{Attribute, InField, Kept, Presence, Reader};
use crate::{ComputationId, Literal, Op, Opcode};

/// Reads the attributes of an operation from a list.
struct FromText<'p, 'a, 't> {
    parser: &'p mut Parser<'t>,
    attributes: &'a mut Attributes<'t>,
    at: usize,
}

impl<'t> Parser<'t> {
    /// Reads an operation. `Parser::parentheses` reads constants and parameters, because their
    /// content is in the parentheses.
    pub(crate) fn op(&mut self, opcode: Opcode, at: usize, attributes: &mut Attributes<'t>) -> Parse<Op> {
        Op::read(opcode, &mut FromText { parser: self, attributes, at })
    }

    /// Reads a braced list of computations.
    fn callees(&mut self, value: &mut Cursor<'t>) -> Parse<Vec<ComputationId>> {
        value.expect(b'{', "before the computations")?;
        value.list(b'}', |value| self.computation_reference(value))
    }
}

impl Reader for FromText<'_, '_, '_> {
    type Error = Fault;

    fn attribute<T: InField<F>, F>(&mut self, attribute: Attribute<T, F>) -> Parse<T> {
        match (self.attributes.take(attribute.name), attribute.presence) {
            (Some(written), _) => written.read(|value| (attribute.read)(value, attribute.name)),
            (None, Presence::Assumed(usual) | Presence::Unless(usual)) => Ok(usual),
            (None, Presence::Needed | Presence::Content) => Err(self.attributes.missing(attribute.name)),
        }
    }

    fn computation(&mut self, name: &'static str) -> Parse<ComputationId> {
        let written = self.attributes.take(name).ok_or_else(|| self.attributes.missing(name))?;
        written.read(|value| self.parser.computation_reference(value))
    }

    /// Reads a list of computations. A conditional may instead have one attribute per branch. A
    /// custom call may also have the attribute `to_apply`, which names a single computation.
    fn computations(&mut self, name: &'static str, is_needed: bool) -> Parse<Vec<ComputationId>> {
        let list = self.attributes.take(name);
        let singles: &[&str] = match (is_needed, &list) {
            (true, None) => &["true_computation", "false_computation"],
            (true, Some(_)) => &[],
            (false, _) => &["to_apply"],
        };
        let mut called = Vec::new();
        for single in singles {
            match self.attributes.take(single) {
                Some(written) => called.push(written.read(|value| self.parser.computation_reference(value))?),
                None if is_needed => {
                    let wanted = singles.join("` and `");
                    let message = format!("conditional needs the attribute `{name}`, or `{wanted}`");
                    return Err(Fault::new(self.at, message));
                }
                None => {}
            }
        }
        if let Some(list) = list {
            called.extend(list.read(|value| self.parser.callees(value))?);
        }
        Ok(called)
    }

    fn literal(&mut self) -> Parse<Literal> {
        Err(Fault::new(self.at, "a constant needs its value in the parentheses"))
    }

    /// Reads the attributes that name computations, and keeps the text of all other attributes.
    fn kept(&mut self) -> Parse<Kept> {
        let mut called = Vec::new();
        for name in ["to_apply", "calls", "condition", "body"] {
            if let Some(written) = self.attributes.take(name) {
                let callee = written.read(|value| self.parser.computation_reference(value))?;
                called.push((name.to_owned(), vec![callee]));
            }
        }
        if let Some(written) = self.attributes.take("called_computations") {
            called.push(("called_computations".to_owned(), written.read(|value| self.parser.callees(value))?));
        }
        let own = |written: Written| (written.name.to_owned(), written.raw());
        let attributes = self.attributes.drain().map(own).collect();
        Ok(Kept { called, attributes })
    }
}

/// Returns the names of the attributes that an operation may have in addition to the attributes of
/// its [`Op`]. Fusebox keeps and prints the additional attributes, which do not affect the result.
pub(crate) fn kept_attributes(opcode: Opcode) -> &'static [&'static str] {
    match opcode {
        Opcode::Dot | Opcode::RaggedDot | Opcode::ScaledDot => &["operand_precision"],
        Opcode::Convolution => &["operand_precision", "algorithm", "convolution_kind", "sparsity_config"],
        Opcode::Reshape => &["inferred_dimension"],
        Opcode::Parameter => &["parameter_replication"],
        Opcode::Fusion => &["output_to_operand_aliasing"],
        Opcode::Call => &["is_composite", "output_to_operand_aliasing"],
        Opcode::CustomCall => &[
            "window",
            "dim_labels",
            "feature_group_count",
            "batch_group_count",
            "operand_precision",
            "padding_type",
            "literal",
            "schedule",
            "custom_call_schedule",
            "replica_groups",
        ],
        _ => &[],
    }
}
