//! Indexing maps of operations with run-time indices.

use super::{Reading, Reason, RuntimeValue, Site, dim, expect_rank, position};
use crate::{Constraint, Expr, IndexingMap, Interval, Variable};
use fusebox_hlo::{GatherDims, InstrId, Literal, Op, ScatterDims};

/// Returns how a dynamic-slice reads an operand. Operand 0 is read from a start that is known only
/// at run time. All further operands are start indices.
pub(super) fn dynamic_slice(site: Site, operand: usize, sizes: &[i64]) -> Result<Reading, Reason> {
    let output = site.output_dims(0)?;
    if operand > 0 {
        return start(site, operand, output);
    }
    let dims = site.operand_dims(0)?;
    expect_rank("the slice", sizes.len(), dims.len())?;
    let mut reading = Reading::new(IndexingMap::from_tensor_sizes(Vec::new(), output, &[]));
    for (i, (&size, &slice)) in dims.iter().zip(sizes).enumerate() {
        let begin = start_value(site, &mut reading, 1, i, size - slice)?;
        reading.map.results.push(Expr::dim(i as u32) + begin);
    }
    Ok(reading)
}

/// Returns how a dynamic-update-slice reads an operand. Operand 0 is read at the index of the
/// result, even where the update replaces elements of operand 0. The update, operand 1, is read
/// only at indices inside the slice that it replaces. All further operands are start indices.
pub(super) fn dynamic_update_slice(site: Site, operand: usize) -> Result<Reading, Reason> {
    let output = site.output_dims(0)?;
    match operand {
        0 => return Ok(Reading::whole(output)),
        1 => {}
        _ => return start(site, operand, output),
    }
    let update = site.operand_dims(1)?;
    expect_rank("the update", update.len(), output.len())?;
    let mut reading = Reading::new(IndexingMap::from_tensor_sizes(Vec::new(), output, &[]));
    for (i, (&size, &slice)) in output.iter().zip(update).enumerate() {
        let begin = start_value(site, &mut reading, 2, i, size - slice)?;
        let coordinate = Expr::dim(i as u32) - begin;
        reading.map.results.push(coordinate.clone());
        reading.map.constraints.push(Constraint::new(coordinate, Interval::from_size(slice)));
    }
    Ok(reading)
}

/// Returns how an operation reads an operand with start indices. The operand is a scalar with the
/// start in one dimension, or a vector with the starts in all dimensions.
fn start(site: Site, operand: usize, output: &[i64]) -> Result<Reading, Reason> {
    match site.operand_dims(operand)? {
        [] => Ok(Reading::scalar(output)),
        &[count] => Ok(Reading::new(IndexingMap::from_tensor_sizes(vec![Expr::range(0)], output, &[count]))),
        _ => Err("starts have to be scalars, one per dimension, or one vector".into()),
    }
}

/// Returns the start of a slice in a dimension. Operand `first` contains all starts as a vector, or
/// the first of several scalars. The result is a number if the start is a constant, else a runtime
/// variable.
fn start_value(site: Site, reading: &mut Reading, first: usize, dimension: usize, last: i64) -> Result<Expr, Reason> {
    let bounds = Interval::new(0, last.max(0));
    let vector = !site.operand_dims(first)?.is_empty();
    let (operand, position) = if vector { (first, dimension) } else { (first + dimension, 0) };
    let missing = || format!("there is no start for dimension {dimension}");
    let instruction = *site.instruction.operands.get(operand).ok_or_else(missing)?;
    if let Some(value) = constant_element(site, instruction, position) {
        return Ok(Expr::constant(value.clamp(bounds.lower, bounds.upper)));
    }
    let index = if vector { vec![Expr::constant(dimension as i64)] } else { Vec::new() };
    let value = RuntimeValue { computation: site.id, instruction, index };
    Ok(reading.add_runtime(Variable::from(bounds), value))
}

/// Returns the element at `position`, if the instruction is an integer constant.
fn constant_element(site: Site, instruction: InstrId, position: usize) -> Option<i64> {
    let Op::Constant(Literal::Array(array)) = &site.computation.instruction(instruction).op else { return None };
    if !array.element_type.is_integer() {
        return None;
    }
    let width = array.element_type.byte_size();
    let bytes = array.data.get(position * width..(position + 1) * width)?;
    let mut wide = [0; 8];
    wide.get_mut(..width)?.copy_from_slice(bytes);
    let shift = 64 - 8 * width as u32;
    let value = u64::from_le_bytes(wide);
    if array.element_type.is_signed_integer() {
        Some(((value << shift) as i64) >> shift)
    } else {
        // A larger value exceeds the size of any dimension, and the caller clamps the value.
        Some(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

/// How the windows of a gather or scatter correspond to the operand.
struct Windows<'a> {
    /// Dimensions of the gather's output or the scatter's updates.
    outer: &'a [i64],
    /// The dimensions of `outer` that index into a window.
    window_dims: &'a [i64],
    /// Dimensions of the operand.
    operand: &'a [i64],
    /// Dimensions of the operand that `outer` lacks.
    dropped: &'a [i64],
    operand_batching: &'a [i64],
    indices_batching: &'a [i64],
    start_map: &'a [i64],
    index_vector_dim: i64,
    /// Index of the operand that contains the indices. The field `indices` lists the dimensions of
    /// this operand.
    indices_operand: usize,
    indices: &'a [i64],
}

impl Windows<'_> {
    /// Returns the dimensions of `outer` that index the array of index vectors. All other
    /// dimensions of `outer` index into a window.
    fn batch(&self) -> Vec<Expr> {
        let is_batch = |i: &usize| !self.window_dims.contains(&(*i as i64));
        (0..self.outer.len()).filter(is_batch).map(|i| Expr::dim(i as u32)).collect()
    }

    /// Returns the index at which the indices array contains a component of the index vector.
    fn component(&self, component: Expr) -> Result<Vec<Expr>, Reason> {
        let mut index = self.batch();
        let at = usize::try_from(self.index_vector_dim).map_err(|_| "negative index_vector_dim")?;
        if at < self.indices.len() {
            ensure!(at <= index.len(), "index_vector_dim does not fit the output");
            index.insert(at, component);
        }
        expect_rank("the index vectors' array", self.indices.len(), index.len())?;
        Ok(index)
    }

    /// Returns the map from an index in `outer` to the index in the operand.
    fn reading(&self, site: Site, slice_sizes: &[i64]) -> Result<Reading, Reason> {
        let mut reading = Reading::new(IndexingMap::from_tensor_sizes(Vec::new(), self.outer, &[]));
        expect_rank("the slice", slice_sizes.len(), self.operand.len())?;
        let mut windows = self.window_dims.iter();
        for (k, (&size, &slice)) in self.operand.iter().zip(slice_sizes).enumerate() {
            let number = k as i64;
            if let Some(b) = self.operand_batching.iter().position(|&d| d == number) {
                reading.map.results.push(self.batching(b)?);
                continue;
            }
            let mut coordinate = if self.dropped.contains(&number) {
                Expr::constant(0)
            } else {
                dim(*windows.next().ok_or("too few window dimensions")?, self.outer.len())?
            };
            if let Some(m) = self.start_map.iter().position(|&d| d == number) {
                coordinate = coordinate + self.start(site, &mut reading, m, size - slice)?;
            }
            reading.map.results.push(coordinate);
        }
        Ok(reading)
    }

    /// Returns the coordinate of the operand in its `b`-th batching dimension. The indices have the
    /// same coordinate in their own `b`-th batching dimension.
    fn batching(&self, b: usize) -> Result<Expr, Reason> {
        let in_indices = *self.indices_batching.get(b).ok_or("batching dimensions do not correspond")?;
        let skipped = i64::from(in_indices > self.index_vector_dim);
        let batch = self.batch();
        position(in_indices - skipped, batch.len()).map(|i| batch[i].clone())
    }

    fn start(&self, site: Site, reading: &mut Reading, component: usize, last: i64) -> Result<Expr, Reason> {
        let instruction = *site.instruction.operands.get(self.indices_operand).ok_or("the indices are missing")?;
        let bounds = Interval::new(0, last.max(0));
        let index = self.component(Expr::constant(component as i64))?;
        let elements = self.indices.iter().fold(1i64, |n, &d| n.saturating_mul(d));
        // If there is a single index vector, its components may be constants.
        if elements == self.start_map.len() as i64
            && let Some(value) = constant_element(site, instruction, component)
        {
            return Ok(Expr::constant(value.clamp(bounds.lower, bounds.upper)));
        }
        let value = RuntimeValue { computation: site.id, instruction, index };
        Ok(reading.add_runtime(Variable::from(bounds), value))
    }
}

/// Returns how a gather reads an operand. Operand 0 is read at the starts that the indices contain.
/// The indices are read at all components of one index vector.
pub(super) fn gather(site: Site, operand: usize, dims: &GatherDims) -> Result<Reading, Reason> {
    let windows = Windows {
        outer: site.output_dims(0)?,
        window_dims: &dims.offset_dims,
        operand: site.operand_dims(0)?,
        dropped: &dims.collapsed_slice_dims,
        operand_batching: &dims.operand_batching_dims,
        indices_batching: &dims.start_indices_batching_dims,
        start_map: &dims.start_index_map,
        index_vector_dim: dims.index_vector_dim,
        indices_operand: 1,
        indices: site.operand_dims(1)?,
    };
    if operand == 0 {
        return windows.reading(site, &dims.slice_sizes);
    }
    let results = windows.component(Expr::range(0))?;
    let sizes = [dims.start_index_map.len() as i64];
    let has_vector = results.len() > windows.batch().len();
    let ranges = if has_vector { &sizes[..] } else { &[] };
    Ok(Reading::new(IndexingMap::from_tensor_sizes(results, windows.outer, ranges)))
}

/// Returns how a scatter reads an operand: at the index of the result. Fails for updates, because
/// the indices decide at run time which updates are combined with an element.
pub(super) fn scatter(site: Site, operand: usize, leaf: usize) -> Result<Reading, Reason> {
    let arrays = site.instruction.operands.len() / 2;
    match operand {
        i if i < arrays && i == leaf => Ok(Reading::whole(site.output_dims(leaf)?)),
        i if i < arrays => Err("the combiner decides whether it reads the other operands".into()),
        _ => Err("the updates of an element are known only at run time".into()),
    }
}

/// Returns the map from the index of an update to the operand index where the update is applied. At
/// run time, the scatter skips updates that do not fit into the operand. The map includes updates
/// that do not fit, and clamps their starts.
pub(super) fn scatter_update(site: Site, operand: usize, dims: &ScatterDims) -> Result<Reading, Reason> {
    let arrays = site.instruction.operands.len() / 2;
    let updates = site.operand_dims(operand)?;
    let sizes = site.operand_dims(0)?;
    let windows = Windows {
        outer: updates,
        window_dims: &dims.update_window_dims,
        operand: sizes,
        dropped: &dims.inserted_window_dims,
        operand_batching: &dims.input_batching_dims,
        indices_batching: &dims.scatter_indices_batching_dims,
        start_map: &dims.scatter_dims_to_operand_dims,
        index_vector_dim: dims.index_vector_dim,
        indices_operand: arrays,
        indices: site.operand_dims(arrays)?,
    };
    let mut window = dims.update_window_dims.iter();
    let mut slice_sizes = Vec::with_capacity(sizes.len());
    for k in 0..sizes.len() as i64 {
        let alone = dims.inserted_window_dims.contains(&k) || dims.input_batching_dims.contains(&k);
        slice_sizes.push(if alone {
            1
        } else {
            updates[position(*window.next().ok_or("too few window dimensions")?, updates.len())?]
        });
    }
    windows.reading(site, &slice_sizes)
}
