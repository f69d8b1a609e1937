//! Gather and scatter. The pass changes index vectors whose windows would end beyond the actual
//! sizes.

use fusebox_core::hlo::{
    ArrayLiteral, ArrayShape, BinaryOp, Comparison, ElementType, GatherDims, InstrId, Instruction, ScatterDims,
};
use fusebox_edit::Builder;

use super::indexed::last_start;
use super::masks::masked;
use super::sizes::s32;
use super::{BoundedComputation, RewriteResult, array_of};

impl<'b> BoundedComputation<'b> {
    /// Rewrites a gather: moves windows towards the beginning until they end within the sizes. If
    /// an index vector is beyond a size, the slice that is gathered for this vector is beyond the
    /// result's size, too.
    pub fn gather(&mut self, it: &'b Instruction, dims: &GatherDims) -> RewriteResult {
        let mut operands = self.edit.operands(it);
        let indices = array_of(&self.edit, operands[1])?;
        let mut columns = Vec::new();
        for &d in &dims.start_index_map {
            let d = d as usize;
            let (size, length) = (self.size(it, 0, d), dims.slice_sizes[d]);
            let size = size.filter(|_| length < self.dims(it, 0)[d]);
            columns.push(match size {
                Some(size) => {
                    let length = s32(&mut self.edit, length)?;
                    Some(last_start(&mut self.edit, size, length, indices.element_type))
                }
                None => None,
            });
        }
        if columns.iter().any(Option::is_some) {
            let lasts = spread_columns(&mut self.edit, &columns, &indices, dims.index_vector_dim)?;
            operands[1] = self.edit.binary(BinaryOp::Minimum, operands[1], lasts);
        }
        Ok(self.with_operands(it, operands))
    }

    /// Rewrites a scatter. If an index vector is beyond a size, or if its window ends beyond a
    /// size, sets the vector to -1, which is out of bounds.
    pub fn scatter(&mut self, it: &'b Instruction, dims: &ScatterDims) -> RewriteResult {
        let arrays = it.operands.len() / 2;
        let windows = self.windows(it, dims)?;
        let mut operands = self.edit.operands(it);
        operands[arrays] = wide(&mut self.edit, operands[arrays])?;
        let indices = array_of(&self.edit, operands[arrays])?;
        let mut columns = Vec::new();
        for &d in &dims.scatter_dims_to_operand_dims {
            columns.push(match self.common_size(it, arrays, d as usize) {
                Some(size) => {
                    let length = s32(&mut self.edit, windows[d as usize])?;
                    // `last` is negative if the window is longer than the size. The window then
                    // fits nowhere.
                    let last = self.edit.binary(BinaryOp::Subtract, size, length);
                    Some(self.edit.convert(last, indices.element_type))
                }
                None => None,
            });
        }
        let batch = self.batch_sizes(it, dims);
        if !batch.is_empty() && columns.is_empty() {
            return Err(
                "this scatter has empty index vectors, so that it cannot skip updates beyond a size; pass static arrays"
                    .into(),
            );
        }
        let nowhere = self.edit.integer(indices.element_type, -1);
        if columns.iter().any(Option::is_some) {
            let lasts = spread_columns(&mut self.edit, &columns, &indices, dims.index_vector_dim)?;
            let fits = self.edit.compare(Comparison::Le, operands[arrays], lasts);
            let all_nowhere = self.edit.spread(nowhere, &indices.dims);
            operands[arrays] = self.edit.select(fits, operands[arrays], all_nowhere);
        }
        operands[arrays] = masked(&mut self.edit, operands[arrays], &batch, nowhere);
        Ok(self.with_operands(it, operands))
    }

    /// Returns the size of a window in each dimension of the arrays that the scatter updates.
    fn windows(&self, it: &Instruction, dims: &ScatterDims) -> RewriteResult<Vec<i64>> {
        let arrays = it.operands.len() / 2;
        let bounds = self.dims(it, 0);
        let updates = self.dims(it, arrays + 1);
        let mut of_updates = dims.update_window_dims.iter().map(|&d| d as usize);
        let mut windows = vec![1; bounds.len()];
        for (d, window) in windows.iter_mut().enumerate() {
            if dims.inserted_window_dims.contains(&(d as i64)) || dims.input_batching_dims.contains(&(d as i64)) {
                continue;
            }
            let Some(from) = of_updates.next() else { continue };
            *window = updates[from];
            let of_window = (arrays + 1..it.operands.len()).find_map(|operand| self.size(it, operand, from));
            let of_array = self.common_size(it, arrays, d);
            let is_fixed = !dims.scatter_dims_to_operand_dims.contains(&(d as i64));
            let is_meant = match (of_array, of_window) {
                (None, None) => true,
                // Accepts windows that always begin at 0 and are as large as the array.
                (Some(array), Some(window)) => is_fixed && array == window && bounds[d] == updates[from],
                (Some(_), None) => !is_fixed,
                (None, Some(_)) => false,
            };
            if !is_meant {
                return Err(format!(
                    "dimension {from} of the updates of this scatter is a window over the dynamic dimension {d}, and \
                     their sizes may differ; scatter into the static operand of set-dimension-size"
                ));
            }
        }
        Ok(windows)
    }

    /// Returns each batch dimension of the index array that is dynamic in the indices or in the
    /// updates, together with its size. All dimensions of the index array except that of the
    /// vectors' components are batch dimensions.
    fn batch_sizes(&self, it: &Instruction, dims: &ScatterDims) -> Vec<(usize, InstrId)> {
        let arrays = it.operands.len() / 2;
        let rank_of_updates = self.dims(it, arrays + 1).len();
        let mut of_updates = (0..rank_of_updates).filter(|&d| !dims.update_window_dims.contains(&(d as i64)));
        let of_vectors = (0..self.dims(it, arrays).len()).filter(|&d| d as i64 != dims.index_vector_dim);
        let size = |d: usize| {
            let from = of_updates.next();
            let of_update =
                |from: usize| (arrays + 1..it.operands.len()).find_map(|operand| self.size(it, operand, from));
            Some((d, self.size(it, arrays, d).or_else(|| of_update(from?))?))
        };
        of_vectors.filter_map(size).collect()
    }
}

/// Converts indices to a signed type that holds every size and -1. An index too large for the type
/// becomes negative, so it is out of bounds as well.
fn wide(edit: &mut Builder, indices: InstrId) -> RewriteResult {
    let ty = array_of(edit, indices)?.element_type;
    let wide = if ty.bits() < 32 || ty == ElementType::S32 { ElementType::S32 } else { ElementType::S64 };
    Ok(edit.convert(indices, wide))
}

/// Returns an array with the shape of the index vectors. All elements of a column equal the
/// column's number in `columns`. If `columns` has no number for a column, all elements of the
/// column are the largest number of the type.
fn spread_columns(
    edit: &mut Builder,
    columns: &[Option<InstrId>],
    indices: &ArrayShape,
    vector_dim: i64,
) -> RewriteResult {
    let element_type = indices.element_type;
    let largest = BinaryOp::Minimum.identity(element_type);
    let data = largest.ok_or_else(|| format!("{element_type} is no type of indices"))?.into();
    let largest = ArrayLiteral { element_type, dims: Vec::new(), data };
    let numbers = columns.iter().map(|&column| column.unwrap_or_else(|| edit.constant(largest.clone())));
    let numbers: Vec<InstrId> = numbers.collect();
    if vector_dim as usize >= indices.dims.len() {
        return Ok(edit.spread(numbers[0], &indices.dims));
    }
    let pieces = numbers.into_iter().map(|number| edit.reshape(number, &[1])).collect();
    let vector = edit.concatenate(pieces, 0);
    Ok(edit.broadcast(vector, &indices.dims, &[vector_dim]))
}
