//! Rewrites indices as integers. Simplifies the indices by their known ranges, and uses 32 bits
//! where 32 bits suffice.
//!
//! The stage records an index as an expression. The stage writes the expression only where an
//! address, a comparison or a loop bound needs the index. Before the stage writes an expression,
//! the algebra simplifies it, for example by removing divisions of products and comparisons that
//! always hold. Each address gets the alignment that the expression of its index guarantees.

mod address;
mod control;
mod values;

use fusebox_core::indexing::{IndexingMap, Interval};
use fusebox_core::ir::{Attribute, OpKind, Operation, Scalar, Type, Value};
use rustc_hash::FxHashMap;

use super::rewrite::{Rewriter, Stage};
use super::tracker::{Definitions, Tracker};
use super::{Facts, KernelFunctions, StageError, map_of};
use crate::error::{Done, Required, Unsupported};
use crate::indices::Ix;
use crate::targets::TargetInfo;

pub(super) fn lower(
    kernel: &KernelFunctions,
    facts: &Facts<'_>,
    target: &TargetInfo,
) -> Result<KernelFunctions, StageError> {
    kernel.each(|number, function| {
        let indices = Indexed {
            rewriter: Rewriter::new(function),
            tracker: Tracker::default(),
            written: FxHashMap::default(),
            definitions: Definitions::of(function),
            copies: 1,
            is_entry: number == 0,
            facts,
            target,
        };
        indices.written()
    })
}

/// Representation of a value of the source function.
#[derive(Clone, Debug)]
pub(super) enum Slot {
    /// An index as an expression, which is written when needed.
    Index(Ix),
    Value(Value),
}

struct Indexed<'s, 'k> {
    rewriter: Rewriter<'s, Slot>,
    tracker: Tracker,
    /// Values that were written for expressions. The key is the expression and the width in bits.
    /// The number beside each value is the scope in which the value was written.
    written: FxHashMap<(Ix, u32), (Value, u32)>,
    definitions: Definitions<'s>,
    /// Number of copies of the current region that result from unrolling the loops around it.
    copies: i64,
    is_entry: bool,
    facts: &'k Facts<'k>,
    target: &'k TargetInfo,
}

impl<'s> Stage<'s> for Indexed<'s, '_> {
    type Slot = Slot;

    fn rewriter(&mut self) -> &mut Rewriter<'s, Slot> {
        &mut self.rewriter
    }

    fn passed(&self, ty: &Type) -> Done<Vec<Type>> {
        // Indices cross functions and regions as 64-bit integers, because the range of an index is
        // not known on the other side.
        Ok(vec![if ty.element() == Scalar::Index { ty.with_element(Scalar::I64) } else { ty.clone() }])
    }

    fn values(&mut self, slot: &Slot) -> Done<Vec<Value>> {
        Ok(vec![match slot {
            Slot::Index(ix) => self.index_value(*ix, 64),
            Slot::Value(value) => *value,
        }])
    }

    fn slot_of(&mut self, ty: &Type, values: &[Value], like: &[Slot]) -> Done<Slot> {
        if *ty != Type::INDEX {
            return Ok(Slot::Value(values[0]));
        }
        // All predecessors pass the same index, and the values of its leaves are visible here.
        if let Some(&Slot::Index(first)) = like.first() {
            let same = like.iter().all(|slot| matches!(slot, Slot::Index(ix) if *ix == first));
            if same && self.tracker.algebra.depth(first) <= self.out().depth() {
                return Ok(Slot::Index(first));
            }
        }
        Ok(Slot::Index(self.leaf(values[0], Interval::ALL)))
    }

    fn operation(&mut self, op: &'s Operation) -> Done {
        let of_indices = op.operands.first().is_some_and(|&first| *self.rewriter.source.type_of(first) == Type::INDEX);
        match op.kind {
            OpKind::Constant => self.constant(op),
            OpKind::ThreadId | OpKind::BlockId => self.id(op),
            OpKind::ApplyIndexing => self.apply_indexing(op),
            OpKind::CmpI if of_indices => self.compare(op),
            OpKind::AndI if *self.rewriter.source.type_of(op.result()) == Type::I1 => {
                let (a, b) = (self.value(op.operands[0])?, self.value(op.operands[1])?);
                let both = self.out().both(a, b);
                self.bind_value(op, both);
                Ok(())
            }
            OpKind::IndexCast => self.index_cast(op, true),
            OpKind::IndexCastUI => self.index_cast(op, false),
            OpKind::Select if *self.rewriter.source.type_of(op.result()) == Type::INDEX => self.select(op),
            kind if is_division(kind) && !of_indices => {
                let (a, b) = (self.value(op.operands[0])?, self.value(op.operands[1])?);
                self.report_division(op, a, b)?;
                self.copied(op)
            }
            _ if of_indices && op.operands.len() == 2 && op.kind.form() == super::Form::IntBinary => {
                self.arithmetic(op)
            }
            OpKind::Load | OpKind::Store | OpKind::AtomicCombine | OpKind::AtomicStore | OpKind::ReportAccess => {
                self.access(op)
            }
            OpKind::AtomicRmw => {
                let (operands, attributes) = self.address(op)?;
                super::copy_atomic(self, op, operands, attributes)
            }
            OpKind::Wgmma => self.tile_product(op),
            OpKind::ReportIndex => self.report_index(op),
            OpKind::For => self.for_loop(op),
            OpKind::If => self.if_else(op),
            OpKind::IndexSwitch => {
                let selector = self.index(op.operands[0])?;
                let selector = self.index_value(selector, 64);
                let selector = self.out().op(OpKind::IndexCast, &[selector], Vec::new(), Type::INDEX);
                self.index_switch_on(op, selector)
            }
            OpKind::While => {
                let (reports, site) = (self.target.reports_accesses, self.site(op));
                self.while_loop(op, |this| {
                    if reports {
                        this.out().act(OpKind::ReportTurn, &[], vec![("site".into(), site)]);
                    }
                })
            }
            _ => self.copied(op),
        }
    }
}

/// Whether an operation is an integer division or remainder, whose result may be undefined.
pub(crate) fn is_division(kind: OpKind) -> bool {
    use OpKind::*;
    matches!(kind, DivSI | DivUI | RemSI | RemUI | FloorDivSI | CeilDivSI)
}

impl<'s> Indexed<'s, '_> {
    fn bind_value(&mut self, op: &'s Operation, value: Value) {
        self.rewriter.bind(op.result(), Slot::Value(value));
    }

    fn bind_index(&mut self, op: &'s Operation, ix: Ix) {
        self.rewriter.bind(op.result(), Slot::Index(ix));
    }

    /// Creates a leaf for a value. Expressions in the current scope and in nested scopes can use
    /// the leaf.
    fn leaf(&mut self, value: Value, range: Interval) -> Ix {
        let depth = self.out().depth();
        self.tracker.leaf(value, range, depth)
    }

    fn value(&mut self, value: Value) -> Done<Value> {
        match self.rewriter.slot(value)? {
            Slot::Value(value) => Ok(value),
            Slot::Index(_) => Unsupported::because("an operand is an index"),
        }
    }

    fn index(&self, value: Value) -> Done<Ix> {
        match self.rewriter.slot(value)? {
            Slot::Index(ix) => Ok(ix),
            Slot::Value(_) => Unsupported::because("an operand is no index"),
        }
    }

    fn constant(&mut self, op: &'s Operation) -> Done {
        let ty = self.rewriter.source.type_of(op.result()).clone();
        match op.attribute("value") {
            Some(value) if ty == Type::INDEX => {
                let ix = value.as_integer().map(|value| self.tracker.algebra.constant(value));
                let unreadable = || Unsupported(format!("the constant {value} is not readable"));
                self.bind_index(op, ix.ok_or_else(unreadable)?);
            }
            Some(Attribute::Dense(_, bytes)) if ty.element() == Scalar::Index => {
                let ty = ty.with_element(Scalar::I64);
                let value = self.out().constant(Attribute::Dense(ty.clone(), bytes.clone()), ty);
                self.bind_value(op, value);
            }
            _ => {
                let value = self.out().constant_like(op, &ty)?;
                self.bind_value(op, value);
            }
        }
        Ok(())
    }

    fn id(&mut self, op: &'s Operation) -> Done {
        if !self.is_entry {
            return Unsupported::because("only the ids of block and thread are known, in the entry function");
        }
        let Some(count) = self.facts.id_count(op) else {
            let zero = self.tracker.algebra.constant(0);
            self.bind_index(op, zero);
            return Ok(());
        };
        // The id is read at the beginning of the function, so that it is available at every use.
        let id = self.out().at_beginning(op.kind, op.attributes.clone(), Type::INDEX);
        let native = Scalar::Int(self.target.index_bits);
        let id = self.out().cast_at_beginning(id, native);
        let ix = self.tracker.leaf(id, Interval::from_size(count), 0);
        self.bind_index(op, ix);
        Ok(())
    }

    fn apply_indexing(&mut self, op: &'s Operation) -> Done {
        let operands = op.operands.iter().map(|&operand| self.index(operand)).collect::<Done<Vec<Ix>>>()?;
        let results = self.applied(&*map_of(op)?, operands)?;
        self.rewriter.bind_all(&op.results, results.into_iter().map(Slot::Index).collect());
        Ok(())
    }

    /// Computes the results of a map, either from the expressions of the operands or from the
    /// values of the operands.
    fn applied(&mut self, map: &IndexingMap, operands: Vec<Ix>) -> Done<Vec<Ix>> {
        let results = self.tracker.apply(map, &operands)?;
        if !results.iter().any(|&result| self.tracker.is_large(result)) {
            return Ok(results);
        }
        let operands: Vec<Ix> = operands.into_iter().map(|operand| self.cut(operand)).collect();
        let direct = self.tracker.apply(map, &operands)?;
        Ok(if self.tracker.is_better_cut(&results, &direct) { direct } else { results })
    }

    /// Writes the operations that compute an index, and returns a leaf for the resulting value.
    fn cut(&mut self, ix: Ix) -> Ix {
        if !self.tracker.algebra.takes_more_than(1, ix) {
            return ix;
        }
        let bits = self.bits_of(ix);
        let value = self.index_value(ix, bits);
        self.tracker.leaf_for(ix, value)
    }

    /// Rewrites an operation on two indices.
    fn arithmetic(&mut self, op: &'s Operation) -> Done {
        let (a, b) = (self.index(op.operands[0])?, self.index(op.operands[1])?);
        let ix = match self.tracker.arithmetic(op.kind, a, b) {
            Some(ix) => ix,
            // The operation is written on integers, and its result is a leaf.
            None => {
                let (left, right) = (self.index_value(a, 64), self.index_value(b, 64));
                if is_division(op.kind) {
                    self.report_division(op, left, right)?;
                }
                let value = self.out().binary(op.kind, left, right);
                self.leaf(value, Interval::ALL)
            }
        };
        self.bind_index(op, ix);
        Ok(())
    }

    fn compare(&mut self, op: &'s Operation) -> Done {
        let (a, b) = (self.index(op.operands[0])?, self.index(op.operands[1])?);
        let predicate = op.integer("predicate").required("its predicate is unknown")?;
        let value = self.compared(predicate, a, b);
        self.bind_value(op, value);
        Ok(())
    }

    fn compared(&mut self, predicate: i64, a: Ix, b: Ix) -> Value {
        if let Some(outcome) = self.tracker.decided(predicate, a, b) {
            return self.out().bool(outcome);
        }
        let bits = self.bits_of(a).max(self.bits_of(b));
        let (left, right) = (self.index_value(a, bits), self.index_value(b, bits));
        self.out().comparison(OpKind::CmpI, predicate, left, right)
    }

    fn select(&mut self, op: &'s Operation) -> Done {
        let condition = self.value(op.operands[0])?;
        let (a, b) = (self.index(op.operands[1])?, self.index(op.operands[2])?);
        let bits = self.bits_of(a).max(self.bits_of(b));
        let (left, right) = (self.index_value(a, bits), self.index_value(b, bits));
        let range = self.tracker.algebra.range(a).hull(self.tracker.algebra.range(b));
        let value = self.out().select(condition, left, right);
        let ix = self.leaf(value, range);
        self.bind_index(op, ix);
        Ok(())
    }

    /// Rewrites `arith.index_cast` and `index_castui`.
    fn index_cast(&mut self, op: &'s Operation, signed: bool) -> Done {
        let source = self.rewriter.source;
        let (from, to) = (source.type_of(op.operands[0]), source.type_of(op.result()));
        match (from, to) {
            (Type::Scalar(Scalar::Index), Type::Scalar(Scalar::Int(bits))) => {
                let ix = self.index(op.operands[0])?;
                let value = self.index_value(ix, (*bits).max(32));
                let value = self.out().resized(value, *bits, true);
                self.bind_value(op, value);
            }
            (Type::Scalar(Scalar::Int(bits)), Type::Scalar(Scalar::Index)) => {
                let range = self.definitions.range_of_index(op.operands[0], *bits, signed);
                let value = self.value(op.operands[0])?;
                let wide = 64.min((*bits).max(self.target.index_bits));
                let value = self.out().resized(value, wide, signed);
                let ix = self.leaf(value, range);
                self.bind_index(op, ix);
            }
            (Type::Vector(..), Type::Vector(_, element)) => {
                let value = self.value(op.operands[0])?;
                let value = self.out().resized(value, element.bits(), signed);
                self.bind_value(op, value);
            }
            _ => return Unsupported::because(format!("it casts {from} to {to}")),
        }
        Ok(())
    }

    /// Returns the location of an operation, for the simulator.
    fn site(&self, op: &Operation) -> Attribute {
        Attribute::Str(format!("{}: {} at {}", self.facts.name, op.kind, op.place))
    }
}
