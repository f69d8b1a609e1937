//! Shape inference of operations that move a window over an array.

use super::contraction::result_type;
use super::reduction::{arrays_or_tuple, reduced_arrays, scalar_function};
use super::{Inferred, Site, array, distinct_dims};
use crate::{ArrayShape, ComputationId, ConvolutionAttrs, ElementType, Shape, Window, WindowDim};

/// Number of window positions in a dimension of the given size; `None` if the number is too large
/// or the stride is not positive.
pub fn window_output_size(size: i64, window: &WindowDim) -> Option<i64> {
    let dilated = |size: i64, dilation: i64| match size {
        0 => Some(0),
        size => (size - 1).checked_mul(dilation)?.checked_add(1),
    };
    let base =
        dilated(size, window.base_dilation)?.checked_add(window.padding_low)?.checked_add(window.padding_high)?;
    let reach = dilated(window.size, window.window_dilation)?;
    match window.stride {
        ..1 => None,
        _ if base <= 0 || reach > base => Some(0),
        stride => Some((base - reach) / stride + 1),
    }
}

fn check_window(window: &Window, rank: usize, what: &str) -> Inferred<()> {
    let found = window.dims.len();
    ensure!(found == rank, "the window must have {rank} dimensions like {what}, has {found}");
    for (number, dim) in window.dims.iter().enumerate() {
        ensure!(dim.size >= 1, "the window's size in dimension {number} must be at least 1, is {}", dim.size);
        ensure!(dim.stride >= 1, "the window's stride in dimension {number} must be at least 1, is {}", dim.stride);
        let dilations = dim.base_dilation.min(dim.window_dilation);
        ensure!(dilations >= 1, "the window's dilation in dimension {number} must be at least 1, is {dilations}");
    }
    Ok(())
}

fn window_dims(sizes: &[i64], window: &Window) -> Inferred<Vec<i64>> {
    let dims: Option<Vec<i64>> =
        sizes.iter().zip(&window.dims).map(|(&size, dim)| window_output_size(size, dim)).collect();
    dims.ok_or_else(|| "the window with its padding is too large".to_owned())
}

/// Infers the shape of a reduce-window. Windows over scalars have neither dimensions nor a `window`
/// attribute.
pub(super) fn reduce_window(site: &Site, window: &Window, to_apply: ComputationId) -> Inferred {
    let arrays = reduced_arrays(site)?;
    let first = arrays[0];
    check_window(window, first.rank(), &first.to_string())?;
    let types: Vec<ElementType> = arrays.iter().map(|array| array.element_type).collect();
    let results = scalar_function(site, to_apply, &types)?;
    arrays_or_tuple(&results, &window_dims(&first.dims, window)?)
}

pub(super) fn select_and_scatter(
    site: &Site,
    window: &Window,
    select: ComputationId,
    scatter: ComputationId,
) -> Inferred {
    site.operand_count(3)?;
    let (operand, source, initial) = (site.array(0)?, site.array(1)?, site.scalar(2)?);
    check_window(window, operand.rank(), &operand.to_string())?;
    let expected = ArrayShape::new(operand.element_type, window_dims(&operand.dims, window)?);
    let fits = source.same_type_and_dims(&expected);
    ensure!(fits, "the source of select-and-scatter must be {expected}, is {source}");
    let same = initial.element_type == operand.element_type;
    ensure!(same, "the initial value of select-and-scatter must be of the type of {operand}, is {initial}");
    let selector = site.callee(select)?;
    let scalar = Shape::array(operand.element_type, []);
    let fits = selector.result.same_structure(&Shape::array(ElementType::Pred, []))
        && selector.parameters.len() == 2
        && selector.parameters.iter().all(|parameter| parameter.same_structure(&scalar));
    ensure!(fits, "the select computation must take two {scalar} and give pred[]");
    scalar_function(site, scatter, &[operand.element_type])?;
    array(operand.element_type, operand.dims.clone())
}

pub(super) fn convolution(site: &Site, attrs: &ConvolutionAttrs) -> Inferred {
    site.operand_count(2)?;
    let (input, kernel) = (site.array(0)?, site.array(1)?);
    let (left, right) = (input.element_type, kernel.element_type);
    ensure!(
        left.holds_values_of(right) || right.holds_values_of(left),
        "convolution takes {input} and {kernel} only if one type holds all values of the other; convert one of them"
    );
    let dims = &attrs.dims;
    let rank = dims.input_spatial.len() + 2;
    let sides = [
        ("input", input, dims.input_batch, dims.input_feature, &dims.input_spatial),
        ("kernel", kernel, dims.kernel_input_feature, dims.kernel_output_feature, &dims.kernel_spatial),
    ];
    for (what, shape, first, second, spatial) in sides {
        ensure!(shape.rank() == rank, "dim_labels give the {what} {rank} dimensions, it is {shape}");
        distinct_dims(&format!("dim_labels of the {what}"), &[&[first, second], &spatial[..]].concat(), rank)?;
    }
    let output_dims = [&[dims.output_batch, dims.output_feature], &dims.output_spatial[..]].concat();
    ensure!(output_dims.len() == rank, "dim_labels give the output {} dimensions, not {rank}", output_dims.len());
    distinct_dims("dim_labels of the output", &output_dims, rank)?;
    check_window(&attrs.window, rank - 2, "the spatial dimensions")?;
    let (batch, features) = channels(site, attrs, input, kernel)?;
    let at = |shape: &ArrayShape, dim: i64| shape.dims[dim as usize];
    let spatial: Vec<i64> = dims.input_spatial.iter().map(|&dim| at(input, dim)).collect();
    for (number, (window, &dim)) in attrs.window.dims.iter().zip(&dims.kernel_spatial).enumerate() {
        let extent = at(kernel, dim);
        let fits = window.size == extent;
        ensure!(fits, "the window's size in dimension {number} is {}, the kernel's is {extent}", window.size);
    }
    let sizes = [vec![batch, features], window_dims(&spatial, &attrs.window)?].concat();
    let mut result = vec![0; rank];
    for (&dim, size) in output_dims.iter().zip(sizes) {
        result[dim as usize] = size;
    }
    array(result_type(site, input), result)
}

/// Checks the batch and feature groups of a convolution. Returns the sizes of the output's batch
/// and feature dimensions.
fn channels(site: &Site, attrs: &ConvolutionAttrs, input: &ArrayShape, kernel: &ArrayShape) -> Inferred<(i64, i64)> {
    let (feature_groups, batch_groups) = (attrs.feature_group_count, attrs.batch_group_count);
    ensure!(feature_groups >= 1, "feature_group_count must be at least 1, is {feature_groups}");
    ensure!(batch_groups >= 1, "batch_group_count must be at least 1, is {batch_groups}");
    ensure!(feature_groups == 1 || batch_groups == 1, "{} cannot group features and batches at once", site.name());
    let (input_features, kernel_inputs, kernel_outputs, batch) = (
        input.dims[attrs.dims.input_feature as usize],
        kernel.dims[attrs.dims.kernel_input_feature as usize],
        kernel.dims[attrs.dims.kernel_output_feature as usize],
        input.dims[attrs.dims.input_batch as usize],
    );
    let fits = kernel_inputs.checked_mul(feature_groups) == Some(input_features);
    ensure!(
        fits,
        "{feature_groups} feature groups of the kernel's {kernel_inputs} input features are not the input's \
         {input_features}"
    );
    let divides = kernel_outputs % feature_groups == 0 && kernel_outputs % batch_groups == 0;
    ensure!(divides, "the kernel's {kernel_outputs} output features do not divide into the groups");
    ensure!(batch % batch_groups == 0, "the batch of {batch} does not divide into {batch_groups} groups");
    Ok((batch / batch_groups, kernel_outputs))
}
