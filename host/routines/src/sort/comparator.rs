//! Recognises the keys of a comparator. A key is a value that the comparator reads from an operand
//! and by which it orders elements.
//!
//! Recognises the lexicographic comparators that frameworks write. A lexicographic comparator
//! compares several pairs of values, and the first pair with different values decides which element
//! comes first. Before the comparison, the comparator may replace all NaNs by one NaN, and zeros of
//! both signs by one zero.

use fusebox_core::hlo::{
    ArrayShape, BinaryOp, Comparison, ComparisonType, Computation, ElementType, InstrId, Literal, Op, UnaryOp,
};

use crate::key::{MergedValues, Order};

/// One of the values by which a comparator orders elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Index of the operand that holds the value.
    pub operand: usize,
    /// Number of values per element of the operand: two for complex elements, else one.
    pub stride: usize,
    /// Index of the value within an element of the operand.
    pub offset: usize,
    /// Order of the key's values.
    pub order: Order,
}

/// Returns the keys of a comparator, the most significant key first. `operands` are the shapes of
/// the sort's operands. Returns `None` if the comparator does anything other than compare keys.
pub fn keys(comparator: &Computation, operands: &[&ArrayShape]) -> Option<Vec<Key>> {
    let reader = ComparatorReader { comparator, operands };
    let mut keys = Vec::new();
    let mut rest = comparator.root;
    // The loop ends because each iteration continues with an operand of the previous instruction.
    loop {
        if let Some(decision) = reader.decision(rest) {
            keys.push(reader.key(&decision)?);
            return Some(keys);
        }
        let (decision, next) = reader.first_of_several(rest)?;
        keys.push(reader.key(&decision)?);
        rest = next;
    }
}

struct ComparatorReader<'a> {
    comparator: &'a Computation,
    operands: &'a [&'a ArrayShape],
}

/// One side of a comparison: a real value of one parameter, after zeros and NaNs have been merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ComparedValue {
    parameter: usize,
    part: usize,
    ty: ElementType,
    merged: MergedValues,
}

impl ComparedValue {
    /// Returns the value that corresponds to this value in the other one of the two compared
    /// elements.
    fn of_other(self) -> ComparedValue {
        ComparedValue { parameter: self.parameter ^ 1, ..self }
    }

    fn is_same_value(self, other: ComparedValue) -> bool {
        (self.parameter, self.part, self.ty) == (other.parameter, other.part, other.ty)
    }
}

/// A comparison between corresponding values of the two compared elements. If the values differ,
/// the comparison decides which element comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DecidingComparison {
    /// The compared value of the first element.
    side: ComparedValue,
    is_partial: bool,
    is_descending: bool,
}

impl ComparatorReader<'_> {
    fn operands_of(&self, id: InstrId) -> (&Op, &[InstrId]) {
        let instruction = self.comparator.instruction(id);
        (&instruction.op, &instruction.operands)
    }

    fn key(&self, decision: &DecidingComparison) -> Option<Key> {
        let ComparedValue { parameter, part, ty, merged } = decision.side;
        let operand = parameter / 2;
        let stride = if self.operands.get(operand)?.element_type.is_complex() { 2 } else { 1 };
        let order = Order::new(ty, merged, decision.is_partial, decision.is_descending)?;
        Some(Key { operand, stride, offset: part, order })
    }

    /// Matches a comparison with `LT` or `GT` between corresponding values of the two elements.
    fn decision(&self, id: InstrId) -> Option<DecidingComparison> {
        let (direction, is_partial, first, second) = self.comparison(id)?;
        let is_less = match direction {
            Comparison::Lt => true,
            Comparison::Gt => false,
            _ => return None,
        };
        let is_swapped = first.parameter % 2 == 1;
        Some(DecidingComparison {
            side: if is_swapped { second } else { first },
            is_partial,
            is_descending: is_less == is_swapped,
        })
    }

    /// Matches `before or (equal and rest)`, or an equivalent `select`. Returns the comparison
    /// `before`, and the instruction `rest`.
    fn first_of_several(&self, id: InstrId) -> Option<(DecidingComparison, InstrId)> {
        let either_way = |a: InstrId, b: InstrId| [(a, b), (b, a)];
        match self.operands_of(id) {
            (Op::Binary(BinaryOp::Or), &[a, b]) => either_way(a, b).into_iter().find_map(|(before, both)| {
                let decision = self.decision(before)?;
                let (Op::Binary(BinaryOp::And), &[c, d]) = self.operands_of(both) else { return None };
                let mut rests = either_way(c, d).into_iter();
                rests.find_map(|(equal, rest)| self.is_tie(equal, Comparison::Eq, decision).then_some((decision, rest)))
            }),
            (Op::Select, &[condition, a, b]) => {
                let forms = [(Comparison::Eq, b, a), (Comparison::Ne, a, b)];
                forms.into_iter().find_map(|(direction, before, rest)| {
                    let decision = self.decision(before)?;
                    self.is_tie(condition, direction, decision).then_some((decision, rest))
                })
            }
            _ => None,
        }
    }

    fn is_tie(&self, id: InstrId, wanted: Comparison, decision: DecidingComparison) -> bool {
        self.comparison(id).is_some_and(|(direction, is_partial, first, second)| {
            direction == wanted && is_partial == decision.is_partial && [first, second].contains(&decision.side)
        })
    }

    /// Matches a comparison between corresponding values of the two elements. Returns the direction
    /// of the comparison, whether the comparison leaves NaNs unordered, and its two sides.
    fn comparison(&self, id: InstrId) -> Option<(Comparison, bool, ComparedValue, ComparedValue)> {
        let (&Op::Compare { direction, order }, &[first, second]) = self.operands_of(id) else { return None };
        let (first, second) = (self.side(first)?, self.side(second)?);
        let is_partial = first.ty.is_float() && order != Some(ComparisonType::TotalOrder);
        (first.of_other() == second).then_some((direction, is_partial, first, second))
    }

    fn side(&self, id: InstrId) -> Option<ComparedValue> {
        let mut merged = MergedValues::default();
        let mut conditions = Vec::new();
        let mut at = id;
        while let (Op::Select, &[condition, on_true, on_false]) = self.operands_of(at) {
            let bits = self.constant(on_true)?;
            conditions.push((condition, bits));
            at = on_false;
        }
        let plain = self.plain(at)?;
        // The outermost `select` takes precedence.
        for &(condition, bits) in conditions.iter().rev() {
            match self.is_zero_or_nan(condition, plain)? {
                SpecialValue::Zero if !is_zero(plain.ty, bits) => return None,
                SpecialValue::Zero => merged.zero = Some(bits),
                SpecialValue::Nan => merged.nan = Some(bits),
            }
        }
        Some(ComparedValue { merged, ..plain })
    }

    /// Matches a real parameter, or the real or imaginary part of a complex parameter.
    fn plain(&self, id: InstrId) -> Option<ComparedValue> {
        let parameter = |id: InstrId| match self.comparator.instruction(id).op {
            Op::Parameter { number } => usize::try_from(number).ok(),
            _ => None,
        };
        let ty = self.comparator.instruction(id).shape.as_array()?.element_type;
        let (parameter, part) = match self.operands_of(id) {
            (Op::Unary(UnaryOp::Real), &[operand]) => (parameter(operand)?, 0),
            (Op::Unary(UnaryOp::Imag), &[operand]) => (parameter(operand)?, 1),
            _ => (parameter(id)?, 0),
        };
        let whole = self.operands.get(parameter / 2)?.element_type;
        (whole.real_part() == ty).then_some(ComparedValue { parameter, part, ty, merged: MergedValues::default() })
    }

    /// Matches a condition that tests whether `plain` is zero, or a condition that tests whether
    /// `plain` is NaN. Returns which of the two conditions matches. The condition tests the value
    /// before any replacement of zeros or NaNs, so such replacements do not affect the condition.
    fn is_zero_or_nan(&self, condition: InstrId, plain: ComparedValue) -> Option<SpecialValue> {
        let (&Op::Compare { direction, order }, &[a, b]) = self.operands_of(condition) else { return None };
        if order == Some(ComparisonType::TotalOrder) || !plain.ty.is_float() {
            return None;
        }
        let is_value = |id: InstrId| self.plain(id).is_some_and(|it| it.is_same_value(plain));
        let is_zero = |id: InstrId| self.constant(id).is_some_and(|bits| is_zero(plain.ty, bits));
        match direction {
            Comparison::Eq if is_value(a) && is_zero(b) || is_zero(a) && is_value(b) => Some(SpecialValue::Zero),
            Comparison::Ne if is_value(a) && is_value(b) => Some(SpecialValue::Nan),
            _ => None,
        }
    }

    /// Returns the bits of a float constant.
    fn constant(&self, id: InstrId) -> Option<u64> {
        let (Op::Constant(Literal::Array(array)), _) = self.operands_of(id) else { return None };
        let mut bits = [0; 8];
        bits.get_mut(..array.data.len())?.copy_from_slice(&array.data);
        array.element_type.is_float().then_some(u64::from_le_bytes(bits))
    }
}

fn is_zero(ty: ElementType, bits: u64) -> bool {
    ty.float_format().is_some_and(|format| format.decode(bits) == 0.0)
}

enum SpecialValue {
    Zero,
    Nan,
}
