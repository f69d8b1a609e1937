//! `gather`, and code common to `gather` and `scatter`.

use fusebox_core::hlo::GatherDims;

use crate::error::{Outcome, ensure, malformed};
use crate::movement::{clamp_index, dimension_number, dimension_numbers};
use crate::strided::{self, for_each_index, permuted, position, strides};
use crate::value::{Array, both_kinds};

/// The index vectors of a gather or scatter. Each vector lies along one dimension of the array
/// `indices`. The position of a vector in all other dimensions of `indices` is the vector's batch
/// index.
struct IndexVectors<'a> {
    indices: &'a Array,
    vector_dim: usize,
    /// Sizes of the array's dimensions other than the vector dimension.
    pub batch_dims: Vec<usize>,
    steps: Vec<isize>,
}

impl<'a> IndexVectors<'a> {
    /// Describes the index vectors along `vector_dim`. If `vector_dim` equals the rank, every
    /// element is a vector with one component.
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

    /// Returns component `k` of the vector at a batch index.
    pub fn component(&self, batch: &[usize], k: usize) -> Outcome<i64> {
        let mut index = batch.to_vec();
        if self.vector_dim < self.indices.rank() {
            index.insert(self.vector_dim, k);
        }
        Ok(self.indices.ints()?[position(&index, &self.steps)])
    }

    /// Returns the component of a batch index that belongs to one dimension of the array of
    /// indices.
    pub fn batch_entry(&self, batch: &[usize], dimension: usize) -> Outcome<usize> {
        let at = if dimension > self.vector_dim { dimension - 1 } else { dimension };
        match batch.get(at) {
            Some(&entry) if dimension != self.vector_dim => Ok(entry),
            _ => malformed(format!("dimension {dimension} of the indices is no batching dimension")),
        }
    }
}

/// Returns the dimensions of `0..rank` that are not in `listed`.
pub(crate) fn others(listed: &[usize], rank: usize) -> Vec<usize> {
    (0..rank).filter(|d| !listed.contains(d)).collect()
}

/// The positions of the slices that gather reads from an array, or that scatter combines with an
/// array.
pub(crate) struct Windows<'a> {
    vectors: IndexVectors<'a>,
    /// For each component of an index vector, the array dimension that the component indexes.
    map: Vec<usize>,
    /// Pairs of a batching dimension of the array and the corresponding dimension of the indices.
    batching: Vec<(usize, usize)>,
    /// For each dimension, the largest start of a slice within the array. `None` if slices are
    /// larger than the array.
    last: Option<Vec<usize>>,
    /// Sizes of a slice's dimensions, without collapsed and batching dimensions. The next two
    /// fields contain the strides of a slice's dimensions, in the array and in the array of slices.
    pub slice: Vec<usize>,
    pub array_steps: Vec<isize>,
    pub slices_steps: Vec<isize>,
    steps: Vec<isize>,
    batch_steps: Vec<isize>,
}

impl<'a> Windows<'a> {
    /// Computes the positions. `dims` are the dimensions of the array, and `slices` are the
    /// dimensions of the array of slices.
    pub fn new(dims: &[usize], slices: &[usize], indices: &'a Array, numbers: &GatherDims) -> Outcome<Self> {
        let rank = dims.len();
        let vectors = IndexVectors::new(indices, numbers.index_vector_dim)?;
        let map = dimension_numbers(&numbers.start_index_map, rank)?;
        let offset_dims = dimension_numbers(&numbers.offset_dims, slices.len())?;
        let array_batch = dimension_numbers(&numbers.operand_batching_dims, rank)?;
        let indices_batch = dimension_numbers(&numbers.start_indices_batching_dims, indices.rank())?;
        let mut dropped = dimension_numbers(&numbers.collapsed_slice_dims, rank)?;
        dropped.extend(&array_batch);
        let kept = others(&dropped, rank);
        let batch_dims = others(&offset_dims, slices.len());
        let consistent = map.len() == vectors.length()
            && kept.len() == offset_dims.len()
            && permuted(dims, &array_batch) == permuted(&indices.dims, &indices_batch)
            && permuted(slices, &batch_dims) == vectors.batch_dims;
        ensure!(consistent, "the dimension numbers of gather or scatter do not fit its arrays");
        let slice = permuted(slices, &offset_dims);
        let mut sizes = vec![1; rank];
        kept.iter().zip(&slice).for_each(|(&d, &size)| sizes[d] = size);
        let (steps, slices_steps) = (strides(dims), strides(slices));
        Ok(Windows {
            vectors,
            map,
            batching: array_batch.into_iter().zip(indices_batch).collect(),
            last: dims.iter().zip(sizes).map(|(n, size)| n.checked_sub(size)).collect(),
            slice,
            array_steps: permuted(&steps, &kept),
            slices_steps: permuted(&slices_steps, &offset_dims),
            batch_steps: permuted(&slices_steps, &batch_dims),
            steps,
        })
    }

    /// For every slice, calls `visit` with the slice's positions in the array and in the array of
    /// slices. `start` computes the start of a slice in one dimension from a component of an index
    /// vector and the largest possible start. Skips slices for which `start` returns `None`.
    pub fn for_each(
        &self,
        start: impl Fn(i64, usize) -> Option<usize>,
        mut visit: impl FnMut(usize, usize) -> Outcome<()>,
    ) -> Outcome<()> {
        let Some(last) = &self.last else { return Ok(()) };
        for_each_index(&self.vectors.batch_dims, |batch| {
            let mut starts = vec![0usize; last.len()];
            for (k, &d) in self.map.iter().enumerate() {
                let Some(start) = start(self.vectors.component(batch, k)?, last[d]) else { return Ok(()) };
                starts[d] = start;
            }
            for &(d, indices_dim) in &self.batching {
                starts[d] = self.vectors.batch_entry(batch, indices_dim)?;
            }
            visit(position(&starts, &self.steps), position(batch, &self.batch_steps))
        })
    }
}

/// Reads a slice of the operand at every index vector. Starts are clamped so that slices stay in
/// bounds.
pub(crate) fn gather(x: &Array, indices: &Array, numbers: &GatherDims, dims: Vec<usize>) -> Outcome<Array> {
    let windows = Windows::new(&x.dims, &dims, indices, numbers)?;
    let mut result = Array::zeros(x.ty, dims)?;
    match windows.last {
        _ if result.len() == 0 => return Ok(result),
        None => return malformed("gather reads slices larger than its operand"),
        Some(_) => {}
    }
    let (slice, to_steps, from_steps) = (&windows.slice, &windows.slices_steps, &windows.array_steps);
    let start = |index, last| Some(clamp_index(indices.ty, index, last));
    windows.for_each(start, |from, to| {
        both_kinds!(&mut result.data, &x.data, target, source => {
            strided::write(target, to as isize, slice, to_steps, &strided::read(source, from as isize, slice, from_steps));
        }, else return malformed("gather changes the element type"));
        Ok(())
    })?;
    Ok(result)
}
