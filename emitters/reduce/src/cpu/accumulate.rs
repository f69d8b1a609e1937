//! Accumulators: representations of partial results with which LLVM can vectorise reduction loops.
//!
//! | reduction | kept as | because |
//! | --- | --- | --- |
//! | sum, product of floats below `f32` | `f32` | rounded once, at the end |
//! | maximum, minimum of floats | the least and the greatest key | integers are compared in one instruction, NaN included |
//! | other reductions | the reduction's types | |
//!
//! The *key* of a float consists of the float's bits, read as a signed integer. If the float's sign
//! bit is set, all other bits are inverted in the key. Keys have the same order as the floats. The
//! key of `-0` is less than the key of `+0`. The key of a NaN is farther from zero than the key of
//! the infinity with the same sign.

use fusebox_core::analysis::{ReductionGroup, ReductionHero};
use fusebox_core::builder::{FastMath, Float, FunctionBuilder, IntPredicate, Scalar, Type, Value};
use fusebox_core::hlo::{BinaryOp, ElementType};

use super::tile::AccumulatorTile;
use crate::body::{PerHero, ReductionBody, StartValues};

/// Representation of the partial results of one hero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AccumulatorForm {
    /// The hero's combiner combines the values, which have the hero's own types.
    Own,
    /// The operation `op` combines values. The only accumulator has type `kept`.
    Single { op: BinaryOp, element: ElementType, kept: Scalar },
    /// Two accumulators: the least and the greatest key of floats of type `keyed`.
    Extremes { is_maximum: bool, element: Float, keyed: Float },
}

/// The accumulators of a group, as a list of values.
pub struct Accumulators<'b, 'g> {
    body: &'b ReductionBody<'g>,
    forms: Vec<AccumulatorForm>,
}

impl<'b, 'g> Accumulators<'b, 'g> {
    /// Chooses the accumulators of a group.
    pub fn new(body: &'b ReductionBody<'g>) -> Self {
        Accumulators { body, forms: body.group().heroes.iter().map(form).collect() }
    }

    /// Whether LLVM recognises all reductions. If so, LLVM vectorises a plain loop with
    /// loop-carried accumulators.
    pub fn are_simple(&self) -> bool {
        !self.forms.contains(&AccumulatorForm::Own)
    }

    /// Whether all reductions are sums whose additions round. A long sum whose additions round is
    /// more exact if it is computed as a sum of short sums.
    pub fn are_rounded(&self) -> bool {
        self.rounded().all(|is_rounded| is_rounded)
    }

    /// Whether any reduction is a sum whose additions round.
    pub fn hold_rounded(&self) -> bool {
        self.rounded().any(|is_rounded| is_rounded)
    }

    fn rounded(&self) -> impl Iterator<Item = bool> + '_ {
        self.forms.iter().zip(&self.body.group().heroes).map(|(form, hero)| match form {
            AccumulatorForm::Single { op, kept, .. } => *op == BinaryOp::Add && matches!(kept, Scalar::Float(_)),
            AccumulatorForm::Own => {
                let are_complex = hero.values.iter().all(|value| value.element_type.is_complex());
                are_complex && hero.operation == Some(BinaryOp::Add)
            }
            AccumulatorForm::Extremes { .. } => false,
        })
    }

    /// Returns the number of bytes of the widest accumulator.
    pub fn widest_bytes(&self) -> i64 {
        self.types().iter().map(|ty| i64::from(ty.bits().div_ceil(8)).max(4)).max().unwrap_or(4)
    }

    /// Returns the types of the accumulators.
    pub fn types(&self) -> Vec<Scalar> {
        let heroes = self.forms.iter().zip(&self.body.group().heroes);
        heroes.flat_map(|(form, hero)| types(*form, hero)).collect()
    }

    /// Returns the accumulators with which a reduction begins.
    pub fn start(&self, b: &mut FunctionBuilder, starts: &StartValues) -> Vec<Value> {
        self.of_elements(b, &starts.start)
    }

    /// Returns the initial accumulators of a partial result. The kernel later merges the partial
    /// result into other accumulators. Sums that round begin with negative zero, because adding a
    /// number to negative zero needs no operation.
    pub fn empty(&self, b: &mut FunctionBuilder, start: &[Value]) -> Vec<Value> {
        let mut empty = Vec::with_capacity(start.len());
        let mut rest = start;
        for ((form, hero), is_rounded) in self.forms.iter().zip(&self.body.group().heroes).zip(self.rounded()) {
            let (mine, others) = rest.split_at(types(*form, hero).len());
            rest = others;
            if is_rounded {
                let types: Vec<Scalar> = mine.iter().map(|value| b.type_of(*value).element()).collect();
                empty.extend(types.into_iter().map(|ty| negative_zero(b, ty)));
            } else {
                empty.extend(mine);
            }
        }
        empty
    }

    /// Returns accumulators that hold one element each.
    pub fn of_elements(&self, b: &mut FunctionBuilder, elements: &[Vec<Value>]) -> Vec<Value> {
        let heroes = self.forms.iter().zip(elements);
        heroes.flat_map(|(form, elements)| entered(b, *form, elements)).collect()
    }

    /// Combines the accumulators `state` with the accumulators `others`.
    pub fn merge(&self, b: &mut FunctionBuilder, state: &[Value], others: &[Value]) -> Vec<Value> {
        let mut merged = Vec::with_capacity(state.len());
        let mut at = 0;
        for (hero, form) in self.forms.iter().enumerate() {
            let width = types(*form, &self.body.group().heroes[hero]).len();
            let (mine, other) = (&state[at..at + width], &others[at..at + width]);
            merged.extend(match *form {
                AccumulatorForm::Own => self.body.combine(b, hero, mine, other),
                AccumulatorForm::Single { op, element, .. } => vec![single(b, op, element, mine[0], other[0])],
                AccumulatorForm::Extremes { .. } => vec![b.minsi(mine[0], other[0]), b.maxsi(mine[1], other[1])],
            });
            at += width;
        }
        merged
    }

    /// Combines the first `lanes` lanes of a tile with the same lanes of another tile.
    pub fn merge_lanes(
        &self,
        b: &mut FunctionBuilder,
        tile: AccumulatorTile,
        other: &AccumulatorTile,
        lanes: i64,
    ) -> AccumulatorTile {
        let merge = |b: &mut FunctionBuilder, lane: Value, held: &[Value], _: &[Value]| {
            let others = other.lane(b, lane);
            (self.merge(b, held, &others), Vec::new())
        };
        tile.each_lane(b, lanes, &[], merge).0
    }

    /// Converts accumulators to results.
    pub fn totals(&self, b: &mut FunctionBuilder, state: &[Value]) -> PerHero {
        let mut rest = state;
        let mut totals = Vec::with_capacity(self.forms.len());
        for (form, hero) in self.forms.iter().zip(&self.body.group().heroes) {
            let (mine, others) = rest.split_at(types(*form, hero).len());
            rest = others;
            totals.push(left(b, *form, mine));
        }
        totals
    }
}

fn form(hero: &ReductionHero) -> AccumulatorForm {
    let (Some(op), [value]) = (hero.operation, hero.values.as_slice()) else { return AccumulatorForm::Own };
    let element = value.element_type;
    match (op, Scalar::of_element(element)) {
        (BinaryOp::Maximum | BinaryOp::Minimum, Scalar::Float(float)) => {
            let keyed = if matches!(float, Float::F64 | Float::F16 | Float::BF16) { float } else { Float::F32 };
            AccumulatorForm::Extremes { is_maximum: op == BinaryOp::Maximum, element: float, keyed }
        }
        (BinaryOp::Add | BinaryOp::Multiply, Scalar::Float(float)) => {
            let kept = if float == Float::F64 { Scalar::F64 } else { Scalar::F32 };
            AccumulatorForm::Single { op, element, kept }
        }
        (BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, kept @ Scalar::Int(_)) => {
            AccumulatorForm::Single { op, element, kept }
        }
        (BinaryOp::Add | BinaryOp::Multiply | BinaryOp::Maximum | BinaryOp::Minimum, kept @ Scalar::Int(8..)) => {
            AccumulatorForm::Single { op, element, kept }
        }
        _ => AccumulatorForm::Own,
    }
}

fn negative_zero(b: &mut FunctionBuilder, ty: Scalar) -> Value {
    match ty {
        Scalar::Complex(part) => {
            let zero = b.float(-0.0, Scalar::Float(part));
            b.complex(zero, zero)
        }
        _ => b.float(-0.0, ty),
    }
}

fn types(form: AccumulatorForm, hero: &ReductionHero) -> Vec<Scalar> {
    match form {
        AccumulatorForm::Own => hero.values.iter().map(|value| Scalar::of_element(value.element_type)).collect(),
        AccumulatorForm::Single { kept, .. } => vec![kept],
        AccumulatorForm::Extremes { keyed, .. } => vec![Scalar::Int(keyed.bits()); 2],
    }
}

fn single(b: &mut FunctionBuilder, op: BinaryOp, element: ElementType, x: Value, y: Value) -> Value {
    let is_float = element.is_float();
    let is_signed = element.is_signed_integer();
    b.set_fastmath(FastMath::REASSOC);
    let result = match op {
        BinaryOp::Add if is_float => b.addf(x, y),
        BinaryOp::Multiply if is_float => b.mulf(x, y),
        BinaryOp::Add => b.addi(x, y),
        BinaryOp::Multiply => b.muli(x, y),
        BinaryOp::Maximum if is_signed => b.maxsi(x, y),
        BinaryOp::Maximum => b.maxui(x, y),
        BinaryOp::Minimum if is_signed => b.minsi(x, y),
        BinaryOp::Minimum => b.minui(x, y),
        BinaryOp::And => b.andi(x, y),
        BinaryOp::Or => b.ori(x, y),
        _ => b.xori(x, y),
    };
    b.set_fastmath(FastMath::NONE);
    result
}

/// Converts the elements of a hero to accumulators.
fn entered(b: &mut FunctionBuilder, form: AccumulatorForm, elements: &[Value]) -> Vec<Value> {
    match form {
        AccumulatorForm::Own => elements.to_vec(),
        AccumulatorForm::Single { kept, .. } => elements.iter().map(|&element| widened(b, element, kept)).collect(),
        AccumulatorForm::Extremes { keyed, .. } => {
            let element = widened(b, elements[0], Scalar::Float(keyed));
            let key = key(b, element, keyed);
            vec![key, key]
        }
    }
}

/// Converts the accumulators of a hero to results.
fn left(b: &mut FunctionBuilder, form: AccumulatorForm, state: &[Value]) -> Vec<Value> {
    match form {
        AccumulatorForm::Own => state.to_vec(),
        AccumulatorForm::Single { element, .. } => vec![narrowed(b, state[0], Scalar::of_element(element))],
        AccumulatorForm::Extremes { is_maximum, element, keyed } => {
            let key = extreme(b, is_maximum, keyed, state);
            let bits = flipped(b, key, keyed.bits());
            let value = b.bitcast(bits, Scalar::Float(keyed));
            vec![narrowed(b, value, Scalar::Float(element))]
        }
    }
}

/// Returns the key of the result. If an element is NaN, the result is the key of a NaN.
fn extreme(b: &mut FunctionBuilder, is_maximum: bool, keyed: Float, state: &[Value]) -> Value {
    let ty = Scalar::Int(keyed.bits());
    let (least, greatest) = (state[0], state[1]);
    if is_maximum {
        let lowest = b.int(!infinity(keyed), ty);
        let negative_nan = b.cmpi(IntPredicate::Slt, least, lowest);
        return b.select(negative_nan, least, greatest);
    }
    let highest = b.int(infinity(keyed), ty);
    let nan = b.cmpi(IntPredicate::Sgt, greatest, highest);
    b.select(nan, greatest, least)
}

/// Returns the bits of positive infinity, which are also the key of positive infinity.
fn infinity(float: Float) -> i64 {
    match float {
        Float::F64 => 0x7ff0_0000_0000_0000,
        Float::F16 => 0x7c00,
        Float::BF16 => 0x7f80,
        _ => 0x7f80_0000,
    }
}

fn key(b: &mut FunctionBuilder, element: Value, float: Float) -> Value {
    let bits = b.bitcast(element, Scalar::Int(float.bits()));
    flipped(b, bits, float.bits())
}

/// Converts bits to a key, or a key to bits.
fn flipped(b: &mut FunctionBuilder, value: Value, bits: u32) -> Value {
    let ty = Scalar::Int(bits);
    let (distance, behind_sign) = (b.int(i64::from(bits) - 1, ty), b.int(i64::MAX >> (64 - bits), ty));
    let sign = b.shrsi(value, distance);
    let mask = b.andi(sign, behind_sign);
    b.xori(value, mask)
}

fn widened(b: &mut FunctionBuilder, value: Value, to: Scalar) -> Value {
    if *b.type_of(value) == Type::from(to) { value } else { b.extf(value, to) }
}

fn narrowed(b: &mut FunctionBuilder, value: Value, to: Scalar) -> Value {
    if *b.type_of(value) == Type::from(to) { value } else { b.truncf(value, to) }
}

/// Returns the total number of bytes of one result's accumulators.
pub fn state_bytes(group: &ReductionGroup) -> i64 {
    let heroes = group.heroes.iter().flat_map(|hero| types(form(hero), hero));
    heroes.map(|ty| i64::from(ty.bits().div_ceil(8))).sum()
}
