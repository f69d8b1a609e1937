//! Creates the thunks of manual computations, which each device executes with its own memory.

use std::collections::HashSet;

use fusebox_core::hlo::{
    ComputationId, CustomCallAttrs, InstrId, Instruction, ManualComputation, Meshes, Op, Shape, Tiling, print_module,
};
use fusebox_edit::instruction_as_module;
use fusebox_runtime::{AllocationKind, DevicePart, HostOp, PerDevice, Slice, Thunk};

use super::Scheduler;
use super::buffers::Buffers;
use super::concurrency::RequiredOrder;
use super::sequence::{Arguments, Frame, ValueSlices};
use crate::CompileError;

/// Memory of a manual computation before its buffers are placed.
struct Body {
    operands: Vec<DevicePart>,
    results: Vec<DevicePart>,
    thunks: Vec<Thunk>,
}

impl Scheduler<'_> {
    /// Appends a thunk that executes a computation on several devices.
    pub fn on_devices(
        &mut self,
        frame: &Frame,
        id: InstrId,
        body: ComputationId,
        thunks: &mut Vec<Thunk>,
    ) -> Result<ValueSlices, CompileError> {
        let computation = self.module.computation(frame.id);
        let instruction = computation.instruction(id);
        let (arguments, results) = (frame.operands(instruction), self.results(frame, id, &instruction.shape));
        let shapes: Vec<Shape> =
            instruction.operands.iter().map(|&o| computation.instruction(o).shape.clone()).collect();
        let per_device = Some(self.device_code(instruction, &shapes, body)?);
        let alone = without_callee(instruction);
        let hlo = print_module(&instruction_as_module(self.module, &alone, &shapes));
        let (name, opcode) = (instruction.name.clone(), instruction.opcode().name().into());
        let op = self.host_ops.len() as u32;
        self.host_ops.push(HostOp { name, opcode, hlo, comparator: None, per_device });
        self.buffers.step();
        self.buffers.touch(arguments.iter().chain(&results));
        thunks.push(Thunk::HostOp { op, arguments, results: results.clone() });
        Ok(results)
    }

    /// Returns the code for each device. Places the buffers of the device code in allocations that
    /// are separate from those of the rest of the program.
    fn device_code(
        &mut self,
        instruction: &Instruction,
        operands: &[Shape],
        body: ComputationId,
    ) -> Result<PerDevice, CompileError> {
        let refused = |message: String| CompileError::at(self.module, instruction, message);
        let attributes = instruction.extra.as_ref().map(|extra| extra.frontend_attributes.clone()).unwrap_or_default();
        let manual = ManualComputation::read(&attributes, &Meshes::default()).map_err(refused)?;
        let rules = self.buffers.rules();
        let outer_buffers = std::mem::replace(&mut self.buffers, Buffers::new(rules));
        let outer_constants = std::mem::take(&mut self.constants);
        let outer_runs = std::mem::take(&mut self.runs);
        let made = self.body(instruction, operands, body, &manual);
        let buffers = std::mem::replace(&mut self.buffers, outer_buffers);
        (self.constants, self.runs) = (outer_constants, outer_runs);
        let Body { mut operands, mut results, mut thunks } = made?;
        let placed = buffers.place(self.module, &RequiredOrder::default());
        placed.resolve_all(&mut thunks);
        operands.iter_mut().chain(&mut results).for_each(|part| placed.resolve(&mut part.at));
        let devices: Vec<u32> = manual.devices().into_iter().map(|device| device as u32).collect();
        let own = placed.allocations.iter().filter(|it| !matches!(it.kind, AllocationKind::Parameter));
        self.device_bytes += own.map(|it| it.bytes).sum::<u64>() * devices.len() as u64;
        Ok(PerDevice { devices, operands, results, allocations: placed.allocations, thunks })
    }

    fn body(
        &mut self,
        instruction: &Instruction,
        operands: &[Shape],
        body: ComputationId,
        manual: &ManualComputation,
    ) -> Result<Body, CompileError> {
        let computation = self.module.computation(body);
        let parameters: Vec<&Shape> =
            computation.parameters().iter().map(|&id| &computation.instruction(id).shape).collect();
        let result = &computation.root_instruction().shape;
        let results = instruction.shape.as_tuple().unwrap_or(std::slice::from_ref(&instruction.shape));
        let computed = result.as_tuple().unwrap_or(std::slice::from_ref(result));
        let refused = |message: String| CompileError::at(self.module, instruction, message);
        if parameters.len() != operands.len() || results.len() != computed.len() {
            return Err(refused("the computation of the devices has other parameters or results".into()));
        }
        let devices = manual.devices();
        let part = |tiling: Result<Tiling, String>, whole: &Shape, part: &Shape| {
            divided(&tiling.map_err(refused)?, &devices, whole, part).map_err(refused)
        };
        let mut operand_parts = Vec::new();
        for (number, (whole, own)) in operands.iter().zip(&parameters).enumerate() {
            operand_parts.push(part(manual.input(number), whole, own)?);
        }
        let mut result_parts = Vec::new();
        for (number, (whole, own)) in results.iter().zip(computed).enumerate() {
            result_parts.push(part(manual.output(number), whole, own)?);
        }
        let mut values = Vec::new();
        for part in operand_parts.iter_mut() {
            part.iter_mut().for_each(|part| part.at = self.buffers.parameter(part.at.bytes));
            values.push(part.iter().map(|part| part.at).collect());
        }
        let arguments = Arguments { values, borrowed: HashSet::new(), targets: Vec::new() };
        let mut thunks = Vec::new();
        let slices = self.sequence(body, &arguments, &mut thunks)?;
        self.buffers.step();
        self.buffers.touch(&slices);
        let mut result_parts: Vec<DevicePart> = result_parts.into_iter().flatten().collect();
        result_parts.iter_mut().zip(slices).for_each(|(part, slice)| part.at = slice);
        Ok(Body { operands: operand_parts.into_iter().flatten().collect(), results: result_parts, thunks })
    }
}

/// Returns the parts into which an array is divided among the devices. Returns `None` for a token.
fn divided(tiling: &Tiling, devices: &[i64], whole: &Shape, part: &Shape) -> Result<Option<DevicePart>, String> {
    let (Shape::Array(array), Shape::Array(own)) = (whole, part) else {
        return if (whole, part) == (&Shape::Token, &Shape::Token) {
            Ok(None)
        } else {
            Err(format!("a value of type {whole} cannot be divided among devices"))
        };
    };
    if tiling.tile_dims(&array.dims).as_ref() != Some(&own.dims) || array.element_type != own.element_type {
        return Err(format!("the parts of {whole} are {part}, which does not fit the sharding"));
    }
    let starts = devices
        .iter()
        .map(|&device| tiling.part(device as usize, &array.dims).into_iter().map(|range| range.start as u64).collect());
    let sizes = |dims: &[i64]| dims.iter().map(|&size| size as u64).collect();
    Ok(Some(DevicePart {
        at: Slice { allocation: 0, offset: 0, bytes: own.byte_size() as u64 },
        element_bytes: own.element_type.byte_size() as u32,
        whole: sizes(&array.dims),
        part: sizes(&own.dims),
        starts: starts.collect(),
    }))
}

/// Returns the instruction without the computation that it calls. The executable contains the
/// thunks of this computation.
fn without_callee(instruction: &Instruction) -> Instruction {
    let mut alone = instruction.clone();
    if let Op::CustomCall(call) = &instruction.op {
        alone.op = Op::CustomCall(Box::new(CustomCallAttrs { called: Vec::new(), ..(**call).clone() }));
    }
    alone
}
