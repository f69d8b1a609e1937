//! Recognises regions of `atomic_rmw` that an atomic instruction of the target can compute.

use fusebox_core::ir::{Float, Function, OpKind, Operation, Region, Scalar, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::targets::Atomics;

/// Effect of a region on an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Update {
    /// The region replaces the element by a value that does not depend on the element.
    Overwrite(Value),
    /// One instruction combines the element with a value that does not depend on the element.
    Combine(OpKind, Value),
    /// Two instructions combine the real part and the imaginary part with values that do not depend
    /// on the element.
    Parts(OpKind, [Value; 2]),
    /// Any other effect.
    Other,
}

/// A region, and the values that depend on its argument.
pub(super) struct Body<'s> {
    function: &'s Function,
    old: Option<Value>,
    new: Option<Value>,
    dependent: FxHashSet<Value>,
    definitions: FxHashMap<Value, &'s Operation>,
}

impl<'s> Body<'s> {
    pub(super) fn of(region: &'s Region, function: &'s Function) -> Self {
        // Operations that do not depend on the old element may be outside of the region.
        let mut definitions = FxHashMap::default();
        function.body.walk(&mut |op| definitions.extend(op.results.iter().map(|&result| (result, op))));
        Body {
            function,
            old: region.arguments.first().copied(),
            new: region.yielded().first().copied(),
            dependent: dependents(region),
            definitions,
        }
    }

    pub(super) fn depends(&self, value: Value) -> bool {
        self.dependent.contains(&value)
    }

    fn is_old(&self, value: Value) -> bool {
        self.old == Some(value)
    }

    fn defined_by(&self, value: Value, kind: OpKind) -> Option<&'s Operation> {
        self.definitions.get(&value).copied().filter(|op| op.kind == kind)
    }

    /// Returns the effect of the region. Returns [`Update::Other`] if the target has no instruction
    /// for this effect.
    pub(super) fn update(&self, element: Scalar, atomics: &Atomics) -> Update {
        let Some(new) = self.new else { return Update::Other };
        if !self.depends(new) {
            return Update::Overwrite(new);
        }
        match element {
            Scalar::Complex(part) => self.parts(new, part, atomics),
            Scalar::Float(Float::F16 | Float::BF16) if self.defined_by(new, OpKind::TruncF).is_some() => {
                self.narrow(new, element, atomics)
            }
            _ => match self.combination(new, &|value| self.is_old(value)) {
                Some((kind, value)) if is_native(kind, element, atomics) => Update::Combine(kind, value),
                _ => Update::Other,
            },
        }
    }

    fn parts(&self, new: Value, part: Float, atomics: &Atomics) -> Update {
        let Some(create) = self.defined_by(new, OpKind::ComplexCreate) else { return Update::Other };
        let part_of = |position: usize, kind: OpKind| {
            let is_part = |value| self.defined_by(value, kind).is_some_and(|op| self.is_old(op.operands[0]));
            self.combination(create.operands[position], &is_part)
                .filter(|&(kind, _)| is_native(kind, Scalar::Float(part), atomics))
        };
        match (part_of(0, OpKind::ComplexRe), part_of(1, OpKind::ComplexIm)) {
            (Some((kind, re)), Some((other, im))) if kind == other => Update::Parts(kind, [re, im]),
            _ => Update::Other,
        }
    }

    /// Recognises `truncf(op(extf old, extf value))`.
    fn narrow(&self, new: Value, element: Scalar, atomics: &Atomics) -> Update {
        let widened = |value: Value| {
            let op = self.defined_by(value, OpKind::ExtF)?;
            (*self.function.type_of(op.operands[0]) == Type::Scalar(element)).then_some(op.operands[0])
        };
        let is_old = |value: Value| widened(value).is_some_and(|value| self.is_old(value));
        let wide = self.defined_by(new, OpKind::TruncF).and_then(|op| self.combination(op.operands[0], &is_old));
        match wide {
            Some((kind, value)) if is_native(kind, element, atomics) => widened(value)
                .filter(|&value| !self.depends(value))
                .map_or(Update::Other, |value| Update::Combine(kind, value)),
            _ => Update::Other,
        }
    }

    /// Recognises an operation that combines the old element with a value that does not depend on
    /// the element. Returns the operation's kind and this value.
    fn combination(&self, new: Value, is_old: &dyn Fn(Value) -> bool) -> Option<(OpKind, Value)> {
        let op = self.definitions.get(&new)?;
        use OpKind::*;
        let combines = matches!(op.kind, AddF | AddI | AndI | OrI | XorI | MaxSI | MinSI | MaxUI | MinUI);
        let (a, b) = (*op.operands.first()?, *op.operands.get(1)?);
        match (is_old(a) && !self.depends(b), is_old(b) && !self.depends(a)) {
            (true, _) if combines => Some((op.kind, b)),
            (_, true) if combines => Some((op.kind, a)),
            _ => None,
        }
    }
}

/// Whether the target has an instruction for an atomic update of this kind and element type, or
/// LLVM can expand the update.
fn is_native(kind: OpKind, element: Scalar, atomics: &Atomics) -> bool {
    match element {
        Scalar::Int(bits) => matches!(bits, 8 | 16 | 32 | 64),
        Scalar::Float(float) => kind == OpKind::AddF && atomics.adds.contains(&float),
        _ => false,
    }
}

/// Returns the values in a region that depend on its argument, including the argument.
fn dependents(body: &Region) -> FxHashSet<Value> {
    let mut found: FxHashSet<Value> = body.arguments.iter().copied().collect();
    for op in &body.operations {
        let mut depends = false;
        op.walk(&mut |nested| depends |= nested.operands.iter().any(|operand| found.contains(operand)));
        if depends {
            found.extend(&op.results);
        }
    }
    found
}
