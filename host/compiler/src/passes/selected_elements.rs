//! Expands `select-and-scatter`: first the selected index of each window (`reduce-window`), then a
//! comparison and a combination for each window that covers an element.
//!
//! ```text
//! r = select-and-scatter(x, s, init)  =>  at = reduce-window(x, iota), indices that the windows select
//!                                         r  = init, and for each window over an element, first to last:
//!                                              select(at = iota, scatter(r, s), r)
//! ```
//!
//! In one dimension, with `k` elements in a window and a stride of `d`, at most `ceil(k / d)`
//! windows cover an element. The last of them has number `floor((element + padding) / d)`, and the
//! others directly precede it. The expansion therefore repeats each entry of `at` and `s` `d`
//! times, so that an element and the last window over it have the same index. For each earlier
//! window, it shifts the entries by one window.

use fusebox_core::hlo::{
    ArrayLiteral, ArrayShape, BinaryOp, Comparison, Computation, ComputationId, ElementType, InstrId, Instruction,
    Literal, Module, Op, PaddingDim, Shape, SliceDim, Window, WindowDim,
};

use super::added_computations::{AddedComputations, ComputationDraft};
use super::identity::combining;
use crate::CompileError;
use crate::rebuild::Rebuild;
use crate::roles::{Role, in_role};

/// Largest number of windows that cover one element. Each of them adds several instructions.
const MOST: i64 = 32;
/// Largest padding for which all positions fit into the integers that compute them.
const FURTHEST: u64 = 1 << 40;

/// Rewrites each `select-and-scatter` that thunks execute.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    let mut added = AddedComputations::to(module);
    let mut rewritten = Vec::new();
    for id in in_role(module, Role::Sequence) {
        let old = module.computation(id);
        if !old.instructions.iter().any(|it| matches!(it.op, Op::SelectAndScatter { .. })) {
            continue;
        }
        let new = Rebuild::each(old, |rebuild, _, instruction| {
            Ok::<_, CompileError>(in_two_steps(rebuild, module, &mut added, old, instruction, ValidityMasks::default()))
        })?;
        rewritten.push((id, new));
    }
    for (id, new) in rewritten {
        module.computations[id.index()] = new;
    }
    added.put_into(module);
    Ok(())
}

/// Masks of the valid elements of the array and of the source, if their sizes are dynamic.
#[derive(Clone, Copy, Default)]
pub struct ValidityMasks {
    pub elements: Option<InstrId>,
    pub windows: Option<InstrId>,
}

/// Returns the replacement of a `select-and-scatter`. Returns `None` for other instructions, if the
/// windows are dilated, if too many of them cover an element, if the stride exceeds the number of
/// elements, or if the scatter's combiner is not one operation.
pub fn in_two_steps(
    rebuild: &mut Rebuild,
    module: &Module,
    added: &mut AddedComputations,
    old: &Computation,
    origin: &Instruction,
    valid: ValidityMasks,
) -> Option<InstrId> {
    SelectAndScatter::of(module, old, origin, valid)?.in_two_steps(rebuild, module, added)
}

/// A `select-and-scatter` to rewrite.
struct SelectAndScatter<'m> {
    origin: &'m Instruction,
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
    fn of(module: &'m Module, old: &'m Computation, origin: &'m Instruction, valid: ValidityMasks) -> Option<Self> {
        let Op::SelectAndScatter { window, select, scatter } = &origin.op else { return None };
        let array_of = |number: usize| old.instruction(*origin.operands.get(number)?).shape.as_array();
        let (array, source) = (array_of(0)?, array_of(1)?);
        let is_plain = |it: &WindowDim| it.window_dilation == 1 && it.base_dilation == 1 && !it.reversal;
        let windows = window.dims.iter().map(windows_over).fold(1, i64::saturating_mul);
        let fits = i32::try_from(array.element_count()).is_ok();
        let place = if fits { ElementType::S32 } else { ElementType::S64 };
        let scatter = combining(module.computation(*scatter))?;
        // The expansion repeats each window `stride` times, and a stride may be any number.
        let are_near = |(it, &size): (&WindowDim, &i64)| it.stride <= size && it.padding_low.unsigned_abs() <= FURTHEST;
        let is_rewritten = window.dims.len() == array.dims.len()
            && window.dims.iter().all(is_plain)
            && window.dims.iter().zip(&array.dims).all(are_near)
            && windows <= MOST;
        is_rewritten.then_some(SelectAndScatter {
            origin,
            window,
            select: *select,
            scatter,
            array,
            source,
            place,
            valid,
        })
    }

    fn in_two_steps(&self, rebuild: &mut Rebuild, module: &Module, added: &mut AddedComputations) -> Option<InstrId> {
        let [operand, source, initial] = rebuild.operands(self.origin)[..] else { return None };
        let own = self.own_places(rebuild);
        let nowhere = self.nowhere(rebuild);
        let places = self.where_valid(rebuild, self.valid.elements, own, nowhere);
        let selected = self.selected(rebuild, module, added, [operand, places, initial, nowhere]);
        let selected = self.where_valid(rebuild, self.valid.windows, selected, nowhere);
        let mut result = self.add(rebuild, Op::Broadcast { dimensions: Vec::new() }, self.array.clone(), vec![initial]);
        for back in self.windows_further_back() {
            let at = self.lying_over(rebuild, selected, nowhere, &back);
            let value = self.lying_over(rebuild, source, initial, &back);
            let op = Op::Compare { direction: Comparison::Eq, order: None };
            let hits = self.add(rebuild, op, self.of_type(ElementType::Pred), vec![at, own]);
            let with = self.add(rebuild, Op::Binary(self.scatter), self.array.clone(), vec![result, value]);
            result = self.add(rebuild, Op::Select, self.array.clone(), vec![hits, with, result]);
        }
        Some(result)
    }

    /// Sets positions to `nowhere` where they are not valid.
    fn where_valid(&self, rebuild: &mut Rebuild, valid: Option<InstrId>, places: InstrId, nowhere: InstrId) -> InstrId {
        let (Some(valid), Some(shape)) = (valid, rebuild.instruction(places).shape.as_array().cloned()) else {
            return places;
        };
        let nowhere = self.add(rebuild, Op::Broadcast { dimensions: Vec::new() }, shape.clone(), vec![nowhere]);
        self.add(rebuild, Op::Select, shape, vec![valid, places, nowhere])
    }

    /// Returns the row-major position of each element.
    fn own_places(&self, rebuild: &mut Rebuild) -> InstrId {
        let line = ArrayShape::new(self.place, [self.array.element_count()]);
        let line = self.add(rebuild, Op::Iota { dimension: 0 }, line, Vec::new());
        self.add(rebuild, Op::Reshape, self.of_type(self.place), vec![line])
    }

    /// Returns for each window the position of the element that the window selects, or -1 if the
    /// window covers no element.
    fn selected(
        &self,
        rebuild: &mut Rebuild,
        module: &Module,
        added: &mut AddedComputations,
        operands: [InstrId; 4],
    ) -> InstrId {
        let select = module.computation(self.select);
        let name = format!("{}.at.{}", select.name, added.next().index());
        let combiner =
            selecting_combiner(select, self.array.element_type, self.place, name, self.valid.elements.is_some());
        let to_apply = added.add(self.select, combiner);
        let of_windows = |ty| ArrayShape::new(ty, self.source.dims.clone());
        let (value, at) = (of_windows(self.array.element_type), of_windows(self.place));
        let op = Op::ReduceWindow { window: self.window.clone(), to_apply };
        let shape = Shape::Tuple(vec![Shape::Array(value), Shape::Array(at.clone())]);
        let both = rebuild.add(self.origin, op, shape, operands.to_vec());
        self.add(rebuild, Op::GetTupleElement { index: 1 }, at, vec![both])
    }

    /// Returns the windows that cover an element, in the order of the source. Each window is
    /// described by its distance from the last of these windows, along each dimension, as a number
    /// of windows.
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

    /// Returns for each element the entry of one window that covers it: the window that is `back`
    /// windows before the last one. Returns `fill` where this window does not exist.
    fn lying_over(&self, rebuild: &mut Rebuild, of_windows: InstrId, fill: InstrId, back: &[i64]) -> InstrId {
        let ty = element_type(rebuild, of_windows);
        let dims = self.window.dims.iter().zip(back).zip(self.source.dims.iter().zip(&self.array.dims));
        let lines: Vec<WindowExpansion> = dims
            .map(|((dim, &back), (&windows, &elements))| WindowExpansion::new(dim, back, windows, elements))
            .collect();
        let mut made = of_windows;
        if lines.iter().any(|it| it.padding.low != 0 || it.padding.high != 0) {
            let dims = lines.iter().map(|it| it.padding).collect();
            let padded: Vec<i64> = lines.iter().map(|it| it.windows).collect();
            made = self.add(rebuild, Op::Pad { dims }, ArrayShape::new(ty, padded), vec![made, fill]);
        }
        made = self.repeated_by_stride(rebuild, made, &lines);
        let is_whole = |(it, &elements): (&WindowExpansion, &i64)| it.start == 0 && it.windows * it.stride == elements;
        if !lines.iter().zip(&self.array.dims).all(is_whole) {
            let part = |(it, &elements): (&WindowExpansion, &i64)| SliceDim {
                start: it.start,
                limit: it.start + elements,
                stride: 1,
            };
            let dims = lines.iter().zip(&self.array.dims).map(part).collect();
            made = self.add(rebuild, Op::Slice { dims }, self.of_type(ty), vec![made]);
        }
        made
    }

    /// Repeats each window's entry `stride` times, one after the other.
    fn repeated_by_stride(&self, rebuild: &mut Rebuild, of_windows: InstrId, lines: &[WindowExpansion]) -> InstrId {
        if lines.iter().all(|it| it.stride == 1) {
            return of_windows;
        }
        let ty = element_type(rebuild, of_windows);
        let (mut dimensions, mut repeated, mut joined) = (Vec::new(), Vec::new(), Vec::new());
        for &WindowExpansion { windows, stride, .. } in lines {
            dimensions.push(repeated.len() as i64);
            repeated.push(windows);
            repeated.extend((stride > 1).then_some(stride));
            joined.push(windows * stride);
        }
        let shape = ArrayShape::new(ty, repeated);
        let repeated = self.add(rebuild, Op::Broadcast { dimensions }, shape, vec![of_windows]);
        self.add(rebuild, Op::Reshape, ArrayShape::new(ty, joined), vec![repeated])
    }

    fn of_type(&self, ty: ElementType) -> ArrayShape {
        ArrayShape::new(ty, self.array.dims.clone())
    }

    /// Returns a position that no element has.
    fn nowhere(&self, rebuild: &mut Rebuild) -> InstrId {
        self.add(rebuild, place_constant(self.place, -1), ArrayShape::new(self.place, []), Vec::new())
    }

    fn add(&self, rebuild: &mut Rebuild, op: Op, shape: ArrayShape, operands: Vec<InstrId>) -> InstrId {
        rebuild.add(self.origin, op, Shape::Array(shape), operands)
    }
}

/// Maps the windows of a dimension to its elements. The expansion shifts the windows, so that the
/// window over the first element comes first. Then it repeats each window, and slices the result.
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

/// Returns the largest number of windows that cover an element in this dimension.
fn windows_over(dim: &WindowDim) -> i64 {
    dim.size.saturating_add(dim.stride - 1) / dim.stride.max(1)
}

fn element_type(rebuild: &Rebuild, id: InstrId) -> ElementType {
    rebuild.instruction(id).shape.as_array().map_or(ElementType::Pred, |array| array.element_type)
}

/// Returns a combiner of two elements with their positions. The combiner returns the first element
/// if this element exists and `select` prefers it, or if the second element does not exist.
fn selecting_combiner(
    select: &Computation,
    element: ElementType,
    place_type: ElementType,
    name: String,
    may_be_missing: bool,
) -> Computation {
    let [element, place, pred] = [element, place_type, ElementType::Pred].map(|ty| Shape::array(ty, []));
    let mut draft = ComputationDraft::default();
    let mut parameter = |shape: &Shape| draft.parameter(shape.clone());
    let [a, at_a, b, at_b] = [parameter(&element), parameter(&place), parameter(&element), parameter(&place)];
    let first = draft.add("first", place.clone(), place_constant(place_type, 0), Vec::new());
    let compared = |direction| Op::Compare { direction, order: None };
    let is_any = draft.add("is_any", pred.clone(), compared(Comparison::Ge), vec![at_a, first]);
    let mut selects = draft.splice(select, &[a, b]);
    if may_be_missing {
        let is_missing = draft.add("is_missing", pred.clone(), compared(Comparison::Lt), vec![at_b, first]);
        selects = draft.add("is_better", pred.clone(), Op::Binary(BinaryOp::Or), vec![is_missing, selects]);
    }
    let is_kept = draft.add("is_kept", pred, Op::Binary(BinaryOp::And), vec![is_any, selects]);
    let value = draft.add("value", element.clone(), Op::Select, vec![is_kept, a, b]);
    let at = draft.add("at", place.clone(), Op::Select, vec![is_kept, at_a, at_b]);
    draft.add("result", Shape::Tuple(vec![element, place]), Op::Tuple, vec![value, at]);
    draft.finish(name, select)
}

fn place_constant(place: ElementType, value: i64) -> Op {
    let data = value.to_le_bytes()[..place.byte_size()].to_vec();
    Op::Constant(Literal::Array(ArrayLiteral { element_type: place, dims: Vec::new(), data: data.into() }))
}
