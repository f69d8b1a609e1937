//! Replaces gathers and scatters of a single window by slices and by updates in-place.
//!
//! ```text
//! gather(x, at)        reshape(dynamic-slice(x, at))
//! scatter(x, at, u)    dynamic-update-slice(x, combine(dynamic-slice(x, at), u), at)
//! ```
//!
//! A gather moves a window that would not fit, as a dynamic slice does. A scatter skips a window
//! that does not fit. In this case the update writes the old elements.

use fusebox_core::analysis::{Combination, ScatterShape, SliceStart};
use fusebox_core::hlo::{
    ArrayLiteral, BinaryOp, Comparison, Computation, ElementType, GatherDims, InstrId, Instruction, Literal, Module,
    Op, Shape,
};

use super::slices;
use crate::rebuild::Rebuild;

/// Simplifies an instruction of the computation `old`.
pub fn simpler(
    rebuild: &mut Rebuild,
    module: &Module,
    old: &Computation,
    instruction: &Instruction,
) -> Option<InstrId> {
    match &instruction.op {
        Op::Gather(dims) => gather(rebuild, instruction, dims),
        Op::Scatter { .. } => scatter(rebuild, module, old, instruction),
        _ => None,
    }
}

fn gather(rebuild: &mut Rebuild, instruction: &Instruction, dims: &GatherDims) -> Option<InstrId> {
    let &[array, indices] = rebuild.operands(instruction).as_slice() else { return None };
    let places = IndexVector::of(rebuild, instruction, indices, dims.start_index_map.len())?;
    let component = |d: usize| dims.start_index_map.iter().position(|&mapped| mapped == d as i64);
    let starts: Vec<WindowStart> = (0..dims.slice_sizes.len()).map(|d| places.start(component(d))).collect();
    let part = places.part(rebuild, instruction, array, &starts, &dims.slice_sizes);
    if rebuild.instruction(part).shape == instruction.shape {
        Some(part)
    } else {
        Some(rebuild.add(instruction, Op::Reshape, instruction.shape.clone(), vec![part]))
    }
}

fn scatter(rebuild: &mut Rebuild, module: &Module, old: &Computation, instruction: &Instruction) -> Option<InstrId> {
    let shape = ScatterShape::of(old, instruction).filter(|shape| shape.slices() == 1 && shape.can_fit())?;
    let &[array, indices, update] = rebuild.operands(instruction).as_slice() else { return None };
    let [combination] = Combination::of(module, instruction)[..] else { return None };
    match combination {
        Combination::Keep => return Some(array),
        Combination::Replace | Combination::Binary(_) => {}
        Combination::Alone | Combination::Joint => return None,
    }
    let places = IndexVector::of(rebuild, instruction, indices, shape.components.len())?;
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
    let element_type = rebuild.instruction(array).shape.as_array()?.element_type;
    let window = Shape::array(element_type, sizes.clone());
    let fits = places.fits(rebuild, instruction, &starts, &last);
    let mut value = update;
    if rebuild.instruction(update).shape != window {
        value = rebuild.add(instruction, Op::Reshape, window.clone(), vec![update]);
    }
    if fits.is_some() || combination != Combination::Replace {
        let before = places.part(rebuild, instruction, array, &starts, &sizes);
        if let Combination::Binary(op) = combination {
            value = rebuild.add(instruction, Op::Binary(op), window.clone(), vec![before, value]);
        }
        if let Some(fits) = fits {
            value = rebuild.add(instruction, Op::Select, window.clone(), vec![fits, value, before]);
        }
    }
    if window == instruction.shape {
        return Some(value);
    }
    let starts = places.instructions(rebuild, instruction, &starts);
    let operands = [array, value].into_iter().chain(starts).collect();
    Some(rebuild.add(instruction, Op::DynamicUpdateSlice, instruction.shape.clone(), operands))
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
    /// Returns the only index vector of a gather or scatter. `None` if there are several.
    fn of(rebuild: &mut Rebuild, origin: &Instruction, indices: InstrId, count: usize) -> Option<IndexVector> {
        let array = rebuild.instruction(indices).shape.as_array()?.clone();
        if array.element_count() != count as i64 {
            return None;
        }
        let scalar = Shape::array(array.element_type, Vec::new());
        let of_scalar =
            |rebuild: &Rebuild, id| slices::integer(rebuild, id).map_or(WindowStart::Computed(id), WindowStart::At);
        let components = (0..count)
            .map(|number| match element(rebuild, indices, number) {
                IndexElement::Known(value) => WindowStart::At(value),
                IndexElement::Of(id) if rebuild.instruction(id).shape == scalar => of_scalar(rebuild, id),
                IndexElement::Of(id) => {
                    let id = rebuild.add(origin, Op::Reshape, scalar.clone(), vec![id]);
                    of_scalar(rebuild, id)
                }
                IndexElement::Unknown => {
                    let all = Shape::array(array.element_type, vec![count as i64]);
                    let one = Shape::array(array.element_type, vec![1]);
                    let line = rebuild.add(origin, Op::Reshape, all, vec![indices]);
                    let one = slices::part_of_line(rebuild, origin, line, one, number as i64);
                    WindowStart::Computed(rebuild.add(origin, Op::Reshape, scalar.clone(), vec![one]))
                }
            })
            .collect();
        Some(IndexVector { element_type: array.element_type, components })
    }

    /// Returns the start that a component of the index vector states, or 0 if no component states
    /// it.
    fn start(&self, component: Option<usize>) -> WindowStart {
        component.and_then(|component| self.components.get(component)).copied().unwrap_or(WindowStart::At(0))
    }

    fn constant(&self, rebuild: &mut Rebuild, origin: &Instruction, value: i64) -> InstrId {
        let data = value.to_le_bytes()[..self.element_type.byte_size()].to_vec();
        let literal = ArrayLiteral { element_type: self.element_type, dims: Vec::new(), data: data.into() };
        let shape = Shape::array(self.element_type, Vec::new());
        rebuild.add(origin, Op::Constant(Literal::Array(literal)), shape, Vec::new())
    }

    fn instructions(&self, rebuild: &mut Rebuild, origin: &Instruction, starts: &[WindowStart]) -> Vec<InstrId> {
        let instruction = |start: &WindowStart| match *start {
            WindowStart::At(value) => self.constant(rebuild, origin, value),
            WindowStart::Computed(id) => id,
        };
        starts.iter().map(instruction).collect()
    }

    /// Returns the window of the array with these starts, moved so that it fits.
    fn part(
        &self,
        rebuild: &mut Rebuild,
        origin: &Instruction,
        array: InstrId,
        starts: &[WindowStart],
        sizes: &[i64],
    ) -> InstrId {
        let starts = self.instructions(rebuild, origin, starts);
        slices::window(rebuild, origin, array, &starts, sizes)
    }

    /// Returns an instruction that computes whether the window fits. `None` if the window always
    /// fits.
    fn fits(
        &self,
        rebuild: &mut Rebuild,
        origin: &Instruction,
        starts: &[WindowStart],
        last: &[i64],
    ) -> Option<InstrId> {
        let pred = Shape::array(ElementType::Pred, Vec::new());
        let mut all: Option<InstrId> = None;
        for (start, &last) in starts.iter().zip(last) {
            let WindowStart::Computed(start) = *start else { continue };
            let bounds = [(Comparison::Ge, 0), (Comparison::Le, last)];
            for (direction, bound) in bounds {
                if self.always_holds(direction, bound) {
                    continue;
                }
                let bound = self.constant(rebuild, origin, bound);
                let op = Op::Compare { direction, order: None };
                let one = rebuild.add(origin, op, pred.clone(), vec![start, bound]);
                all = Some(match all {
                    Some(all) => rebuild.add(origin, Op::Binary(BinaryOp::And), pred.clone(), vec![all, one]),
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

/// Looks up an element; looks through reshapes, broadcasts and concatenations.
fn element(rebuild: &Rebuild, id: InstrId, number: usize) -> IndexElement {
    let instruction = rebuild.instruction(id);
    let Some(array) = instruction.shape.as_array() else { return IndexElement::Unknown };
    match (&instruction.op, &instruction.operands[..]) {
        (Op::Constant(Literal::Array(value)), _) => {
            let size = value.element_type.byte_size();
            let data = value.data.get(number * size..(number + 1) * size).unwrap_or_default().to_vec();
            let one = ArrayLiteral { element_type: value.element_type, dims: Vec::new(), data: data.into() };
            one.as_integer().map_or(IndexElement::Unknown, IndexElement::Known)
        }
        (Op::Reshape, &[source]) => element(rebuild, source, number),
        (Op::Broadcast { .. }, &[source]) if element_count(rebuild, source) == Some(1) => element(rebuild, source, 0),
        (Op::Concatenate { .. }, operands)
            if operands.len() as i64 == array.element_count()
                && operands.iter().all(|&one| element_count(rebuild, one) == Some(1)) =>
        {
            element(rebuild, operands[number], 0)
        }
        _ if array.element_count() == 1 => IndexElement::Of(id),
        _ => IndexElement::Unknown,
    }
}

fn element_count(rebuild: &Rebuild, id: InstrId) -> Option<i64> {
    Some(rebuild.instruction(id).shape.as_array()?.element_count())
}
