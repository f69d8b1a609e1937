//! When two index values of a kernel are the same number, and when the turns of one loop are among those of another.

use std::collections::HashMap;

use fusebox_core::indexing::ceil_div;
use fusebox_core::ir::{Attribute, Form, Function, OpKind, Operation, Value};

/// How deeply computed indices are compared.
const DEEPEST: usize = 16;

/// Where the values of a function come from.
pub struct Places<'f> {
    /// Which operation makes a value, and as which of its results.
    makers: HashMap<Value, (&'f Operation, usize)>,
    /// The loops, by their induction variables.
    loops: HashMap<Value, &'f Operation>,
}

/// Induction variables of loops around what is written, with those of loops around what is read that they stand for.
pub type Turns = HashMap<Value, Value>;

impl<'f> Places<'f> {
    /// Those of all values of a function.
    pub fn of(function: &'f Function) -> Places<'f> {
        let mut places = Places { makers: HashMap::new(), loops: HashMap::new() };
        function.body.walk(&mut |op| {
            places.makers.extend(op.results.iter().enumerate().map(|(number, &result)| (result, (op, number))));
            if let (OpKind::For, [body]) = (op.kind, &op.regions[..]) {
                places.loops.extend(body.arguments.first().map(|&induction| (induction, op)));
            }
        });
        places
    }

    /// Those among `known` that are `written` at some turn of the loops `around` it, with the turns. What is written comes after what is
    /// known, in a region around both.
    pub fn candidates(
        &self,
        written: Value,
        known: &[Value],
        around: &[&'f Operation],
        turns: &Turns,
    ) -> Vec<(Value, Turns)> {
        let candidate = |&read: &Value| {
            let mut turns = turns.clone();
            self.is_same(read, written, around, &mut turns, DEEPEST).then_some((read, turns))
        };
        known.iter().filter_map(candidate).collect()
    }

    /// Whether each of these loops makes the turn that stands for a turn of another loop, or at least one.
    pub fn are_made(&self, loops: &[&'f Operation], turns: &Turns) -> bool {
        loops.iter().all(|it| {
            let induction = it.regions.first().and_then(|body| body.arguments.first());
            induction.is_some_and(|induction| turns.contains_key(induction)) || self.count(it) > Some(0)
        })
    }

    /// Turns of a loop, if they are known.
    pub fn count(&self, it: &Operation) -> Option<i64> {
        let [first, end, step, ..] = it.operands[..] else { return None };
        let (first, end, step) = (self.constant(first)?, self.constant(end)?, self.constant(step)?);
        end.checked_sub(first).filter(|_| step > 0).map(|length| ceil_div(length, step))
    }

    fn is_same(&self, read: Value, written: Value, around: &[&'f Operation], turns: &mut Turns, depth: usize) -> bool {
        if read == written {
            return true;
        }
        if let Some(turn) = turns.get(&written) {
            return *turn == read;
        }
        if let (Some(reading), Some(writing)) = (self.loops.get(&read), self.loops.get(&written)) {
            let is_turn = around.iter().any(|it| std::ptr::eq(*it, *writing)) && self.has_turns_of(writing, reading);
            if is_turn {
                turns.insert(written, read);
            }
            return is_turn;
        }
        let (Some((one, number)), Some((other, place))) = (self.makers.get(&read), self.makers.get(&written)) else {
            return false;
        };
        let is_alike = number == place
            && one.kind == other.kind
            && is_of_indices(one.kind)
            && one.attributes == other.attributes
            && one.operands.len() == other.operands.len();
        is_alike
            && depth > 0
            && one
                .operands
                .iter()
                .zip(&other.operands)
                .all(|(&read, &written)| self.is_same(read, written, around, turns, depth - 1))
    }

    /// Whether a loop makes all the turns that another one makes.
    fn has_turns_of(&self, writing: &Operation, reading: &Operation) -> bool {
        let ([first, end, step, ..], [of_first, of_end, of_step, ..]) = (&writing.operands[..], &reading.operands[..])
        else {
            return false;
        };
        let is_equal = |one: Value, other: Value| {
            one == other || self.constant(one).is_some_and(|number| self.constant(other) == Some(number))
        };
        let reaches = || match (self.constant(*end), self.constant(*of_end)) {
            (Some(end), Some(of_end)) => end >= of_end,
            _ => false,
        };
        is_equal(*first, *of_first) && is_equal(*step, *of_step) && (end == of_end || reaches())
    }

    fn constant(&self, value: Value) -> Option<i64> {
        let (maker, _) = self.makers.get(&value).filter(|(maker, _)| maker.kind == OpKind::Constant)?;
        match maker.attribute("value")? {
            Attribute::Int(number, _) => Some(*number),
            _ => None,
        }
    }
}

/// Whether an operation computes integers from integers and from nothing else.
fn is_of_indices(kind: OpKind) -> bool {
    matches!(kind, OpKind::Constant | OpKind::ApplyIndexing)
        || matches!(kind.form(), Form::IntBinary | Form::IntUnary | Form::IndexCast)
}
