//! Attaches sizes to the arrays to which they belong, so that a caller of the program sees the
//! declared parameters and results.

use fusebox_core::hlo::{InterfaceSizes, SizedDimension};
use fusebox_runtime::{Binding, DynamicSize, Slice, ValueShape};

/// Moves the sizes, which are the last parameters and the last elements of the result, to the
/// arrays that have these sizes.
pub fn tell_sizes(sizes: &InterfaceSizes, parameters: &mut Vec<Binding>, result: &mut Binding) {
    let declared = parameters.len().saturating_sub(sizes.of_parameters.len());
    let places: Vec<Slice> = parameters.split_off(declared).into_iter().flat_map(|it| it.leaves).collect();
    for (&(parameter, dimension), at) in sizes.of_parameters.iter().zip(places) {
        if let Some(parameter) = parameters.get_mut(parameter) {
            parameter.sizes.push(dynamic_size(dimension, at));
        }
    }
    let declared = result.leaves.len().saturating_sub(sizes.of_result.len());
    let places = result.leaves.split_off(declared);
    result.sizes = sizes.of_result.iter().zip(places).map(|(&dimension, at)| dynamic_size(dimension, at)).collect();
    if let ValueShape::Tuple(elements) = &mut result.shape {
        elements.truncate(elements.len().saturating_sub(sizes.of_result.len()));
        if sizes.result_is_array && elements.len() == 1 {
            result.shape = elements.remove(0);
        }
    }
}

fn dynamic_size(SizedDimension { leaf, dimension }: SizedDimension, at: Slice) -> DynamicSize {
    DynamicSize { leaf: leaf as u32, dimension: dimension as u32, at }
}
