//! Integers that are known at compile time. The importer computes the sizes of arrays from known
//! integers.

use fusebox_core::hlo::{ArrayLiteral, ElementType};

use crate::program::{Attribute, Constant, Operation, Type};

/// Largest number of elements of a known array. Known arrays serve to compute lists of sizes, which
/// are short.
const MOST_ELEMENTS: usize = 256;

/// A known array of integers or predicates, in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub element: ElementType,
    pub dims: Vec<i64>,
    pub numbers: Vec<i64>,
}

impl Known {
    pub(super) fn scalar(element: ElementType, number: i64) -> Known {
        Known { element, dims: Vec::new(), numbers: vec![number] }
    }

    /// Returns a constant array of integers or predicates as a known array, if the constant is
    /// short enough.
    pub(super) fn of(constant: &Constant) -> Option<Known> {
        let count = constant.dims.iter().try_fold(1i64, |count, &size| count.checked_mul(size))?;
        let is_short = usize::try_from(count).is_ok_and(|count| count <= MOST_ELEMENTS);
        let numbers = if is_short { constant.integers()? } else { return None };
        Some(Known { element: constant.elements.element_type, dims: constant.dims.clone(), numbers })
    }

    /// Returns the array as a constant of HLO.
    pub(super) fn literal(&self) -> ArrayLiteral {
        let size = self.element.byte_size();
        let data: Vec<u8> = self.numbers.iter().flat_map(|number| number.to_le_bytes()[..size].to_vec()).collect();
        ArrayLiteral { element_type: self.element, dims: self.dims.clone(), data: data.into() }
    }
}

/// Returns the result of an operation on known arrays. Supports only the operations by which
/// programs compute sizes, and returns `None` for all other operations.
pub(super) fn computed(operation: &Operation, operands: &[&Known], result: &Type) -> Option<Known> {
    let Type::Array { element, dims } = result else { return None };
    let element = *element;
    if operands.is_empty() || !element.is_integer_or_pred() {
        return None;
    }
    let dims: Option<Vec<i64>> = dims.iter().copied().collect();
    match (&*operation.name, operands) {
        ("reshape", [x]) => {
            let dims = dims.filter(|dims| dims.iter().product::<i64>() == x.numbers.len() as i64)?;
            Some(Known { dims, ..(*x).clone() })
        }
        ("broadcast_in_dim", [x]) => broadcast(operation, x, dims?),
        ("concatenate", parts) => concatenated(operation, parts),
        ("slice", [x]) => sliced(operation, x),
        ("select", [which, on_true, on_false]) => {
            let chosen = |at: usize| {
                let which = which.numbers.get(if which.dims.is_empty() { 0 } else { at })?;
                let from = if *which != 0 { on_true } else { on_false };
                from.numbers.get(at).copied()
            };
            let numbers = (0..on_true.numbers.len()).map(chosen).collect::<Option<Vec<i64>>>()?;
            Some(Known { numbers, ..(*on_true).clone() })
        }
        ("clamp", [low, x, high]) => {
            let bound = |of: &Known, at: usize| of.numbers.get(if of.dims.is_empty() { 0 } else { at }).copied();
            let clamped = |(at, &number): (usize, &i64)| Some(number.max(bound(low, at)?).min(bound(high, at)?));
            let numbers = x.numbers.iter().enumerate().map(clamped).collect::<Option<Vec<i64>>>()?;
            Some(Known { numbers, ..(*x).clone() })
        }
        (name, [x]) => {
            let numbers = x.numbers.iter().map(|&number| Some(wrapped(element, unary(name, wide(x.element, number))?)));
            let numbers = numbers.collect::<Option<Vec<i64>>>()?;
            Some(Known { element, dims: x.dims.clone(), numbers })
        }
        (name, [x, y]) if x.dims == y.dims => {
            let pairs = x.numbers.iter().zip(&y.numbers);
            let number = |(&left, &right): (&i64, &i64)| {
                let (left, right) = (wide(x.element, left), wide(y.element, right));
                let number = match name {
                    "compare" => compared(operation, left, right)?,
                    _ => binary(name, left, right)?,
                };
                Some(wrapped(element, number))
            };
            let numbers = pairs.map(number).collect::<Option<Vec<i64>>>()?;
            Some(Known { element, dims: x.dims.clone(), numbers })
        }
        _ => None,
    }
}

fn unary(name: &str, x: i128) -> Option<i128> {
    Some(match name {
        "abs" => x.abs(),
        "convert" => x,
        "negate" => -x,
        "sign" => x.signum(),
        _ => return None,
    })
}

/// Returns the result of an operation on two integers. Returns `None` for a division by zero.
fn binary(name: &str, x: i128, y: i128) -> Option<i128> {
    match name {
        "add" => x.checked_add(y),
        "and" => Some(x & y),
        "divide" => x.checked_div(y),
        "maximum" => Some(x.max(y)),
        "minimum" => Some(x.min(y)),
        "multiply" => x.checked_mul(y),
        "or" => Some(x | y),
        "remainder" => x.checked_rem(y),
        "subtract" => x.checked_sub(y),
        "xor" => Some(x ^ y),
        _ => None,
    }
}

fn compared(operation: &Operation, x: i128, y: i128) -> Option<i128> {
    let holds = match operation.attribute("comparison_direction").and_then(Attribute::as_text)? {
        "EQ" => x == y,
        "NE" => x != y,
        "GE" => x >= y,
        "GT" => x > y,
        "LE" => x <= y,
        "LT" => x < y,
        _ => return None,
    };
    Some(i128::from(holds))
}

fn wide(element: ElementType, number: i64) -> i128 {
    if element == ElementType::U64 { i128::from(number as u64) } else { i128::from(number) }
}

/// Truncates a number to the width of the element type, and extends the result to 64 bits. A signed
/// type extends the result by its sign, and an unsigned type by zeros. For predicates, returns 1 if
/// the number is not zero, and 0 otherwise.
fn wrapped(element: ElementType, number: i128) -> i64 {
    // A predicate.
    if !element.is_integer() {
        return i64::from(number != 0);
    }
    let unused = 64 - element.bits();
    let moved = (number as i64) << unused;
    if element.is_signed_integer() { moved >> unused } else { (moved as u64 >> unused) as i64 }
}

/// Repeats the element of an array with one element, or adds dimensions of size 1 to an array with
/// several elements.
fn broadcast(operation: &Operation, x: &Known, dims: Vec<i64>) -> Option<Known> {
    let count = usize::try_from(dims.iter().product::<i64>()).ok().filter(|count| *count <= MOST_ELEMENTS)?;
    let numbers = match x.numbers[..] {
        [only] => vec![only; count],
        _ if count == x.numbers.len() && is_increasing(&operation.attribute("broadcast_dimensions")?.integers()?) => {
            x.numbers.clone()
        }
        _ => return None,
    };
    Some(Known { element: x.element, dims, numbers })
}

fn is_increasing(numbers: &[i64]) -> bool {
    numbers.windows(2).all(|pair| pair[0] < pair[1])
}

/// Concatenates arrays along their first dimension.
fn concatenated(operation: &Operation, parts: &[&Known]) -> Option<Known> {
    let [first, ..] = parts else { return None };
    let (_, inner) = first.dims.split_first()?;
    let is_first = matches!(operation.attribute("dimension"), Some(Attribute::Integer(_, 0)));
    let fits = |part: &&Known| part.dims.split_first().is_some_and(|(_, own)| own == inner);
    if !is_first || !parts.iter().all(fits) {
        return None;
    }
    let numbers: Vec<i64> = parts.iter().flat_map(|part| part.numbers.iter().copied()).collect();
    let rows = parts.iter().map(|part| part.dims[0]).sum();
    let dims = std::iter::once(rows).chain(inner.iter().copied()).collect();
    (numbers.len() <= MOST_ELEMENTS).then_some(Known { element: first.element, dims, numbers })
}

/// Returns the slice of a one-dimensional array.
fn sliced(operation: &Operation, x: &Known) -> Option<Known> {
    let only = |name: &str| match operation.attribute(name)?.integers()?[..] {
        [only] => usize::try_from(only).ok(),
        _ => None,
    };
    let (start, limit) = (only("start_indices")?, only("limit_indices")?);
    let stride = if operation.attribute("strides").is_some() { only("strides")? } else { 1 };
    if x.dims.len() != 1 || stride == 0 {
        return None;
    }
    let numbers: Vec<i64> = x.numbers.get(start..limit)?.iter().step_by(stride).copied().collect();
    Some(Known { element: x.element, dims: vec![numbers.len() as i64], numbers })
}
