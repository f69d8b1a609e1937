//! `reduce-window` and `select-and-scatter`.

use fusebox_core::hlo::{ComputationId, ElementType, Window, WindowDim};

use crate::error::{Outcome, ensure, malformed};
use crate::evaluator::Evaluator;
use crate::function::{Accumulator, Function};
use crate::memory;
use crate::number;
use crate::reduce::{Visit, arrays_and_initial, fold};
use crate::strided::{for_each_index, position, strides};
use crate::value::{Array, Data, Scalar, Value, element_count};

/// Number of window positions along a dimension of that size.
pub(crate) fn window_count(size: usize, window: &WindowDim) -> Outcome<usize> {
    let sane = window.size >= 0 && window.stride >= 1 && window.window_dilation >= 1 && window.base_dilation >= 1;
    ensure!(sane, "a window has a negative size, or a stride or dilation below 1");
    let dilated = |n: i64, step: i64| if n == 0 { 0 } else { (n - 1).saturating_mul(step).saturating_add(1) };
    let base = dilated(size as i64, window.base_dilation)
        .saturating_add(window.padding_low)
        .saturating_add(window.padding_high);
    let extent = dilated(window.size, window.window_dilation);
    Ok(if base < extent || extent == 0 { 0 } else { ((base - extent) / window.stride + 1) as usize })
}

/// Per window position the base elements it covers, in window order; `None` stands for padding.
pub(crate) fn covered(size: usize, window: &WindowDim, at: usize) -> Vec<Option<usize>> {
    let start = at as i64 * window.stride - window.padding_low;
    let element = |k: i64| {
        let k = if window.reversal { window.size - 1 - k } else { k };
        let place = start + k * window.window_dilation;
        let inside = place >= 0 && place % window.base_dilation == 0 && place / window.base_dilation < size as i64;
        inside.then_some((place / window.base_dilation) as usize)
    };
    (0..window.size).map(element).collect()
}

/// Bytes of the table of what every window position along a dimension covers, and of making it.
pub(crate) fn bytes_of_places(count: usize, window: i64) -> u64 {
    // A pair of places each, in a vector that grows.
    const PLACE: u64 = 64;
    (count as u64).saturating_mul(window.unsigned_abs().saturating_add(1)).saturating_mul(PLACE)
}

/// Offsets of the elements each window position covers, padding left out, per dimension.
struct Cover {
    /// Per dimension and window position: positions in the array times the stride.
    offsets: Vec<Vec<Vec<usize>>>,
}

impl Cover {
    fn new(dims: &[usize], window: &[WindowDim], counts: &[usize]) -> Outcome<Self> {
        let sizes = counts.iter().zip(window).map(|(&count, window)| bytes_of_places(count, window.size));
        memory::ensure(sizes.fold(0, u64::saturating_add))?;
        let steps = strides(dims);
        let line = |d: usize| {
            let inside = |at| covered(dims[d], &window[d], at).into_iter().flatten();
            (0..counts[d]).map(|at| inside(at).map(|i| i * steps[d] as usize).collect()).collect()
        };
        Ok(Cover { offsets: (0..dims.len()).map(line).collect() })
    }

    /// Calls `visit` with the position of each covered element, row-major in the window.
    fn visit(&self, index: &[usize], visit: Visit) -> Outcome<()> {
        self.visit_from(0, index, 0, visit)
    }

    fn visit_from(&self, d: usize, index: &[usize], at: usize, visit: Visit) -> Outcome<()> {
        if d == index.len() {
            return visit(at);
        }
        for offset in &self.offsets[d][index[d]] {
            self.visit_from(d + 1, index, at + offset, visit)?;
        }
        Ok(())
    }
}

/// Reduces the elements under every window position.
pub(crate) fn reduce_window(
    evaluator: &mut Evaluator,
    operands: &[Value],
    window: &Window,
    to_apply: ComputationId,
) -> Outcome<Value> {
    let (arrays, initial) = arrays_and_initial(operands)?;
    let window = window_dims(window, arrays[0].rank())?;
    let dims = arrays[0].dims.iter().zip(&window).map(|(&n, w)| window_count(n, w)).collect::<Outcome<Vec<usize>>>()?;
    element_count(&dims)?;
    let combiner = Function::new(evaluator, to_apply)?.as_binary();
    if let (Some((op, ty)), [array], Some((d, from_end))) =
        (combiner, arrays.as_slice(), running_dimension(&arrays[0].dims, &window))
    {
        return Ok(running(array, d, from_end, ty, Accumulator::new(op, initial[0]))?.into());
    }
    let cover = Cover::new(&arrays[0].dims, &window, &dims)?;
    fold(evaluator, to_apply, &arrays, &initial, &dims, |index, visit| cover.visit(index, visit))
}

/// The window's dimensions; without a window, windows of one element.
fn window_dims(window: &Window, rank: usize) -> Outcome<Vec<WindowDim>> {
    match window.dims.len() {
        n if n == rank => Ok(window.dims.clone()),
        0 => Ok(vec![WindowDim::default(); rank]),
        n => malformed(format!("a window of {n} dimensions over an array of rank {rank}")),
    }
}

/// The dimension along which the window covers everything up to its position (or, if the second is
/// true, from its position on), as cumulative sums lower to; windows of 1 elsewhere.
fn running_dimension(dims: &[usize], window: &[WindowDim]) -> Option<(usize, bool)> {
    let mut found = None;
    for (d, w) in window.iter().enumerate() {
        let n = dims[d] as i64;
        let plain = w.stride == 1 && w.window_dilation == 1 && w.base_dilation == 1;
        let padding = (w.padding_low, w.padding_high);
        match () {
            () if !plain => return None,
            () if w.size == 1 && padding == (0, 0) => {}
            () if found.is_some() || w.size != n => return None,
            () if padding == (n - 1, 0) => found = Some((d, false)),
            () if padding == (0, n - 1) => found = Some((d, true)),
            () => return None,
        }
    }
    found
}

fn running(array: &Array, d: usize, from_end: bool, ty: ElementType, initial: Accumulator) -> Outcome<Array> {
    let mut result = Array::zeros(array.ty, array.dims.clone())?;
    let steps = strides(&array.dims);
    let mut line_starts = array.dims.clone();
    line_starts[d] = 1;
    for_each_index(&line_starts, |start| {
        let base = position(start, &steps);
        let mut accumulator = initial;
        for k in 0..array.dims[d] {
            let along = if from_end { array.dims[d] - 1 - k } else { k };
            let at = base + along * steps[d] as usize;
            accumulator.add(ty, array.data.get(at))?;
            result.data.set(at, accumulator.value(ty))?;
        }
        Ok(())
    })?;
    Ok(result)
}

/// Adds every source element to the operand element its window selects.
pub(crate) fn select_and_scatter(
    evaluator: &mut Evaluator,
    operands: &[Value],
    window: &Window,
    select: ComputationId,
    scatter: ComputationId,
) -> Outcome<Array> {
    let [array, source, initial] = operands else {
        return malformed("select-and-scatter takes three operands");
    };
    let (array, source, initial) = (array.array()?, source.array()?, initial.array()?.single()?);
    let window = window_dims(window, array.rank())?;
    let counts = array.dims.iter().zip(&window).map(|(&n, w)| window_count(n, w)).collect::<Outcome<Vec<_>>>()?;
    ensure!(counts == source.dims, "the source is {:?}, the window has {counts:?} positions", source.dims);
    let cover = Cover::new(&array.dims, &window, &counts)?;
    let mut select = Function::new(evaluator, select)?;
    let mut scatter = Function::new(evaluator, scatter)?;
    let ty = source.ty;
    let mut result = Array::filled(ty, array.dims.clone(), initial)?;
    let mut combiner = Combiner::new(&mut scatter, ty);
    let mut next = 0;
    for_each_index(&counts, |index| {
        let mut chosen: Option<(usize, Scalar)> = None;
        cover.visit(index, &mut |at| {
            let candidate = array.data.get(at);
            let keep = match chosen {
                Some((_, held)) => select.holds(evaluator, &[held, candidate])?,
                None => false,
            };
            if !keep {
                chosen = Some((at, candidate));
            }
            Ok(())
        })?;
        if let Some((at, _)) = chosen {
            let value = combiner.combine(evaluator, result.data.get(at), source.data.get(next))?;
            result.data.set(at, value)?;
        }
        next += 1;
        Ok(())
    })?;
    combiner.finish(&mut result);
    Ok(result)
}

/// Combines elements in place; sums of floats are rounded once, at the end.
pub(crate) struct Combiner<'f> {
    function: &'f mut Function,
    sums: bool,
    ty: ElementType,
}

impl<'f> Combiner<'f> {
    pub fn new(function: &'f mut Function, ty: ElementType) -> Self {
        let sums = function.as_binary().is_some_and(|(op, _)| op == fusebox_core::hlo::BinaryOp::Add);
        Combiner { function, sums, ty }
    }

    /// The combination of what is held with an element.
    pub fn combine(&mut self, evaluator: &mut Evaluator, held: Scalar, x: Scalar) -> Outcome<Scalar> {
        match (held, x) {
            (Scalar::Float(a), Scalar::Float(b)) if self.sums => Ok(Scalar::Float(a + b)),
            (Scalar::Complex(a), Scalar::Complex(b)) if self.sums => Ok(Scalar::Complex(a.add(b))),
            _ => self.function.call_for_one(evaluator, &[held, x]),
        }
    }

    /// Rounds what [`Combiner::combine`] left unrounded.
    pub fn finish(&self, array: &mut Array) {
        match &mut array.data {
            Data::Float(v) if self.sums => v.iter_mut().for_each(|x| *x = number::round(self.ty, *x)),
            Data::Complex(v) if self.sums => v.iter_mut().for_each(|z| *z = number::round_complex(self.ty, *z)),
            _ => {}
        }
    }
}
