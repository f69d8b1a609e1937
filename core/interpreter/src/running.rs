//! Evaluates `reduce-window` for windows that grow, as in cumulative sums: each window contains all
//! elements of the previous window and further elements. Each element is combined only once, so
//! that the cost does not grow with the square of the array's length.

use fusebox_core::hlo::{BinaryOp, WindowDim};

use crate::caller::Caller;
use crate::error::Outcome;
use crate::function::Function;
use crate::reduce::{Held, one_or_tuple};
use crate::strided::{for_each_index, position, strides};
use crate::value::{Array, Scalar, Value};

/// Windows that grow along one dimension and have one element along every other dimension.
pub(crate) struct Running {
    dimension: usize,
    /// Number of elements along the dimension.
    size: i64,
    window: WindowDim,
    /// Whether all windows start at the first element. If `is_forward` is false, all windows end at
    /// the last element.
    is_forward: bool,
}

impl Running {
    /// Recognises windows that grow along one dimension of an array. Returns `None` for windows
    /// that do not grow along exactly one dimension. `counts` contains the number of windows per
    /// dimension.
    pub fn along(dims: &[usize], window: &[WindowDim], counts: &[usize]) -> Option<Running> {
        let mut wide = (0..dims.len()).filter(|&d| window[d] != WindowDim::default());
        let (dimension, None) = (wide.next()?, wide.next()) else { return None };
        let (window, size) = (window[dimension], i64::try_from(dims[dimension]).ok()?);
        let WindowDim { stride: 1, window_dilation: 1, base_dilation: 1, reversal: false, .. } = window else {
            return None;
        };
        let last = i64::try_from(counts[dimension]).ok()? - 1;
        let is_forward = window.padding_low >= last;
        let is_backward = window.size.checked_sub(window.padding_low)? >= size;
        (is_forward || is_backward).then_some(Running { dimension, size, window, is_forward })
    }

    /// Whether `function` may combine the elements in the order in which the windows grow. If the
    /// windows grow backwards, the function's result must not depend on the order of the elements.
    pub fn suits(&self, function: &Function) -> bool {
        use BinaryOp::{Add, And, Maximum, Minimum, Multiply, Or, Xor};
        let is_free = |(op, _)| matches!(op, Add | Multiply | Maximum | Minimum | And | Or | Xor);
        self.is_forward || function.binary.is_some_and(is_free)
    }

    /// Reduces the elements under every window.
    pub fn reduce(
        &self,
        caller: &mut dyn Caller,
        function: &Function,
        arrays: &[&Array],
        initial: &[Scalar],
        counts: &[usize],
    ) -> Outcome<Value> {
        let filled = arrays.iter().zip(initial).map(|(a, &initial)| Array::filled(a.ty, counts.to_vec(), initial));
        let mut results = filled.collect::<Outcome<Vec<_>>>()?;
        let (read, written) = (strides(&arrays[0].dims), strides(counts));
        let (step_read, step_written) = (read[self.dimension] as usize, written[self.dimension] as usize);
        let mut lines = counts.to_vec();
        lines[self.dimension] = lines[self.dimension].min(1);
        for_each_index(&lines, |line| {
            let (first, first_result) = (position(line, &read), position(line, &written));
            let mut held = Held::new(function, arrays, initial);
            let mut taken = 0..0;
            for step in 0..counts[self.dimension] {
                let at = if self.is_forward { step } else { counts[self.dimension] - 1 - step };
                for element in self.further(at, &mut taken) {
                    held.take(caller, first + element * step_read)?;
                }
                let place = first_result + at * step_written;
                results.iter_mut().enumerate().try_for_each(|(number, it)| it.data.set(place, held.value(number)))?;
            }
            Ok(())
        })?;
        Ok(one_or_tuple(results))
    }

    /// Returns those elements of the window at position `at` that have not been combined yet. All
    /// windows contain the same end of the array. `taken` is the range of the elements that have
    /// been combined, counted from the end that all windows contain.
    fn further(&self, at: usize, taken: &mut std::ops::Range<usize>) -> impl Iterator<Item = usize> + use<> {
        let start = at as i64 - self.window.padding_low;
        let (size, is_forward) = (self.size, self.is_forward);
        let count = if is_forward { start + self.window.size } else { size - start }.clamp(0, size) as usize;
        let further = taken.end..count.max(taken.end);
        *taken = 0..further.end;
        further.map(move |number| if is_forward { number } else { size as usize - 1 - number })
    }
}
