//! Expands `select-and-scatter` in two steps. First, a `reduce-window` computes the index that each
//! window selects. Then, for each window that covers an element, a comparison and a combination
//! update the element.
//!
//! ```text
//! r = select-and-scatter(x, s, init)  =>  at = reduce-window(x, iota), indices that the windows select
//!                                         r  = init, and for each window over an element, first to last:
//!                                              select(at = iota, scatter(r, s), r)
//! ```
//!
//! In one dimension, with `k` elements in a window and a stride of `d`, at most `ceil(k / d)`
//! windows cover an element. The last window that covers an element has number
//! `floor((element + padding) / d)`. The other windows that cover the element directly precede this
//! last window. The expansion therefore writes each entry of `at`, and each entry of `s`, not once
//! but `d` times. An element and the last window over this element then have the same index. For
//! each earlier window, the expansion shifts the entries by one window.

use fusebox_core::hlo::{
    ArrayShape, BinaryOp, Combiner, Comparison, Computation, ComputationId, ElementType, InstrId, Instruction, Module,
    Op, PaddingDim, Shape, SliceDim, Window, WindowDim,
};
use fusebox_edit::{Builder, Rewrite, rewrite};

use crate::CompileError;
use crate::fuse::Claims;
use crate::roles::{Role, in_role};

/// Largest number of windows that cover one element. Each of these windows adds several
/// instructions.
const MOST: i64 = 32;
/// Largest padding for which all positions fit into the integer type in which they are computed.
const FURTHEST: u64 = 1 << 40;

/// Rewrites each `select-and-scatter` that thunks execute, unless an emitter claims it.
pub fn run(module: &mut Module, claims: &mut Claims) -> Result<(), CompileError> {
    for id in in_role(module, Role::Sequence) {
        if module.computation(id).instructions.iter().any(|it| matches!(it.op, Op::SelectAndScatter { .. })) {
            rewrite(module, id, |edit, id, instruction| {
                let is_rewritten = matches!(instruction.op, Op::SelectAndScatter { .. })
                    && !claims.is_hero(edit.module(), edit.old(), id);
                let expanded = is_rewritten.then(|| in_two_steps(edit, instruction, ValidityMasks::default()));
                Ok::<_, CompileError>(expanded.flatten())
            })?;
        }
    }
    Ok(())
}

/// Masks of the valid elements of the array and of the source, if their sizes are dynamic.
#[derive(Clone, Copy, Default)]
pub struct ValidityMasks {
    pub elements: Option<InstrId>,
    pub windows: Option<InstrId>,
}

/// Returns the replacement of a `select-and-scatter`. Returns `None` for instructions other than
/// `select-and-scatter`. Also returns `None` if the windows are dilated, or if the stride exceeds
/// the number of elements. Also returns `None` if more than `MOST` windows cover an element, or if
/// the scatter's combiner is not a single operation.
pub fn in_two_steps(edit: &mut Rewrite, instruction: &Instruction, valid: ValidityMasks) -> Option<InstrId> {
    let operands = edit.operands(instruction).try_into().ok()?;
    Some(SelectAndScatter::of(edit, instruction, valid)?.in_two_steps(edit, operands))
}

/// A `select-and-scatter` to rewrite.
struct SelectAndScatter<'m> {
    window: &'m Window,
    select: ComputationId,
    scatter: BinaryOp,
    array: &'m ArrayShape,
    source: &'m ArrayShape,
    /// Type of positions in the array.
    place: ElementType,
    valid: ValidityMasks,
}

impl<'m> SelectAndScatter<'m> {
    fn of(edit: &Rewrite<'m>, instruction: &'m Instruction, valid: ValidityMasks) -> Option<Self> {
        let Op::SelectAndScatter { window, select, scatter } = &instruction.op else { return None };
        let array_of = |number: usize| edit.old().instruction(*instruction.operands.get(number)?).shape.as_array();
        let (array, source) = (array_of(0)?, array_of(1)?);
        let is_plain = |it: &WindowDim| it.window_dilation == 1 && it.base_dilation == 1 && !it.reversal;
        let windows = window.dims.iter().map(windows_over).fold(1, i64::saturating_mul);
        let fits = i32::try_from(array.element_count()).is_ok();
        let place = if fits { ElementType::S32 } else { ElementType::S64 };
        let scatter = Combiner::of(edit.module().computation(*scatter))?.in_order()?;
        // The expansion repeats each window `stride` times, so the stride must not be arbitrarily
        // large.
        let are_near = |(it, &size): (&WindowDim, &i64)| it.stride <= size && it.padding_low.unsigned_abs() <= FURTHEST;
        let is_rewritten = window.dims.len() == array.dims.len()
            && window.dims.iter().all(is_plain)
            && window.dims.iter().zip(&array.dims).all(are_near)
            && windows <= MOST;
        let select = *select;
        is_rewritten.then_some(SelectAndScatter { window, select, scatter, array, source, place, valid })
    }

    fn in_two_steps(&self, edit: &mut Builder, [operand, source, initial]: [InstrId; 3]) -> InstrId {
        let own = self.own_places(edit);
        // A position that no element has.
        let nowhere = edit.integer(self.place, -1);
        let places = where_valid(edit, self.valid.elements, own, nowhere);
        let selected = self.selected(edit, [operand, places, initial, nowhere]);
        let selected = where_valid(edit, self.valid.windows, selected, nowhere);
        let mut result = edit.spread(initial, &self.array.dims);
        for back in self.windows_further_back() {
            let at = self.lying_over(edit, selected, nowhere, &back);
            let value = self.lying_over(edit, source, initial, &back);
            let hits = edit.compare(Comparison::Eq, at, own);
            let with = edit.binary(self.scatter, result, value);
            result = edit.select(hits, with, result);
        }
        result
    }

    /// Returns the row-major position of each element.
    fn own_places(&self, edit: &mut Builder) -> InstrId {
        let line = edit.iota(self.place, &[self.array.element_count()], 0);
        edit.reshape(line, &self.array.dims)
    }

    /// Returns, for each window, the position of the element that the window selects, or -1 if the
    /// window covers no element.
    fn selected(&self, edit: &mut Builder, operands: [InstrId; 4]) -> InstrId {
        let select = edit.module().computation(self.select);
        let [_, _, initial, nowhere] = operands;
        let scalars = [initial, nowhere, initial, nowhere].map(|id| edit.shape(id).clone());
        let may_be_missing = self.valid.elements.is_some();
        let to_apply = edit.computation(&format!("{}.at", select.name), |edit| {
            selecting_combiner(edit, select, scalars, may_be_missing)
        });
        let both = edit.add(Op::ReduceWindow { window: self.window.clone(), to_apply }, operands);
        edit.element(both, 1)
    }

    /// Returns the windows that cover an element, in the order of the source. Each window is
    /// described by its distance, as a number of windows along each dimension, from the last window
    /// that covers the element.
    fn windows_further_back(&self) -> Vec<Vec<i64>> {
        let mut all = vec![Vec::new()];
        for dim in &self.window.dims {
            let one_more = |back: &Vec<i64>| {
                let back = back.clone();
                (0..windows_over(dim)).rev().map(move |more| [back.as_slice(), &[more]].concat())
            };
            all = all.iter().flat_map(one_more).collect();
        }
        all
    }

    /// Returns, for each element, the entry of one window that covers it: the window that lies
    /// `back` windows before the last window that covers the element. Returns `fill` for an element
    /// for which no such window exists.
    fn lying_over(&self, edit: &mut Builder, of_windows: InstrId, fill: InstrId, back: &[i64]) -> InstrId {
        let dims = self.window.dims.iter().zip(back).zip(self.source.dims.iter().zip(&self.array.dims));
        let lines: Vec<WindowExpansion> = dims
            .map(|((dim, &back), (&windows, &elements))| WindowExpansion::new(dim, back, windows, elements))
            .collect();
        let padded = edit.pad(of_windows, fill, lines.iter().map(|it| it.padding).collect());
        let repeated = repeated_by_stride(edit, padded, &lines);
        let part = |(it, &elements): (&WindowExpansion, &i64)| SliceDim {
            start: it.start,
            limit: it.start + elements,
            stride: 1,
        };
        edit.slice(repeated, lines.iter().zip(&self.array.dims).map(part).collect())
    }
}

/// If `valid` is false for a position, replaces the position by `nowhere`.
fn where_valid(edit: &mut Builder, valid: Option<InstrId>, places: InstrId, nowhere: InstrId) -> InstrId {
    let Some(valid) = valid else { return places };
    let dims = edit.dims(places);
    let nowhere = edit.spread(nowhere, &dims);
    edit.select(valid, places, nowhere)
}

/// Maps the windows along a dimension to the elements along this dimension. The expansion first
/// shifts the windows, so that the window over the first element comes first. Then the expansion
/// repeats each window, and slices the result.
struct WindowExpansion {
    padding: PaddingDim,
    /// Number of windows, including the padding.
    windows: i64,
    stride: i64,
    /// Start of the slice.
    start: i64,
}

impl WindowExpansion {
    fn new(dim: &WindowDim, back: i64, windows: i64, elements: i64) -> WindowExpansion {
        let stride = dim.stride.max(1);
        let first = dim.padding_low.div_euclid(stride);
        let last = (dim.padding_low + elements - 1).div_euclid(stride);
        let (low, all) = (back - first, last - first + 1);
        let padding = PaddingDim { low, high: all - windows - low, interior: 0 };
        WindowExpansion { padding, windows: all, stride, start: dim.padding_low - first * stride }
    }
}

/// Repeats each window's entry `stride` times, one after the other.
fn repeated_by_stride(edit: &mut Builder, of_windows: InstrId, lines: &[WindowExpansion]) -> InstrId {
    let (mut dimensions, mut repeated, mut joined) = (Vec::new(), Vec::new(), Vec::new());
    for &WindowExpansion { windows, stride, .. } in lines {
        dimensions.push(repeated.len() as i64);
        repeated.push(windows);
        repeated.extend((stride > 1).then_some(stride));
        joined.push(windows * stride);
    }
    let repeated = edit.broadcast(of_windows, &repeated, &dimensions);
    edit.reshape(repeated, &joined)
}

/// Returns the largest number of windows that cover an element in this dimension.
fn windows_over(dim: &WindowDim) -> i64 {
    dim.size.saturating_add(dim.stride - 1) / dim.stride.max(1)
}

/// Builds a combiner of two elements with their positions. If both elements exist, the combiner
/// returns the element that `select` prefers. If the first element does not exist, the combiner
/// returns the second element. If only the first element exists, the combiner returns the first
/// element.
fn selecting_combiner(edit: &mut Builder, select: &Computation, scalars: [Shape; 4], may_be_missing: bool) -> InstrId {
    let [a, at_a, b, at_b] = scalars.map(|scalar| edit.parameter(scalar));
    let first = edit.filled_like(at_a, 0.0);
    let is_any = edit.compare(Comparison::Ge, at_a, first);
    let mut selects = edit.splice(select, &[a, b]);
    if may_be_missing {
        let is_missing = edit.compare(Comparison::Lt, at_b, first);
        selects = edit.binary(BinaryOp::Or, is_missing, selects);
    }
    let is_kept = edit.binary(BinaryOp::And, is_any, selects);
    let value = edit.select(is_kept, a, b);
    let at = edit.select(is_kept, at_a, at_b);
    edit.tuple([value, at])
}
