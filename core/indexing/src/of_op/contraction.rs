//! Indexing maps of matrix products.

use super::window::add_range;
use super::{Reading, Reason, Site, expect_rank, position};
use crate::{Expr, IndexingMap};
use fusebox_hlo::DotDims;

/// Returns how a dot reads one operand. The output has the batch dimensions, then the free
/// dimensions of the left operand, then the free dimensions of the right operand. Contracted
/// dimensions become range variables.
pub(super) fn dot(site: Site, operand: usize, dims: &DotDims) -> Result<Reading, Reason> {
    let (left, right) = (site.operand_dims(0)?, site.operand_dims(1)?);
    let left_free = left.len().saturating_sub(dims.lhs_batch.len() + dims.lhs_contracting.len());
    let first = dims.lhs_batch.len();
    match operand {
        0 => side(site, left, &dims.lhs_batch, &dims.lhs_contracting, first),
        1 => side(site, right, &dims.rhs_batch, &dims.rhs_contracting, first + left_free),
        _ => Err(format!("there is no operand {operand}")),
    }
}

fn side(site: Site, sizes: &[i64], batch: &[i64], contracting: &[i64], first: usize) -> Result<Reading, Reason> {
    let output = site.output_dims(0)?;
    let mut map = IndexingMap::from_tensor_sizes(Vec::new(), output, &[]);
    let mut results: Vec<Option<Expr>> = vec![None; sizes.len()];
    for &d in contracting {
        let d = position(d, sizes.len())?;
        results[d] = Some(add_range(&mut map, sizes[d]));
    }
    for (i, &d) in batch.iter().enumerate() {
        results[position(d, sizes.len())?] = Some(Expr::dim(i as u32));
    }
    let mut next = first;
    for result in &mut results {
        if result.is_none() {
            *result = Some(Expr::dim(next as u32));
            next += 1;
        }
    }
    ensure!(next <= output.len(), "the result has {} dimensions instead of at least {next}", output.len());
    map.results = results.into_iter().flatten().collect();
    Ok(Reading::new(map))
}

/// Returns how a scaled dot reads one operand. Operands 2 and 3 scale blocks of operands 0 and 1.
/// The index of a scale is the index of the scaled element, divided by the block size.
pub(super) fn scaled_dot(site: Site, operand: usize, dims: &DotDims) -> Result<Reading, Reason> {
    if operand < 2 {
        return dot(site, operand, dims);
    }
    let mut reading = dot(site, operand - 2, dims)?;
    let (scales, values) = (site.operand_dims(operand)?, site.operand_dims(operand - 2)?);
    if scales.is_empty() {
        return Ok(Reading::scalar(site.output_dims(0)?));
    }
    expect_rank("the scale", scales.len(), values.len())?;
    for (result, (&size, &blocks)) in reading.map.results.iter_mut().zip(values.iter().zip(scales)) {
        ensure!(blocks >= 1 && size % blocks == 0, "{blocks} scales do not divide {size} elements");
        *result = result.clone().floor_div(size / blocks);
    }
    Ok(reading)
}
