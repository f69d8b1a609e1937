//! Replaces gathers and scatters of a single window by slices and by updates in-place.
//!
//! ```text
//! gather(x, at)        reshape(dynamic-slice(x, at))
//! scatter(x, at, u)    dynamic-update-slice(x, combine(dynamic-slice(x, at), u), at)
//! ```
//!
//! If a window would not fit into the array, a gather moves the window until it fits, as a dynamic
//! slice does. A scatter skips a window that does not fit. If a scatter's window does not fit, the
//! update therefore writes the old elements.

use fusebox_core::analysis::{Combination, ScatterShape, SliceStart};
use fusebox_core::hlo::{
    ArrayLiteral, BinaryOp, Comparison, ElementType, GatherDims, InstrId, Instruction, Literal, Op, SliceDim,
};
use fusebox_edit::{Builder, Rewrite};

use super::slices;

pub fn simpler(edit: &mut Rewrite, instruction: &Instruction) -> Option<InstrId> {
    match &instruction.op {
        Op::Gather(dims) => gather(edit, instruction, dims),
        Op::Scatter { .. } => scatter(edit, instruction),
        _ => None,
    }
}

fn gather(edit: &mut Rewrite, instruction: &Instruction, dims: &GatherDims) -> Option<InstrId> {
    let [array, indices] = edit.operands(instruction)[..] else { return None };
    let places = IndexVector::of(edit, indices, dims.start_index_map.len())?;
    let component = |d: usize| dims.start_index_map.iter().position(|&mapped| mapped == d as i64);
    let starts: Vec<WindowStart> = (0..dims.slice_sizes.len()).map(|d| places.start(component(d))).collect();
    let part = places.part(edit, array, &starts, &dims.slice_sizes);
    Some(edit.reshape(part, &instruction.shape.as_array()?.dims))
}

fn scatter(edit: &mut Rewrite, instruction: &Instruction) -> Option<InstrId> {
    let shape = ScatterShape::of(edit.old(), instruction).filter(|shape| shape.slices() == 1 && shape.can_fit())?;
    let [array, indices, update] = edit.operands(instruction)[..] else { return None };
    let [combination] = Combination::of(edit.module(), instruction)[..] else { return None };
    match combination {
        Combination::Keep => return Some(array),
        Combination::Replace | Combination::Binary(_) => {}
        Combination::Alone | Combination::Joint => return None,
    }
    let places = IndexVector::of(edit, indices, shape.components.len())?;
    let starts: Vec<WindowStart> = shape
        .operand
        .iter()
        .map(|dim| match dim.start {
            SliceStart::Component(component) => places.start(Some(component)),
            SliceStart::Zero | SliceStart::Batch(_) => WindowStart::At(0),
        })
        .collect();
    let last: Vec<i64> = shape.operand.iter().map(|dim| dim.last_start()).collect();
    let is_outside =
        |(start, &last): (&WindowStart, &i64)| matches!(start, WindowStart::At(at) if !(0..=last).contains(at));
    if starts.iter().zip(&last).any(is_outside) {
        return Some(array);
    }

    let sizes: Vec<i64> = shape.operand.iter().map(|dim| dim.window).collect();
    let fits = places.fits(edit, &starts, &last);
    let mut value = edit.reshape(update, &sizes);
    if fits.is_some() || combination != Combination::Replace {
        let before = places.part(edit, array, &starts, &sizes);
        if let Combination::Binary(op) = combination {
            value = edit.binary(op, before, value);
        }
        if let Some(fits) = fits {
            value = edit.select(fits, value, before);
        }
    }
    if *edit.shape(value) == instruction.shape {
        return Some(value);
    }
    let starts = places.instructions(edit, &starts);
    Some(edit.dynamic_update_slice(array, value, &starts))
}

/// Start of a window in one dimension.
#[derive(Clone, Copy)]
enum WindowStart {
    At(i64),
    /// The window starts at the value of an instruction.
    Computed(InstrId),
}

/// The only index vector of a gather or scatter.
struct IndexVector {
    element_type: ElementType,
    components: Vec<WindowStart>,
}

impl IndexVector {
    /// Returns the only index vector of a gather or scatter. Returns `None` if the gather or
    /// scatter has several index vectors.
    fn of(edit: &mut Builder, indices: InstrId, count: usize) -> Option<IndexVector> {
        let array = edit.array(indices)?;
        let element_type = array.element_type;
        if array.element_count() != count as i64 {
            return None;
        }
        let component = |number: usize| match element(edit, indices, number) {
            IndexElement::Known(value) => WindowStart::At(value),
            IndexElement::Of(id) => {
                let id = edit.reshape(id, &[]);
                slices::integer(edit, id).map_or(WindowStart::Computed(id), WindowStart::At)
            }
            IndexElement::Unknown => {
                let line = edit.reshape(indices, &[count as i64]);
                let at = number as i64;
                let one = slices::part(edit, line, vec![SliceDim { start: at, limit: at + 1, stride: 1 }]);
                WindowStart::Computed(edit.reshape(one, &[]))
            }
        };
        Some(IndexVector { element_type, components: (0..count).map(component).collect() })
    }

    /// Returns the start that a component of the index vector states, or 0 if there is no
    /// component.
    fn start(&self, component: Option<usize>) -> WindowStart {
        component.and_then(|component| self.components.get(component)).copied().unwrap_or(WindowStart::At(0))
    }

    fn instructions(&self, edit: &mut Builder, starts: &[WindowStart]) -> Vec<InstrId> {
        let instruction = |start: &WindowStart| match *start {
            WindowStart::At(value) => edit.integer(self.element_type, value),
            WindowStart::Computed(id) => id,
        };
        starts.iter().map(instruction).collect()
    }

    /// Returns the window of the array with these starts. If the window would not fit into the
    /// array, moves the window until it fits.
    fn part(&self, edit: &mut Builder, array: InstrId, starts: &[WindowStart], sizes: &[i64]) -> InstrId {
        let starts = self.instructions(edit, starts);
        slices::window(edit, array, &starts, sizes)
    }

    /// Returns an instruction that computes whether the window fits. `None` if the window always
    /// fits.
    fn fits(&self, edit: &mut Builder, starts: &[WindowStart], last: &[i64]) -> Option<InstrId> {
        let mut all: Option<InstrId> = None;
        for (start, &last) in starts.iter().zip(last) {
            let WindowStart::Computed(start) = *start else { continue };
            let bounds = [(Comparison::Ge, 0), (Comparison::Le, last)];
            for (direction, bound) in bounds {
                if self.always_holds(direction, bound) {
                    continue;
                }
                let bound = edit.integer(self.element_type, bound);
                let one = edit.compare(direction, start, bound);
                all = Some(match all {
                    Some(all) => edit.binary(BinaryOp::And, all, one),
                    None => one,
                });
            }
        }
        all
    }

    /// Whether the comparison holds for every value of the index type.
    fn always_holds(&self, direction: Comparison, bound: i64) -> bool {
        let is_signed = self.element_type.is_signed_integer();
        match direction {
            Comparison::Ge => !is_signed,
            _ => {
                let bits = self.element_type.bits() - u32::from(is_signed);
                bits < 63 && bound >= (1i64 << bits) - 1
            }
        }
    }
}

/// An element of an array of indices.
enum IndexElement {
    Known(i64),
    /// The index is the only element of an instruction's result.
    Of(InstrId),
    Unknown,
}

/// Looks up an element of an array of indices. Looks through reshapes, broadcasts and
/// concatenations.
fn element(edit: &Builder, id: InstrId, number: usize) -> IndexElement {
    let instruction = edit.instruction(id);
    let Some(array) = instruction.shape.as_array() else { return IndexElement::Unknown };
    match (&instruction.op, &instruction.operands[..]) {
        (Op::Constant(Literal::Array(value)), _) => {
            let size = value.element_type.byte_size();
            let data = value.data.get(number * size..(number + 1) * size).unwrap_or_default().to_vec();
            let one = ArrayLiteral { element_type: value.element_type, dims: Vec::new(), data: data.into() };
            one.as_integer().map_or(IndexElement::Unknown, IndexElement::Known)
        }
        (Op::Reshape, &[source]) => element(edit, source, number),
        (Op::Broadcast { .. }, &[source]) if element_count(edit, source) == Some(1) => element(edit, source, 0),
        (Op::Concatenate { .. }, operands)
            if operands.len() as i64 == array.element_count()
                && operands.iter().all(|&one| element_count(edit, one) == Some(1)) =>
        {
            element(edit, operands[number], 0)
        }
        _ if array.element_count() == 1 => IndexElement::Of(id),
        _ => IndexElement::Unknown,
    }
}

fn element_count(edit: &Builder, id: InstrId) -> Option<i64> {
    Some(edit.array(id)?.element_count())
}
