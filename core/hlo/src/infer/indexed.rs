//! Shape inference of operations that read or write an array at indices that are known only at run
//! time.

use super::control::one_or_tuple;
use super::reduction::scalar_function;
use super::{Inferred, Site, array, distinct_dims, sizes_of};
use crate::{ArrayShape, ComputationId, GatherDims, ScatterDims};

/// Checks the start indices of dynamic-slice and dynamic-update-slice. The start indices must be
/// one integer scalar per dimension, or one vector of integers.
fn start_indices(site: &Site, first: usize, rank: usize) -> Inferred<()> {
    let count = site.operands.len().saturating_sub(first);
    if count == 1 && site.array(first)?.rank() == 1 {
        let starts = site.array(first)?;
        let fits = starts.element_type.is_integer() && starts.dims[0] == rank as i64;
        ensure!(fits, "{} needs a vector of {rank} integers as start, found {starts}", site.name());
        return Ok(());
    }
    ensure!(count == rank, "{} needs {rank} start indices, one per dimension, found {count}", site.name());
    for position in first..first + rank {
        let start = site.scalar(position)?;
        ensure!(start.element_type.is_integer(), "start indices must be integers, operand {position} is {start}");
        let same = start.element_type == site.scalar(first)?.element_type;
        ensure!(same, "all start indices of {} must have one type", site.name());
    }
    Ok(())
}

pub(super) fn dynamic_slice(site: &Site, sizes: &[i64]) -> Inferred {
    let operand = site.array(0)?;
    start_indices(site, 1, operand.rank())?;
    let (rank, found) = (operand.rank(), sizes.len());
    ensure!(found == rank, "dynamic-slice of {operand} needs {rank} sizes, found {found}");
    let inside = sizes.iter().zip(&operand.dims).all(|(&size, &whole)| 0 <= size && size <= whole);
    ensure!(inside, "dynamic-slice sizes {sizes:?} must lie within {operand}");
    array(operand.element_type, sizes)
}

pub(super) fn dynamic_update_slice(site: &Site) -> Inferred {
    let (operand, update) = (site.array(0)?, site.array(1)?);
    start_indices(site, 2, operand.rank())?;
    let fits = update.element_type == operand.element_type
        && update.rank() == operand.rank()
        && update.dims.iter().zip(&operand.dims).all(|(part, whole)| part <= whole);
    ensure!(fits, "dynamic-update-slice cannot write {update} into {operand}");
    array(operand.element_type, operand.dims.clone())
}

/// The dimension numbers that gather and scatter have in common. These numbers state how index
/// vectors address the operand.
struct Addressing<'a> {
    operand: &'a ArrayShape,
    indices: &'a ArrayShape,
    /// For each component of an index vector, the operand dimension in which this component is an
    /// index.
    index_map: &'a [i64],
    index_vector_dim: i64,
    /// Dimensions of the operand that the result or the updates lack. Windows have size 1 in these
    /// dimensions.
    dropped: &'a [i64],
    operand_batching: &'a [i64],
    indices_batching: &'a [i64],
}

impl Addressing<'_> {
    /// Checks all dimension numbers. Returns the sizes of the indices array without the dimension
    /// that contains the index vectors.
    fn batch_sizes(&self, name: &str, window_dims: usize) -> Inferred<Vec<i64>> {
        let (operand, indices) = (self.operand, self.indices);
        ensure!(indices.element_type.is_integer(), "the indices of {name} must be integers, are {indices}");
        let vector_dim = usize::try_from(self.index_vector_dim).ok().filter(|&dim| dim <= indices.rank());
        let Some(vector_dim) = vector_dim else {
            return Err(format!("index_vector_dim is {}, beyond the indices {indices}", self.index_vector_dim));
        };
        let (components, mapped) = (indices.dims.get(vector_dim).copied().unwrap_or(1), self.index_map.len());
        ensure!(
            components == mapped as i64,
            "{name} has index vectors of {components} components, but maps {mapped} of them to operand dimensions"
        );
        let rank = operand.rank();
        distinct_dims("the map of index components", self.index_map, rank)?;
        let absent = [self.dropped, self.operand_batching].concat();
        distinct_dims("the list of collapsed (inserted) and batching dimensions", &absent, rank)?;
        if let Some(dim) = self.operand_batching.iter().find(|dim| self.index_map.contains(dim)) {
            return Err(format!("dimension {dim} of {operand} is both a batching dimension and indexed"));
        }
        let absent = absent.len();
        ensure!(
            window_dims + absent == rank,
            "{window_dims} window dimensions and {absent} collapsed (inserted) or batching ones do not make up the \
             {rank} dimensions of {operand}"
        );
        self.check_batching(name, vector_dim)?;
        let kept = indices.dims.iter().enumerate().filter(|&(dim, _)| dim != vector_dim);
        Ok(kept.map(|(_, &size)| size).collect())
    }

    fn check_batching(&self, name: &str, vector_dim: usize) -> Inferred<()> {
        distinct_dims("the list of batching dimensions of the indices", self.indices_batching, self.indices.rank())?;
        let is_vector = self.indices_batching.contains(&(vector_dim as i64));
        ensure!(!is_vector, "the index vector dimension {vector_dim} cannot be a batching dimension");
        let sizes = (sizes_of(self.operand, self.operand_batching), sizes_of(self.indices, self.indices_batching));
        ensure!(sizes.0 == sizes.1, "the batching dimensions of {name} have sizes {:?} and {:?}", sizes.0, sizes.1);
        Ok(())
    }

    /// Whether an operand dimension has a corresponding window dimension.
    fn in_window(&self, dim: usize) -> bool {
        let dim = dim as i64;
        !self.dropped.contains(&dim) && !self.operand_batching.contains(&dim)
    }
}

/// Merges window sizes and batch sizes into the sizes of one array. The dimensions `window_at` have
/// the window sizes. All other dimensions have the batch sizes.
fn interleave(what: &str, window_at: &[i64], window: Vec<i64>, batch: Vec<i64>) -> Inferred<Vec<i64>> {
    let rank = window.len() + batch.len();
    distinct_dims(what, window_at, rank)?;
    ensure!(window_at.is_sorted(), "{what} must be in ascending order");
    let (mut window, mut batch) = (window.into_iter(), batch.into_iter());
    let size = |dim: usize| if window_at.contains(&(dim as i64)) { window.next() } else { batch.next() };
    Ok((0..rank).filter_map(size).collect())
}

pub(super) fn gather(site: &Site, dims: &GatherDims) -> Inferred {
    site.operand_count(2)?;
    let addressing = Addressing {
        operand: site.array(0)?,
        indices: site.array(1)?,
        index_map: &dims.start_index_map,
        index_vector_dim: dims.index_vector_dim,
        dropped: &dims.collapsed_slice_dims,
        operand_batching: &dims.operand_batching_dims,
        indices_batching: &dims.start_indices_batching_dims,
    };
    let operand = addressing.operand;
    let (rank, found) = (operand.rank(), dims.slice_sizes.len());
    ensure!(found == rank, "gather needs {rank} slice_sizes for {operand}, found {found}");
    let batch = addressing.batch_sizes("gather", dims.offset_dims.len())?;
    let mut window = Vec::new();
    for (dim, (&size, &whole)) in dims.slice_sizes.iter().zip(&operand.dims).enumerate() {
        ensure!(0 <= size && size <= whole, "gather's slice size {size} of dimension {dim} is not within {operand}");
        if addressing.in_window(dim) {
            window.push(size);
        } else {
            ensure!(size <= 1, "gather collapses dimension {dim}, whose slice size is {size}, not 1");
        }
    }
    array(operand.element_type, interleave("offset_dims", &dims.offset_dims, window, batch)?)
}

pub(super) fn scatter(site: &Site, dims: &ScatterDims, to_apply: ComputationId) -> Inferred {
    let count = site.operands.len() / 2;
    let odd = site.operands.len() % 2 == 1;
    ensure!(odd && count > 0, "scatter takes n arrays, indices and n updates, found {} operands", site.operands.len());
    let mut types = Vec::with_capacity(count);
    for position in 0..count {
        let addressing = Addressing {
            operand: site.array(position)?,
            indices: site.array(count)?,
            index_map: &dims.scatter_dims_to_operand_dims,
            index_vector_dim: dims.index_vector_dim,
            dropped: &dims.inserted_window_dims,
            operand_batching: &dims.input_batching_dims,
            indices_batching: &dims.scatter_indices_batching_dims,
        };
        check_updates(site.array(count + 1 + position)?, &addressing, &dims.update_window_dims)?;
        let same = addressing.operand.dims == site.array(0)?.dims;
        ensure!(same, "the arrays of a scatter must have equal dimensions, found {}", addressing.operand);
        types.push(addressing.operand.element_type);
    }
    scalar_function(site, to_apply, &types)?;
    one_or_tuple(&site.operands[..count])
}

fn check_updates(updates: &ArrayShape, addressing: &Addressing, window_at: &[i64]) -> Inferred<()> {
    let operand = addressing.operand;
    let same = updates.element_type == operand.element_type;
    ensure!(same, "the updates {updates} must have the element type of {operand}");
    let batch = addressing.batch_sizes("scatter", window_at.len())?;
    distinct_dims("update_window_dims", window_at, updates.rank())?;
    let window = sizes_of(updates, window_at);
    let limits = (0..operand.rank()).filter(|&dim| addressing.in_window(dim)).map(|dim| operand.dims[dim]);
    let inside = window.iter().zip(limits).all(|(&size, limit)| size <= limit);
    ensure!(inside, "the window of the updates {updates} is larger than {operand}");
    let expected = interleave("update_window_dims", window_at, window, batch)?;
    ensure!(expected == updates.dims, "the updates of scatter must have dimensions {expected:?}, are {updates}");
    Ok(())
}
