//! `gather`.

use fusebox_core::hlo::GatherDims;

use crate::error::{Outcome, malformed};
use crate::movement::{clamp_index, dimension_number, dimension_numbers};
use crate::strided::{self, for_each_index, position, strides};
use crate::value::{Array, both_kinds};

/// The index vectors an array holds along one dimension, and how to find them by batch index.
pub(crate) struct IndexVectors<'a> {
    indices: &'a Array,
    vector_dim: usize,
    /// The dimensions of the indices other than the vector's.
    pub batch_dims: Vec<usize>,
    steps: Vec<isize>,
}

impl<'a> IndexVectors<'a> {
    /// `vector_dim` may be the rank: then every index is a vector of its own.
    pub fn new(indices: &'a Array, vector_dim: i64) -> Outcome<Self> {
        let vector_dim = dimension_number(vector_dim, indices.rank() + 1)?;
        let mut batch_dims = indices.dims.clone();
        if vector_dim < indices.rank() {
            batch_dims.remove(vector_dim);
        }
        Ok(IndexVectors { indices, vector_dim, batch_dims, steps: strides(&indices.dims) })
    }

    pub fn length(&self) -> usize {
        self.indices.dims.get(self.vector_dim).copied().unwrap_or(1)
    }

    /// Component `k` of the vector at a batch index.
    pub fn component(&self, batch: &[usize], k: usize) -> Outcome<i64> {
        let mut index = batch.to_vec();
        if self.vector_dim < self.indices.rank() {
            index.insert(self.vector_dim, k);
        }
        Ok(self.indices.ints()?[position(&index, &self.steps)])
    }

    /// The batch index's entry for a dimension of the indices.
    pub fn batch_entry(&self, batch: &[usize], dimension: usize) -> Outcome<usize> {
        let at = if dimension > self.vector_dim { dimension - 1 } else { dimension };
        match batch.get(at) {
            Some(&entry) if dimension != self.vector_dim => Ok(entry),
            _ => malformed(format!("dimension {dimension} of the indices is no batching dimension")),
        }
    }
}

/// The dimensions of `0..rank` that are not in `listed`.
pub(crate) fn others(listed: &[usize], rank: usize) -> Vec<usize> {
    (0..rank).filter(|d| !listed.contains(d)).collect()
}

/// Reads a slice of the operand at every index vector; slices are moved to stay inside.
pub(crate) fn gather(x: &Array, indices: &Array, numbers: &GatherDims, dims: Vec<usize>) -> Outcome<Array> {
    let vectors = IndexVectors::new(indices, numbers.index_vector_dim)?;
    let sizes = numbers.slice_sizes.iter().map(|&s| s.max(0) as usize).collect::<Vec<_>>();
    let map = dimension_numbers(&numbers.start_index_map, x.rank())?;
    let offset_dims = dimension_numbers(&numbers.offset_dims, dims.len())?;
    let operand_batch = dimension_numbers(&numbers.operand_batching_dims, x.rank())?;
    let indices_batch = dimension_numbers(&numbers.start_indices_batching_dims, indices.rank())?;
    let mut dropped = dimension_numbers(&numbers.collapsed_slice_dims, x.rank())?;
    dropped.extend(&operand_batch);
    let kept = others(&dropped, x.rank());
    let batch_dims = others(&offset_dims, dims.len());
    let consistent = sizes.len() == x.rank()
        && sizes.iter().zip(&x.dims).all(|(s, d)| s <= d)
        && dropped.iter().all(|&d| sizes[d] <= 1)
        && map.len() == vectors.length()
        && kept.len() == offset_dims.len()
        && kept.iter().zip(&offset_dims).all(|(&k, &o)| sizes[k] == dims[o])
        && batch_dims.len() == vectors.batch_dims.len()
        && batch_dims.iter().zip(&vectors.batch_dims).all(|(&d, &n)| dims[d] == n)
        && operand_batch.len() == indices_batch.len();
    if !consistent {
        return malformed("the dimension numbers of gather do not fit its operands and result");
    }
    let mut result = Array::zeros(x.ty, dims.clone())?;
    let (source_steps, target_steps) = (strides(&x.dims), strides(&dims));
    let slice_dims = strided::permuted(&sizes, &kept);
    let read_steps = strided::permuted(&source_steps, &kept);
    let write_steps = strided::permuted(&target_steps, &offset_dims);
    if slice_dims.contains(&0) {
        return Ok(result);
    }
    for_each_index(&vectors.batch_dims, |batch| {
        let mut start = vec![0usize; x.rank()];
        for (k, &d) in map.iter().enumerate() {
            start[d] = clamp_index(indices.ty, vectors.component(batch, k)?, x.dims[d] - sizes[d]);
        }
        for (&operand_dim, &indices_dim) in operand_batch.iter().zip(&indices_batch) {
            start[operand_dim] = vectors.batch_entry(batch, indices_dim)?;
        }
        let from = position(&start, &source_steps) as isize;
        let to = batch_dims.iter().zip(batch).map(|(&d, &i)| target_steps[d] * i as isize).sum();
        both_kinds!(&mut result.data, &x.data, target, source => {
            strided::write(target, to, &slice_dims, &write_steps, &strided::read(source, from, &slice_dims, &read_steps));
        }, else return malformed("gather changes the element type"));
        Ok(())
    })?;
    Ok(result)
}
