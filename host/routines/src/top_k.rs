//! Implements `topk` and the custom call `TopK`. `topk` and `TopK` process lines along the last
//! dimension. For each line, they return the `k` largest or smallest elements in order, and the
//! positions of these elements. Floats are compared in total order. Equal elements keep their
//! order.
//!
//! The routine does not sort most elements. The routine splits a line into blocks and computes the
//! maximum of each block. The `k`-th largest of the blocks' maxima is a bound that at least `k`
//! elements reach. So only elements that reach the bound can be among the `k` largest.

use fusebox_core::hlo::{ArrayShape, ElementType, Op};

use crate::attributes::Attributes;
use crate::key::{Bits, MergedValues, Order};
use crate::lines::{LineDecomposition, for_each_part};
use crate::{Context, Operation, Routine, RoutineError, Unsupported, elements, elements_mut, scratch};

/// Number of elements per block. A block of this size occupies a few lines of the cache. A line of
/// the array consists of few blocks of this size, and so has few maxima.
const BLOCK: usize = 32;
/// Minimum ratio of the number of blocks to `k`. With a smaller ratio, computing the maxima of the
/// blocks costs more time than it saves.
const BLOCKS_PER_RESULT: usize = 4;
/// Approximate number of elements per part of the work. A part has at least one whole line.
const PART: usize = 1 << 15;

#[derive(Debug)]
struct TopK {
    lines: LineDecomposition,
    k: usize,
    order: Order,
}

/// Creates the routine of the operation `topk`.
pub fn operation(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    match operation.instruction.op {
        Op::Topk { k, largest, .. } => make(operation, k, largest),
        _ => Err(Unsupported::new("a top-k that is none")),
    }
}

/// Creates the routine of the custom call `TopK`. The last dimension of the result has size `k`.
/// The call selects the smallest elements if its `backend_config` has `largest = false`, else the
/// largest elements.
pub fn custom_call(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let k = operation.result(0)?.dims.last().copied().unwrap_or(0);
    let largest = Attributes::new(operation.backend_config())?.get("largest")?.unwrap_or(true);
    make(operation, k, largest)
}

fn make(operation: &Operation, k: i64, largest: bool) -> Result<Box<dyn Routine>, Unsupported> {
    operation.takes_arrays(1)?;
    let array = operation.argument(0)?;
    let lines = LineDecomposition::of(array, array.rank() as i64 - 1)?;
    let wrong = || {
        Unsupported::new(format!("the first {k} of {} elements: expected at most as many as there are", lines.length))
    };
    let k = usize::try_from(k).ok().filter(|&k| k <= lines.length).ok_or_else(wrong)?;
    let is_result = |shape: &ArrayShape, ty: ElementType| {
        let (outer, last) = (&array.dims[..array.rank() - 1], k as i64);
        shape.element_type == ty && shape.dims.split_last() == Some((&last, outer))
    };
    let &[values, places] = &operation.results()[..] else {
        return Err(Unsupported::new("these results: expected values and positions"));
    };
    if !is_result(values, array.element_type) || !is_result(places, ElementType::S32) {
        return Err(Unsupported::new(format!(
            "the results {values} and {places} of {array}: expected values and s32 positions"
        )));
    }
    if i32::try_from(lines.length).is_err() {
        return Err(Unsupported::new("a top-k of lines of more than 2^31 elements"));
    }
    let order = Order::new(array.element_type, MergedValues::default(), false, !largest);
    let order = order.ok_or_else(|| Unsupported::new(format!("a top-k of {}", array.element_type)))?;
    Ok(Box::new(TopK { lines, k, order }))
}

impl Routine for TopK {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], context: &Context<'_>) -> Result<(), RoutineError> {
        if self.k == 0 {
            return Ok(());
        }
        for_each_part(context.workers, self.lines, PART, arguments, results, |arrays, results| {
            let ([array], [values, places]) = (arrays, results) else { return Err(RoutineError::Buffer) };
            let places = elements_mut::<i32>(places)?;
            match self.order.bytes {
                1 => self.lines_of::<u8>(elements(array)?, elements_mut(values)?, places),
                2 => self.lines_of::<u16>(elements(array)?, elements_mut(values)?, places),
                4 => self.lines_of::<u32>(elements(array)?, elements_mut(values)?, places),
                _ => self.lines_of::<u64>(elements(array)?, elements_mut(values)?, places),
            }
        })
    }

    fn describe(&self) -> String {
        if self.is_bound_worth_finding() {
            format!("top {} by the maxima of blocks of {BLOCK}", self.k)
        } else {
            format!("top {} by selection", self.k)
        }
    }
}

/// The code of an element, and the inverted bits of its position. The inversion makes the first of
/// several elements with equal codes the largest candidate.
type Candidate<B> = (B, u32);

impl TopK {
    fn is_bound_worth_finding(&self) -> bool {
        self.lines.length / BLOCK >= self.k.saturating_mul(BLOCKS_PER_RESULT)
    }

    fn lines_of<B: Bits>(&self, array: &[B], values: &mut [B], places: &mut [i32]) -> Result<(), RoutineError> {
        let length = self.lines.length;
        let mut maxima: Vec<B> = scratch(length.div_ceil(BLOCK))?;
        let mut sorted: Vec<B> = scratch(maxima.len())?;
        let mut candidates: Vec<Candidate<B>> = Vec::new();
        let memory = RoutineError::Memory { bytes: (length * size_of::<Candidate<B>>()) as u64 };
        candidates.try_reserve(length).map_err(|_| memory)?;
        let lines =
            array.chunks_exact(length).zip(values.chunks_exact_mut(self.k)).zip(places.chunks_exact_mut(self.k));
        for ((line, values), places) in lines {
            candidates.clear();
            if self.is_bound_worth_finding() {
                self.above_bound(line, &mut maxima, &mut sorted, &mut candidates);
            } else {
                self.order.encode(line, |at, code| candidates.push((code, !(at as u32))));
            }
            let last = self.k - 1;
            if candidates.len() > self.k {
                candidates.select_nth_unstable_by(last, |a, b| b.cmp(a));
                candidates.truncate(self.k);
            }
            candidates.sort_unstable_by(|a, b| b.cmp(a));
            for ((value, place), &(_, position)) in values.iter_mut().zip(places).zip(&candidates) {
                (*value, *place) = (line[!position as usize], !position as i32);
            }
        }
        Ok(())
    }

    /// Adds to `candidates` every element that is not smaller than the `k`-th largest of the
    /// blocks' maxima.
    fn above_bound<B: Bits>(&self, line: &[B], maxima: &mut [B], sorted: &mut [B], candidates: &mut Vec<Candidate<B>>) {
        for (block, maximum) in line.chunks(BLOCK).zip(maxima.iter_mut()) {
            *maximum = self.maximum(block);
        }
        sorted.copy_from_slice(maxima);
        let (_, &mut bound, _) = sorted.select_nth_unstable_by(self.k - 1, |a, b| b.cmp(a));
        for (number, (block, _)) in
            line.chunks(BLOCK).zip(maxima.iter()).enumerate().filter(|(_, (_, max))| **max >= bound)
        {
            self.order.encode(block, |at, code| {
                if code >= bound {
                    candidates.push((code, !((number * BLOCK + at) as u32)));
                }
            });
        }
    }

    fn maximum<B: Bits>(&self, block: &[B]) -> B {
        let mut maximum = B::ZERO;
        self.order.encode(block, |_, code| maximum = maximum.max(code));
        maximum
    }
}
