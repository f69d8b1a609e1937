//! Indexing maps of operations that combine many elements along dimensions: reductions, windows,
//! convolutions.

use super::shape::spread;
use super::{Reading, Reason, Site, expect_rank, position};
use crate::{Constraint, Expr, IndexingMap, Interval, Variable, dim_exprs, linearize};
use fusebox_hlo::{ConvolutionAttrs, Window, WindowDim};

/// Returns how a reduce reads an operand. An array is read along the reduced dimensions, which
/// become range variables in order. An initial value is a scalar.
pub(super) fn reduce(site: Site, operand: usize, dimensions: &[i64]) -> Result<Reading, Reason> {
    let output = site.output_dims(0)?;
    if operand >= site.instruction.operands.len() / 2 {
        return Ok(Reading::scalar(output));
    }
    let dims = site.operand_dims(operand)?;
    let mut map = IndexingMap::from_tensor_sizes(Vec::new(), output, &[]);
    let mut kept = dim_exprs(output.len()).into_iter();
    for (i, &size) in dims.iter().enumerate() {
        let coordinate = if dimensions.contains(&(i as i64)) {
            add_range(&mut map, size)
        } else {
            kept.next().ok_or("the result has too few dimensions")?
        };
        map.results.push(coordinate);
    }
    Ok(Reading::new(map))
}

/// Returns how a reduce-window reads an operand. An array is read at all elements under the window.
/// An initial value is a scalar.
pub(super) fn reduce_window(site: Site, operand: usize, window: &Window) -> Result<Reading, Reason> {
    let output = site.output_dims(0)?;
    if operand >= site.instruction.operands.len() / 2 {
        return Ok(Reading::scalar(output));
    }
    let dims = site.operand_dims(operand)?;
    expect_rank("the window", window.dims.len(), output.len())?;
    expect_rank("the operand", dims.len(), output.len())?;
    let mut map = IndexingMap::from_tensor_sizes(Vec::new(), output, &[]);
    for (i, (window, &size)) in window.dims.iter().zip(dims).enumerate() {
        let place = add_range(&mut map, window.size);
        let place = if window.reversal { -place + window.size.saturating_sub(1) } else { place };
        under_window(&mut map, Expr::dim(i as u32), place, window, size)?;
    }
    Ok(Reading::new(map))
}

/// Adds a result to a map: the coordinate that window number `window_index` reads at its offset
/// `place`.
fn under_window(
    map: &mut IndexingMap,
    window_index: Expr,
    place: Expr,
    window: &WindowDim,
    size: i64,
) -> Result<(), Reason> {
    let low = window.padding_low.checked_neg().ok_or("the padding is too large")?;
    let position = window_index * window.stride + place * window.window_dilation + low;
    spread(map, position, size, window.base_dilation)
}

/// Returns how a select-and-scatter reads an operand. The first half of the range variables
/// enumerates the windows that may cover the element. The source has one value per window. Operand
/// 0 is read at all elements under each window. The second half of the range variables enumerates
/// the elements under a window. The initial value is a scalar.
pub(super) fn select_and_scatter(site: Site, operand: usize, window: &Window) -> Result<Reading, Reason> {
    let output = site.output_dims(0)?;
    if operand > 1 {
        return Ok(Reading::scalar(output));
    }
    let source = site.operand_dims(1)?;
    expect_rank("the window", window.dims.len(), output.len())?;
    expect_rank("the source", source.len(), output.len())?;
    let mut map = IndexingMap::from_tensor_sizes(Vec::new(), output, &[]);
    for (i, (window, &size)) in window.dims.iter().zip(source).enumerate() {
        let place = add_range(&mut map, window.size);
        spread(&mut map, Expr::dim(i as u32) - place + window.padding_low, size, window.stride)?;
    }
    if operand == 0 {
        window.dims.iter().for_each(|window| drop(add_range(&mut map, window.size)));
        map.results = under_windows(window, &map.results);
        for (result, &size) in map.results.iter().zip(output) {
            map.constraints.push(Constraint::new(result.clone(), Interval::from_size(size)));
        }
    }
    Ok(Reading::new(map))
}

/// Returns the index of an element under a window. The window belongs to the source's element at
/// `source`. The second half of the range variables enumerates the elements under the window.
fn under_windows(window: &Window, source: &[Expr]) -> Vec<Expr> {
    let (rank, dims) = (source.len(), window.dims.iter().zip(source).enumerate());
    let element = |(i, (dim, source)): (usize, (&WindowDim, &Expr))| {
        source.clone() * dim.stride + Expr::range((rank + i) as u32) + dim.padding_low.saturating_neg()
    };
    dims.map(element).collect()
}

/// Returns two row-major positions: the position of the element, and the position of a candidate
/// under the same window.
pub(super) fn candidate(site: Site, window: &Window) -> Result<Vec<Expr>, Reason> {
    let output = site.output_dims(0)?;
    let other = select_and_scatter(site, 0, window)?.map.results;
    Ok(vec![linearize(&dim_exprs(output.len()), output), linearize(&other, output)])
}

/// Returns the reading of an operand that is read completely along one dimension.
pub(super) fn along(site: Site, operand: usize, dimension: i64) -> Result<Reading, Reason> {
    let dims = site.operand_dims(operand)?;
    let leaves = site.instruction.shape.leaves();
    let output = leaves.first().and_then(|s| s.as_array()).ok_or("the result is not an array")?;
    let dimension = position(dimension, dims.len())?;
    expect_rank("the operand", dims.len(), output.rank())?;
    let mut map = IndexingMap::from_tensor_sizes(dim_exprs(dims.len()), &output.dims, &[]);
    map.results[dimension] = add_range(&mut map, dims[dimension]);
    Ok(Reading::new(map))
}

/// Returns how a convolution reads the input or the kernel. The range variables are the coordinates
/// in the kernel, followed by the number of the input feature within its group.
pub(super) fn convolution(site: Site, operand: usize, attributes: &ConvolutionAttrs) -> Result<Reading, Reason> {
    let output = site.output_dims(0)?;
    let (input, kernel) = (site.operand_dims(0)?, site.operand_dims(1)?);
    let dims = &attributes.dims;
    let spatial = attributes.window.dims.len();
    for list in [&dims.input_spatial, &dims.kernel_spatial, &dims.output_spatial] {
        expect_rank("the window", list.len(), spatial)?;
    }
    let at = |list: &[i64], i: i64| position(i, list.len());
    let feature_out = Expr::dim(at(output, dims.output_feature)? as u32);
    let features_out = output[at(output, dims.output_feature)?];
    let mut map = IndexingMap::from_tensor_sizes(Vec::new(), output, &[]);
    let places: Vec<Expr> = attributes.window.dims.iter().map(|w| add_range(&mut map, w.size)).collect();
    let features_in_group = kernel[at(kernel, dims.kernel_input_feature)?];
    let feature_in = add_range(&mut map, features_in_group);

    // Adds the input position under the kernel. Both operands are read only where this position
    // exists.
    let mut coordinates = vec![Expr::constant(0); input.len()];
    for (i, (window, place)) in attributes.window.dims.iter().zip(&places).enumerate() {
        let (o, x) = (at(output, dims.output_spatial[i])?, at(input, dims.input_spatial[i])?);
        under_window(&mut map, Expr::dim(o as u32), place.clone(), window, input[x])?;
        coordinates[x] = map.results.pop().unwrap_or_else(|| Expr::constant(0));
    }
    if operand > 0 {
        let mut results = vec![Expr::constant(0); kernel.len()];
        results[at(kernel, dims.kernel_input_feature)?] = feature_in;
        results[at(kernel, dims.kernel_output_feature)?] = feature_out;
        for ((&k, window), place) in dims.kernel_spatial.iter().zip(&attributes.window.dims).zip(places) {
            let backwards = -place.clone() + (window.size.saturating_sub(1));
            results[at(kernel, k)?] = if window.reversal { backwards } else { place };
        }
        map.results = results;
        return Ok(Reading::new(map));
    }

    let group_of = |groups: i64| {
        if groups > 0 && features_out % groups == 0 && features_out > 0 {
            Ok(feature_out.clone().floor_div(features_out / groups))
        } else {
            Err(format!("{groups} groups do not divide {features_out} output features"))
        }
    };
    let batch_in = input[at(input, dims.input_batch)?];
    let batches_in_group = batch_in / attributes.batch_group_count.max(1);
    coordinates[at(input, dims.input_batch)?] =
        group_of(attributes.batch_group_count)? * batches_in_group + Expr::dim(at(output, dims.output_batch)? as u32);
    coordinates[at(input, dims.input_feature)?] =
        group_of(attributes.feature_group_count)? * features_in_group + feature_in;
    map.results = coordinates;
    Ok(Reading::new(map))
}

/// Adds a range variable and returns its expression.
pub(super) fn add_range(map: &mut IndexingMap, size: i64) -> Expr {
    map.ranges.push(Variable::from_size(size));
    Expr::range(map.ranges.len() as u32 - 1)
}
