//! `scatter`.

use fusebox_core::hlo::{ComputationId, ScatterDims};

use crate::error::{Outcome, malformed};
use crate::evaluator::Evaluator;
use crate::function::Function;
use crate::gather::{IndexVectors, others};
use crate::movement::dimension_numbers;
use crate::reduce::one_or_tuple;
use crate::strided::{for_each_index, permuted, position, strides};
use crate::value::{Array, Scalar, Value};
use crate::window::Combiner;

/// Combines windows of the updates into the operands. A window that is not wholly inside is left out.
pub(crate) fn scatter(
    evaluator: &mut Evaluator,
    mut operands: Vec<Value>,
    numbers: &ScatterDims,
    to_apply: ComputationId,
) -> Outcome<Value> {
    let n = operands.len() / 2;
    if n == 0 || operands.len() != 2 * n + 1 {
        return malformed("scatter takes n arrays, the indices and n updates");
    }
    let updates = operands.split_off(n + 1);
    let indices = operands.remove(n);
    let mut results = operands.into_iter().map(Value::into_array).collect::<Outcome<Vec<Array>>>()?;
    let updates = updates.iter().map(Value::array).collect::<Outcome<Vec<&Array>>>()?;
    if results.iter().any(|r| r.dims != results[0].dims) || updates.iter().any(|u| u.dims != updates[0].dims) {
        return malformed("the arrays of a scatter have different shapes");
    }
    let windows = Windows::new(&results[0].dims, &updates[0].dims, indices.array()?, numbers)?;
    let mut function = Function::new(evaluator, to_apply)?;
    match (results.as_mut_slice(), updates.as_slice()) {
        ([result], [update]) => one(evaluator, &mut function, &windows, result, update)?,
        _ => several(evaluator, &mut function, &windows, &mut results, &updates)?,
    }
    Ok(one_or_tuple(results))
}

fn one(
    evaluator: &mut Evaluator,
    function: &mut Function,
    windows: &Windows,
    result: &mut Array,
    update: &Array,
) -> Outcome<()> {
    let mut combiner = Combiner::new(function, result.ty);
    windows.for_each(&mut |at, from| {
        let value = combiner.combine(evaluator, result.data.get(at), update.data.get(from))?;
        result.data.set(at, value)
    })?;
    combiner.finish(result);
    Ok(())
}

fn several(
    evaluator: &mut Evaluator,
    function: &mut Function,
    windows: &Windows,
    results: &mut [Array],
    updates: &[&Array],
) -> Outcome<()> {
    windows.for_each(&mut |at, from| {
        let mut arguments: Vec<Scalar> = results.iter().map(|r| r.data.get(at)).collect();
        arguments.extend(updates.iter().map(|u| u.data.get(from)));
        function.call(evaluator, &arguments)?;
        if function.results.len() != results.len() {
            return malformed("the combiner gives another number of values than there are arrays");
        }
        results.iter_mut().zip(&function.results).try_for_each(|(r, &value)| r.data.set(at, value))
    })
}

/// Where the windows of the updates go.
struct Windows<'a> {
    dims: Vec<usize>,
    vectors: IndexVectors<'a>,
    /// Operand dimension of each component of an index vector.
    map: Vec<usize>,
    /// Pairs of batching dimensions: of the operand, of the indices.
    batching: Vec<(usize, usize)>,
    /// Operand dimensions the window spans, and the update dimensions that span it.
    window_dims: Vec<usize>,
    update_window_dims: Vec<usize>,
    window_sizes: Vec<usize>,
    update_scatter_dims: Vec<usize>,
    update_steps: Vec<isize>,
}

impl<'a> Windows<'a> {
    fn new(dims: &[usize], update_dims: &[usize], indices: &'a Array, numbers: &ScatterDims) -> Outcome<Self> {
        let vectors = IndexVectors::new(indices, numbers.index_vector_dim)?;
        let map = dimension_numbers(&numbers.scatter_dims_to_operand_dims, dims.len())?;
        let operand_batch = dimension_numbers(&numbers.input_batching_dims, dims.len())?;
        let indices_batch = dimension_numbers(&numbers.scatter_indices_batching_dims, indices.rank())?;
        let update_window_dims = dimension_numbers(&numbers.update_window_dims, update_dims.len())?;
        let mut dropped = dimension_numbers(&numbers.inserted_window_dims, dims.len())?;
        dropped.extend(&operand_batch);
        let window_dims = others(&dropped, dims.len());
        let update_scatter_dims = others(&update_window_dims, update_dims.len());
        let window_sizes = permuted(update_dims, &update_window_dims);
        let consistent = map.len() == vectors.length()
            && window_dims.len() == update_window_dims.len()
            && operand_batch.len() == indices_batch.len()
            && permuted(update_dims, &update_scatter_dims) == vectors.batch_dims;
        if !consistent {
            return malformed("the dimension numbers of scatter do not fit its operands");
        }
        Ok(Windows {
            dims: dims.to_vec(),
            vectors,
            map,
            batching: operand_batch.into_iter().zip(indices_batch).collect(),
            window_dims,
            update_window_dims,
            window_sizes,
            update_scatter_dims,
            update_steps: strides(update_dims),
        })
    }

    /// Calls `visit` with position in the operand and position in the updates, in the updates' order
    /// of windows.
    fn for_each(&self, visit: &mut impl FnMut(usize, usize) -> Outcome<()>) -> Outcome<()> {
        let steps = strides(&self.dims);
        let window_steps = permuted(&steps, &self.window_dims);
        let from_steps = permuted(&self.update_steps, &self.update_window_dims);
        let batch_steps = permuted(&self.update_steps, &self.update_scatter_dims);
        for_each_index(&self.vectors.batch_dims, |batch| {
            let Some(start) = self.start(batch)? else {
                return Ok(());
            };
            let (to, from) = (position(&start, &steps), position(batch, &batch_steps));
            for_each_index(&self.window_sizes, |index| {
                visit(to + position(index, &window_steps), from + position(index, &from_steps))
            })
        })
    }

    /// Where the window at a batch index starts; `None` if it is not wholly inside.
    fn start(&self, batch: &[usize]) -> Outcome<Option<Vec<usize>>> {
        let mut start = vec![0usize; self.dims.len()];
        for (k, &d) in self.map.iter().enumerate() {
            let index = self.vectors.component(batch, k)?;
            // A u64 beyond i64 reads as negative, and is outside as well.
            let Ok(index) = usize::try_from(index) else {
                return Ok(None);
            };
            start[d] = index;
        }
        for &(operand_dim, indices_dim) in &self.batching {
            start[operand_dim] = self.vectors.batch_entry(batch, indices_dim)?;
        }
        let mut sizes = vec![1usize; self.dims.len()];
        self.window_dims.iter().zip(&self.window_sizes).for_each(|(&d, &size)| sizes[d] = size);
        let inside = (0..start.len()).all(|d| start[d].checked_add(sizes[d]).is_some_and(|end| end <= self.dims[d]));
        Ok(inside.then_some(start))
    }
}
