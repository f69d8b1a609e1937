//! Expands `scan` to a loop. The loop's state holds the number of finished steps, the inputs, the
//! outputs so far, and the carries.

use fusebox_core::hlo::{
    ArrayShape, BinaryOp, Comparison, ComputationId, ElementType, InstrId, Instruction, Op, Shape,
};
use fusebox_edit::Builder;

use crate::CompileError;

/// Type of the number of finished steps.
const COUNT: ElementType = ElementType::S64;

/// The loop of a scan. The loop's state has the number of finished steps, then the inputs, the
/// outputs and the carries.
struct ScanLoop {
    /// Number of inputs.
    inputs: usize,
    /// Number of outputs.
    outputs: usize,
    dimension: usize,
    length: i64,
    is_reverse: bool,
    to_apply: ComputationId,
}

/// An index of the scanned dimension.
struct Place {
    dimension: usize,
    index: InstrId,
    zero: InstrId,
}

/// Adds the expansion. Returns the tuple of the results.
pub fn expand(
    edit: &mut Builder,
    scan: &Instruction,
    operands: &[InstrId],
    results: &[Shape],
) -> Result<InstrId, CompileError> {
    let parts = ScanLoop::of(edit, scan, operands, results)?;
    let (inputs, carries) = operands.split_at(parts.inputs);
    let zeros = |array: &ArrayShape| edit.filled(array.element_type, &array.dims, 0.0);
    let outputs: Vec<InstrId> = results[..parts.outputs].iter().filter_map(Shape::as_array).map(zeros).collect();
    // If the scanned dimension is empty, the loop's body would have no part of the arrays to read.
    if parts.length == 0 {
        return Ok(edit.tuple([&outputs, carries].concat()));
    }
    let zero = edit.integer(COUNT, 0);
    let start = edit.tuple([&[zero], inputs, &outputs, carries].concat());
    let state = edit.shape(start).clone();
    let condition = edit.computation(&format!("{}.condition", scan.name), |edit| {
        let state = edit.parameter(state.clone());
        let (step, length) = (edit.element(state, 0), edit.integer(COUNT, parts.length));
        edit.compare(Comparison::Lt, step, length)
    });
    let body = edit.computation(&format!("{}.body", scan.name), |edit| {
        let state = edit.parameter(state);
        parts.body(edit, state)
    });
    let end = edit.while_loop(condition, body, start);
    let first = 1 + parts.inputs;
    let made: Vec<InstrId> = (first..first + results.len()).map(|index| edit.element(end, index)).collect();
    Ok(edit.tuple(made))
}

impl ScanLoop {
    fn of(
        edit: &Builder,
        scan: &Instruction,
        operands: &[InstrId],
        results: &[Shape],
    ) -> Result<ScanLoop, CompileError> {
        let refused = |why: &str| CompileError::at(edit.module(), scan, why);
        let Op::Scan { dimension, num_carries, is_reverse, to_apply, .. } = scan.op else {
            return Err(refused("a scan that is none"));
        };
        let given: Option<Vec<&ArrayShape>> = operands.iter().map(|&id| edit.array(id)).collect();
        let made: Option<Vec<&ArrayShape>> = results.iter().map(Shape::as_array).collect();
        let carried = usize::try_from(num_carries).unwrap_or(usize::MAX);
        let without_carries = |count: usize| count.checked_sub(carried);
        let (Some(given), Some(made), Some(inputs), Some(outputs)) =
            (given, made, without_carries(operands.len()), without_carries(results.len()))
        else {
            return Err(refused("scan takes and gives arrays, the last of them carries"));
        };
        let dimension = usize::try_from(dimension).map_err(|_| refused("a scan along a negative dimension"))?;
        let arrays = given[..inputs].iter().chain(&made[..outputs]);
        let lengths: Vec<Option<i64>> = arrays.map(|array| array.dims.get(dimension).copied()).collect();
        let Some(&Some(length)) = lengths.first() else {
            return Err(refused("scan has neither inputs nor outputs, so it has no length"));
        };
        if lengths.iter().any(|&other| other != Some(length)) {
            return Err(refused("the inputs and outputs of a scan differ in length"));
        }
        let parts = ScanLoop { inputs, outputs, dimension, length, is_reverse, to_apply };
        if !parts.fits(edit, &given, &made) {
            return Err(refused(
                "the computation of a scan takes the inputs without the scanned dimension, then the carries, and \
                 gives a tuple of the outputs without that dimension and the carries",
            ));
        }
        Ok(parts)
    }

    /// Whether the parameters of the scan's computation fit the scan's operands `given`, and the
    /// computation's results fit the scan's results `made`. The computation must take slices of the
    /// inputs, return slices of the outputs, and take and return whole carries.
    fn fits(&self, edit: &Builder, given: &[&ArrayShape], made: &[&ArrayShape]) -> bool {
        let Some(step) = edit.module().computation(self.to_apply).signature() else { return false };
        let Some(results) = step.result.as_tuple() else { return false };
        let is_part = |(number, array): (usize, &&ArrayShape), scanned: usize, part: &Shape| {
            let mut dims = array.dims.clone();
            if number < scanned {
                dims.remove(self.dimension);
            }
            part.as_array().is_some_and(|it| it.element_type == array.element_type && it.dims == dims)
        };
        let are_parts = |arrays: &[&ArrayShape], scanned: usize, parts: &[&Shape]| {
            let mut pairs = arrays.iter().enumerate().zip(parts);
            arrays.len() == parts.len() && pairs.all(|(array, part)| is_part(array, scanned, part))
        };
        let results: Vec<&Shape> = results.iter().collect();
        are_parts(given, self.inputs, &step.parameters) && are_parts(made, self.outputs, &results)
    }

    /// Adds one step. Returns the state after the step.
    fn body(&self, edit: &mut Builder, state: InstrId) -> InstrId {
        let before = edit.elements(state);
        let (step, arrays) = (before[0], &before[1..]);
        let one = edit.integer(COUNT, 1);
        let next = edit.binary(BinaryOp::Add, step, one);
        let place = self.place(edit, step);
        let (inputs, others) = arrays.split_at(self.inputs);
        let (outputs, carries) = others.split_at(self.outputs);
        let mut arguments: Vec<InstrId> = inputs.iter().map(|&input| place.read(edit, input)).collect();
        arguments.extend(carries);
        let results = edit.call(self.to_apply, arguments);
        let mut after = [&[next], inputs].concat();
        for number in 0..others.len() {
            let result = edit.element(results, number);
            after.push(match outputs.get(number) {
                Some(&output) => place.write(edit, output, result),
                None => result,
            });
        }
        edit.tuple(after)
    }

    /// Returns the index of the scanned dimension that a step uses.
    fn place(&self, edit: &mut Builder, step: InstrId) -> Place {
        let index = if self.is_reverse {
            let last = edit.integer(COUNT, self.length - 1);
            edit.binary(BinaryOp::Subtract, last, step)
        } else {
            step
        };
        Place { dimension: self.dimension, index, zero: edit.integer(COUNT, 0) }
    }
}

impl Place {
    /// Reads the slice of an array at this index of the scanned dimension, and removes the scanned
    /// dimension from the slice.
    fn read(&self, edit: &mut Builder, array: InstrId) -> InstrId {
        let mut sizes = self.sizes(edit, array);
        let slice = edit.dynamic_slice(array, &self.starts(&sizes), &sizes);
        sizes.remove(self.dimension);
        edit.reshape(slice, &sizes)
    }

    /// Replaces the slice of an array at this index of the scanned dimension.
    fn write(&self, edit: &mut Builder, array: InstrId, part: InstrId) -> InstrId {
        let sizes = self.sizes(edit, array);
        let slice = edit.reshape(part, &sizes);
        edit.dynamic_update_slice(array, slice, &self.starts(&sizes))
    }

    /// Returns the sizes of the slice of an array at one index of the scanned dimension, including
    /// the scanned dimension with size 1.
    fn sizes(&self, edit: &Builder, array: InstrId) -> Vec<i64> {
        let mut sizes = edit.dims(array);
        sizes[self.dimension] = 1;
        sizes
    }

    fn starts(&self, sizes: &[i64]) -> Vec<InstrId> {
        (0..sizes.len()).map(|dim| if dim == self.dimension { self.index } else { self.zero }).collect()
    }
}
