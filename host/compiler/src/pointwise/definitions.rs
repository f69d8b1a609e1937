//! Decides whether two index values of a kernel are equal, and whether one loop executes all
//! iterations of another loop.

use std::collections::HashMap;

use fusebox_core::indexing::ceil_div;
use fusebox_core::ir::{Attribute, Form, Function, OpKind, Operation, Value};

/// Largest depth of nested operations for which computed indices are compared.
const DEEPEST: usize = 16;

/// Definitions of the values of a function.
pub struct ValueDefinitions<'f> {
    /// For each value, the operation that computes it, and the value's number among the results of
    /// this operation.
    makers: HashMap<Value, (&'f Operation, usize)>,
    /// For each induction variable, its loop.
    loops: HashMap<Value, &'f Operation>,
}

/// Maps induction variables of loops around a write to the corresponding induction variables of
/// loops around a read.
pub type InductionMap = HashMap<Value, Value>;

impl<'f> ValueDefinitions<'f> {
    /// Collects the definitions of all values of a function.
    pub fn of(function: &'f Function) -> ValueDefinitions<'f> {
        let mut definitions = ValueDefinitions { makers: HashMap::new(), loops: HashMap::new() };
        function.body.walk(&mut |op| {
            definitions.makers.extend(op.results.iter().enumerate().map(|(number, &result)| (result, (op, number))));
            if let (OpKind::For, [body]) = (op.kind, &op.regions[..]) {
                definitions.loops.extend(body.arguments.first().map(|&induction| (induction, op)));
            }
        });
        definitions
    }

    /// Returns the values among `known` that equal `written` in some iteration of the loops
    /// `around` the write. Each value comes with a map that identifies this iteration. One region
    /// contains the definitions of `written` and of the known values. In this region, `written` is
    /// defined after the known values.
    pub fn candidates(
        &self,
        written: Value,
        known: &[Value],
        around: &[&'f Operation],
        turns: &InductionMap,
    ) -> Vec<(Value, InductionMap)> {
        let candidate = |&read: &Value| {
            let mut turns = turns.clone();
            self.is_same(read, written, around, &mut turns, DEEPEST).then_some((read, turns))
        };
        known.iter().filter_map(candidate).collect()
    }

    /// Whether each of these loops is known to execute an iteration. A loop is known to execute an
    /// iteration if `turns` maps the loop's induction variable to that of another loop, or if the
    /// loop's number of iterations is known and positive.
    pub fn all_iterate(&self, loops: &[&'f Operation], turns: &InductionMap) -> bool {
        loops.iter().all(|it| {
            let induction = it.regions.first().and_then(|body| body.arguments.first());
            induction.is_some_and(|induction| turns.contains_key(induction)) || self.count(it) > Some(0)
        })
    }

    /// Returns the number of iterations of a loop, if it is known.
    pub fn count(&self, it: &Operation) -> Option<i64> {
        let [first, end, step, ..] = it.operands[..] else { return None };
        let (first, end, step) = (self.constant(first)?, self.constant(end)?, self.constant(step)?);
        end.checked_sub(first).filter(|_| step > 0).map(|length| ceil_div(length, step))
    }

    fn is_same(
        &self,
        read: Value,
        written: Value,
        around: &[&'f Operation],
        turns: &mut InductionMap,
        depth: usize,
    ) -> bool {
        if read == written {
            return true;
        }
        if let Some(turn) = turns.get(&written) {
            return *turn == read;
        }
        if let (Some(reading), Some(writing)) = (self.loops.get(&read), self.loops.get(&written)) {
            let is_turn = around.iter().any(|it| std::ptr::eq(*it, *writing)) && self.iterates_as(writing, reading);
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

    /// Whether a loop executes all iterations of another loop.
    fn iterates_as(&self, writing: &Operation, reading: &Operation) -> bool {
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

/// Whether an operation computes integers from integers only.
fn is_of_indices(kind: OpKind) -> bool {
    matches!(kind, OpKind::Constant | OpKind::ApplyIndexing)
        || matches!(kind.form(), Form::IntBinary | Form::IntUnary | Form::IndexCast)
}
