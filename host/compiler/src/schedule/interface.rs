//! Parameters and results that are sizes of others belong to these: whoever runs the program sees what was declared.

use fusebox_core::hlo::{InterfaceSizes, SizedDimension};
use fusebox_runtime::{Binding, DynamicSize, Slice, ValueShape};

/// Moves the sizes, which are the last parameters and the last elements of the result, to what they are the sizes of.
pub fn tell_sizes(sizes: &InterfaceSizes, parameters: &mut Vec<Binding>, result: &mut Binding) {
    let declared = parameters.len().saturating_sub(sizes.of_parameters.len());
    let places: Vec<Slice> = parameters.split_off(declared).into_iter().flat_map(|it| it.leaves).collect();
    for (&SizedDimension { leaf, dimension }, at) in sizes.of_parameters.iter().zip(places) {
        let mut first = 0;
        let of_leaf = parameters.iter_mut().find_map(|parameter| {
            let number = leaf - first;
            first += parameter.leaves.len();
            (leaf < first).then_some((parameter, number))
        });
        if let Some((parameter, number)) = of_leaf {
            parameter.sizes.push(DynamicSize { leaf: number as u32, dimension: dimension as u32, at });
        }
    }
    let declared = result.leaves.len().saturating_sub(sizes.of_result.len());
    let places = result.leaves.split_off(declared);
    for (&SizedDimension { leaf, dimension }, at) in sizes.of_result.iter().zip(places) {
        result.sizes.push(DynamicSize { leaf: leaf as u32, dimension: dimension as u32, at });
    }
    if let ValueShape::Tuple(elements) = &mut result.shape {
        elements.truncate(elements.len().saturating_sub(sizes.of_result.len()));
        if sizes.result_is_array && elements.len() == 1 {
            result.shape = elements.remove(0);
        }
    }
}
