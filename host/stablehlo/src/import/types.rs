//! Types as shapes.

use fusebox_core::hlo::Shape;

use crate::program::Type;

/// Largest number of elements of a tuple, including the elements of nested tuples. Larger tuples
/// are refused.
const MOST_ELEMENTS: usize = 1 << 16;

/// Returns the shape of values of a type.
///
/// # Errors
/// Returns why fusebox does not support the type.
pub(super) fn shape(r#type: &Type) -> Result<Shape, String> {
    bounded(r#type, &mut MOST_ELEMENTS.clone())
}

fn bounded(r#type: &Type, left: &mut usize) -> Result<Shape, String> {
    *left = left.checked_sub(1).ok_or_else(|| format!("a tuple has more than {MOST_ELEMENTS} elements"))?;
    match r#type {
        Type::Array { element, dims } => match dims.iter().copied().collect::<Option<Vec<i64>>>() {
            Some(dims) => Ok(Shape::array(*element, dims)),
            None => Err("a size is known only when the program runs, and no arguments determine it".into()),
        },
        Type::Token => Ok(Shape::Token),
        Type::Tuple(elements) => {
            Ok(Shape::Tuple(elements.iter().map(|element| bounded(element, left)).collect::<Result<_, _>>()?))
        }
        Type::Unsupported(name) => Err(format!("the type {name} is not supported")),
        Type::Element(_) | Type::Function { .. } | Type::None => Err("a value has a type without values".into()),
    }
}

/// Largest number of elements of an array. The readers of programs have the same limit for sizes
/// that the program states.
const MOST_IN_ARRAY: i64 = 1 << 48;

/// Checks that an array may have these sizes.
///
/// # Errors
/// Returns the reason why the sizes are not allowed.
pub(super) fn check_sizes(sizes: &[i64]) -> Result<(), String> {
    if let Some(size) = sizes.iter().find(|size| **size < 0) {
        return Err(format!("a dimension would have the size {size}"));
    }
    match sizes.iter().fold(1i64, |count, &size| count.saturating_mul(size.max(1))) {
        ..=MOST_IN_ARRAY => Ok(()),
        _ => Err("an array would be too large".into()),
    }
}

/// Checks that the arrays of a result have allowed sizes. The readers have checked only sizes that
/// the program states, but sizes of results may follow from the sizes of arguments.
///
/// # Errors
/// Returns the reason why the sizes are not allowed.
pub(super) fn check_arrays(result: &Shape) -> Result<(), String> {
    result.leaves().into_iter().filter_map(Shape::as_array).try_for_each(|array| check_sizes(&array.dims))
}

/// Whether a type has a dimension of unknown size.
pub(super) fn is_unknown(of: &Type) -> bool {
    matches!(of, Type::Array { dims, .. } if dims.contains(&None))
}
