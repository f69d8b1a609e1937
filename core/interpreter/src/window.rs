//! `reduce-window` and `select-and-scatter`.

use fusebox_core::hlo::{ComputationId, ElementType, Window, WindowDim};

use crate::caller::Caller;
use crate::error::{Outcome, ensure, malformed};
use crate::free_memory;
use crate::function::Function;
use crate::number;
use crate::reduce::{Visit, arrays_and_initial, fold};
use crate::running::Running;
use crate::strided::{for_each_index, position, strides};
use crate::value::{Array, Data, Scalar, Value, element_count};

/// Returns the number of window positions along a dimension of this size.
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

/// Returns the base elements that the window at position `at` covers, in window order. `None`
/// stands for padding.
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

/// Fails with [`Fault::Memory`](crate::error::Fault) if there is not enough memory for the
/// positions that a window covers.
pub(crate) fn ensure_memory(window: &[WindowDim]) -> Outcome<()> {
    const PLACE: u64 = 64;
    let places = window.iter().map(|dim| dim.size.unsigned_abs()).fold(0, u64::saturating_add);
    free_memory::ensure(places.saturating_mul(PLACE))
}

/// Visits the array elements that the window at `index` covers, in row-major order of the window.
/// `visit` receives the position of each element.
fn visit_covered(dims: &[usize], window: &[WindowDim], index: &[usize], visit: Visit) -> Outcome<()> {
    let inside = |d: usize| covered(dims[d], &window[d], index[d]).into_iter().flatten().collect();
    let places: Vec<Vec<usize>> = (0..dims.len()).map(inside).collect();
    let counts: Vec<usize> = places.iter().map(Vec::len).collect();
    let steps = strides(dims);
    for_each_index(&counts, |at| {
        let element: Vec<usize> = places.iter().zip(at).map(|(places, &i)| places[i]).collect();
        visit(position(&element, &steps))
    })
}

/// Reduces the elements under every window position.
pub(crate) fn reduce_window(
    caller: &mut dyn Caller,
    operands: &[Value],
    window: &Window,
    to_apply: ComputationId,
) -> Outcome<Value> {
    let (arrays, initial) = arrays_and_initial(operands)?;
    let window = window_dims(window, arrays[0].rank())?;
    let dims = arrays[0].dims.iter().zip(&window).map(|(&n, w)| window_count(n, w)).collect::<Outcome<Vec<usize>>>()?;
    element_count(&dims)?;
    ensure_memory(&window)?;
    if let Some(running) = Running::along(&arrays[0].dims, &window, &dims) {
        let function = Function::new(caller, to_apply)?;
        if running.suits(&function) {
            return running.reduce(caller, &function, &arrays, &initial, &dims);
        }
    }
    let covered = |index: &[usize], visit: Visit| visit_covered(&arrays[0].dims, &window, index, visit);
    fold(caller, to_apply, &arrays, &initial, &dims, covered)
}

/// Returns the window's dimensions. If the window has no dimensions, every window covers one
/// element.
fn window_dims(window: &Window, rank: usize) -> Outcome<Vec<WindowDim>> {
    match window.dims.len() {
        n if n == rank => Ok(window.dims.clone()),
        0 => Ok(vec![WindowDim::default(); rank]),
        n => malformed(format!("a window of {n} dimensions over an array of rank {rank}")),
    }
}

/// Evaluates `select-and-scatter`. Combines every source element into the result, at the position
/// that the element's window selects in the operand.
pub(crate) fn select_and_scatter(
    caller: &mut dyn Caller,
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
    ensure_memory(&window)?;
    let select = Function::new(caller, select)?;
    let scatter = Function::new(caller, scatter)?;
    let ty = source.ty;
    let mut result = Array::filled(ty, array.dims.clone(), initial)?;
    let combiner = Combiner::new(&scatter, ty);
    let mut next = 0;
    for_each_index(&counts, |index| {
        let mut chosen: Option<(usize, Scalar)> = None;
        visit_covered(&array.dims, &window, index, &mut |at| {
            let candidate = array.data.get(at);
            let keep = match chosen {
                Some((_, held)) => select.holds(caller, &[held, candidate])?,
                None => false,
            };
            if !keep {
                chosen = Some((at, candidate));
            }
            Ok(())
        })?;
        if let Some((at, _)) = chosen {
            let value = combiner.combine(caller, result.data.get(at), source.data.get(next))?;
            result.data.set(at, value)?;
        }
        next += 1;
        Ok(())
    })?;
    combiner.finish(&mut result);
    Ok(result)
}

/// A function that combines elements. Sums of floats are rounded only once, by
/// [`Combiner::finish`].
pub(crate) struct Combiner<'f> {
    function: &'f Function,
    sums: bool,
    ty: ElementType,
}

impl<'f> Combiner<'f> {
    pub fn new(function: &'f Function, ty: ElementType) -> Self {
        let sums = function.binary.is_some_and(|(op, _)| op == fusebox_core::hlo::BinaryOp::Add);
        Combiner { function, sums, ty }
    }

    /// Combines the value `held` with an element.
    pub fn combine(&self, caller: &mut dyn Caller, held: Scalar, x: Scalar) -> Outcome<Scalar> {
        match (held, x) {
            (Scalar::Float(a), Scalar::Float(b)) if self.sums => Ok(Scalar::Float(a + b)),
            (Scalar::Complex(a), Scalar::Complex(b)) if self.sums => Ok(Scalar::Complex(a.add(b))),
            _ => self.function.call_for_one(caller, &[held, x]),
        }
    }

    /// Rounds the sums that [`Combiner::combine`] has not rounded.
    pub fn finish(&self, array: &mut Array) {
        match &mut array.data {
            Data::Float(v) if self.sums => v.iter_mut().for_each(|x| *x = number::round(self.ty, *x)),
            Data::Complex(v) if self.sums => v.iter_mut().for_each(|z| *z = number::round_complex(self.ty, *z)),
            _ => {}
        }
    }
}
