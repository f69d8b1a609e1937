//! Creates the thunks of one computation.

use std::collections::{HashMap, HashSet};

use fusebox_core::hlo::print_module;
use fusebox_core::hlo::{
    ArrayLiteral, Computation, ComputationId, InstrId, Instruction, Literal, Module, Op, Opcode, Shape,
};
use fusebox_edit::instruction_as_module;
use fusebox_routines::comparator_to_compile;
use fusebox_runtime::{HostOp, Slice, Thunk};

use super::in_place::Merit;
use super::uses::{LeafUses, ValueLeaf};
use super::{ComputationRun, Scheduler, leaf_bytes, leaf_count};
use crate::CompileError;
use crate::roles::called_on_devices;

/// Least size, in bytes, of a buffer for which an in-place write pays off. A kernel that writes
/// into a buffer that it also reads is slower than a kernel that writes into a separate buffer,
/// because LLVM can assume less about aliases.
const LEAST_SAVED: u64 = 4 << 10;

/// Slices of a value's array leaves.
pub type ValueSlices = Vec<Slice>;

/// State of a computation while its thunks are created.
pub struct Frame {
    /// The computation.
    pub id: ComputationId,
    /// For each instruction, the slices of its value. The list of slices is empty before the
    /// instruction's thunks are created.
    pub values: Vec<ValueSlices>,
    uses: LeafUses,
    /// For each buffer, the leaves that it holds. Contains the leaves of all parameters from the
    /// beginning, even if a parameter's instruction comes late.
    leaves_in_buffer: HashMap<u32, Vec<(Slice, ValueLeaf)>>,
    /// Argument buffers that the computation must not write.
    borrowed: HashSet<u32>,
    /// Slices in which the caller wants leaves of the result.
    wanted: HashMap<ValueLeaf, Slice>,
}

/// The inputs of a computation.
#[derive(Default)]
pub struct Arguments {
    /// The value of each parameter.
    pub values: Vec<ValueSlices>,
    /// Argument buffers that the computation must not write.
    pub borrowed: HashSet<u32>,
    /// Slices to which the caller copies leaves of the result, unless they are already there.
    pub targets: Vec<Option<Slice>>,
}

impl Frame {
    fn new(computation: &Computation, id: ComputationId, order: &[InstrId], arguments: &Arguments) -> Frame {
        let uses = LeafUses::of(computation, order);
        let mut wanted = HashMap::new();
        for (&leaf, target) in uses.result().iter().zip(&arguments.targets) {
            target.iter().for_each(|&target| _ = wanted.entry(leaf).or_insert(target));
        }
        let of_parameter = |(id, value): (InstrId, &ValueSlices)| {
            value.iter().copied().zip(uses.leaves(id).iter().copied()).collect::<Vec<_>>()
        };
        let placed = computation.parameters().into_iter().zip(&arguments.values).flat_map(of_parameter);
        let mut leaves_in_buffer: HashMap<u32, Vec<(Slice, ValueLeaf)>> = HashMap::new();
        placed.for_each(|(place, leaf)| leaves_in_buffer.entry(place.allocation).or_default().push((place, leaf)));
        let values = vec![ValueSlices::new(); computation.instructions.len()];
        Frame { id, values, uses, leaves_in_buffer, borrowed: arguments.borrowed.clone(), wanted }
    }

    /// Returns the slice in which the caller wants a leaf of an instruction's value.
    pub fn wanted(&self, id: InstrId, leaf: usize) -> Option<Slice> {
        self.wanted.get(&ValueLeaf { producer: id, number: leaf }).copied()
    }

    /// Returns the values of an instruction's operands, one after the other.
    pub fn operands(&self, instruction: &Instruction) -> ValueSlices {
        instruction.operands.iter().flat_map(|o| self.values[o.index()].clone()).collect()
    }

    /// Whether `f` holds for any leaf in `slice`. Considers leaves of arguments, and of values
    /// computed so far.
    fn any_leaf_in(&self, slice: &Slice, f: impl Fn(ValueLeaf) -> bool) -> bool {
        let leaves_in_buffer = self.leaves_in_buffer.get(&slice.allocation).into_iter().flatten();
        leaves_in_buffer.into_iter().any(|(place, leaf)| place.overlaps(slice) && f(*leaf))
    }

    /// Stores the value of an instruction. In the records of the value's buffers, removes the
    /// leaves that no later instruction needs.
    fn keep(&mut self, id: InstrId, value: ValueSlices) {
        for (&place, &leaf) in value.iter().zip(self.uses.leaves(id)).filter(|(_, leaf)| leaf.producer == id) {
            let leaves_in_buffer = self.leaves_in_buffer.entry(place.allocation).or_default();
            leaves_in_buffer.retain(|(_, old)| self.uses.is_needed_after(*old, id));
            leaves_in_buffer.push((place, leaf));
        }
        self.values[id.index()] = value;
    }
}

impl Scheduler<'_> {
    /// Appends the thunks of a computation. Returns the slices of the computation's result.
    pub fn sequence(
        &mut self,
        id: ComputationId,
        arguments: &Arguments,
        thunks: &mut Vec<Thunk>,
    ) -> Result<ValueSlices, CompileError> {
        let module = self.module;
        let computation = module.computation(id);
        let orders = self.orders;
        let order = &orders[id.index()];
        let mut frame = Frame::new(computation, id, order, arguments);
        let (start, mut begins) = (self.buffers.now(), Vec::with_capacity(order.len()));
        for &instr in order {
            let instruction = computation.instruction(instr);
            begins.push(self.buffers.now());
            let value = match &instruction.op {
                Op::Parameter { number } => arguments.values[*number as usize].clone(),
                _ => {
                    let outer = self.buffers.make_for(Some((id, instr)));
                    let value = self.instruction(&frame, instr, instruction, thunks)?;
                    self.buffers.make_for(outer);
                    value
                }
            };
            frame.keep(instr, value);
        }
        self.runs.push(ComputationRun { computation: id, steps: start..=self.buffers.now(), begins });
        Ok(frame.values.swap_remove(computation.root.index()))
    }

    /// Whether instruction `id`, which reads `slice` as one of `operands`, may overwrite the slice.
    /// No later instruction may need the old value of the slice, and no other operand may overlap
    /// the slice.
    pub fn may_take(&self, frame: &Frame, id: InstrId, slice: &Slice, operands: &[Slice]) -> bool {
        operands.iter().filter(|other| other.overlaps(slice)).count() == 1 && self.is_last_use(frame, id, slice)
    }

    /// Whether no leaf in `slice` is needed after instruction `id`, and the slice may be written.
    fn is_last_use(&self, frame: &Frame, id: InstrId, slice: &Slice) -> bool {
        self.is_writable(frame, slice) && !frame.any_leaf_in(slice, |leaf| frame.uses.is_needed_after(leaf, id))
    }

    fn is_writable(&self, frame: &Frame, slice: &Slice) -> bool {
        self.buffers.is_writable(slice) && !frame.borrowed.contains(&slice.allocation)
    }

    /// Returns buffers for the results of instruction `id`. A result gets the slice in which the
    /// caller wants it, if this slice is free, else a new buffer.
    pub fn results(&mut self, frame: &Frame, id: InstrId, shape: &Shape) -> ValueSlices {
        let fresh = self.new_value(shape);
        let place = |(number, fresh): (usize, Slice)| {
            let is_free = |slice: &Slice| !frame.any_leaf_in(slice, |leaf| frame.uses.is_needed_from(leaf, id));
            frame.wanted(id, number).filter(is_free).unwrap_or(fresh)
        };
        fresh.into_iter().enumerate().map(place).collect()
    }

    fn instruction(
        &mut self,
        frame: &Frame,
        id: InstrId,
        instruction: &Instruction,
        thunks: &mut Vec<Thunk>,
    ) -> Result<ValueSlices, CompileError> {
        match &instruction.op {
            Op::Constant(literal) => Ok(self.constant(literal)),
            Op::Tuple | Op::Reshape => Ok(frame.operands(instruction)),
            Op::GetTupleElement { index } => Ok(self.element(frame, instruction, *index as usize)),
            Op::AfterAll => Ok(Vec::new()),
            Op::Fusion { .. } => self.kernel(frame, id, instruction, thunks),
            Op::While { condition, body } => self.repeat(frame, id, *condition, *body, thunks),
            Op::Conditional { branches } => self.branch(frame, id, branches, thunks),
            op if let Some(body) = called_on_devices(op) => self.on_devices(frame, id, body, thunks),
            _ => Ok(self.host_op(frame, id, instruction, thunks)),
        }
    }

    fn constant(&mut self, literal: &Literal) -> ValueSlices {
        literal.leaves().into_iter().filter_map(Literal::as_array).map(|array| self.constant_array(array)).collect()
    }

    fn constant_array(&mut self, array: &ArrayLiteral) -> Slice {
        if let Some(slice) = self.constants.get(&*array.data) {
            return *slice;
        }
        let slice = self.buffers.constant(array.data.to_vec());
        self.constants.insert(array.data.to_vec(), slice);
        slice
    }

    fn element(&self, frame: &Frame, instruction: &Instruction, index: usize) -> ValueSlices {
        let operand = instruction.operands[0];
        let shape = &self.module.computation(frame.id).instruction(operand).shape;
        let elements = shape.as_tuple().unwrap_or(&[]);
        let first: usize = elements[..index].iter().map(leaf_count).sum();
        frame.values[operand.index()][first..first + leaf_count(&elements[index])].to_vec()
    }

    fn kernel(
        &mut self,
        frame: &Frame,
        id: InstrId,
        instruction: &Instruction,
        thunks: &mut Vec<Thunk>,
    ) -> Result<ValueSlices, CompileError> {
        let unit = *self.kernels.of.get(&(frame.id, id)).ok_or_else(|| CompileError::Internal {
            phase: "schedule",
            message: format!("no kernel was made for {}", instruction.name),
        })?;
        let mut results = self.results(frame, id, &instruction.shape);
        let mut arguments = frame.operands(instruction);
        self.note_pairs(frame, id, unit, &arguments, &results);
        self.start_outputs(frame, id, unit, &mut arguments, &mut results, thunks);
        let Some(kernel) = self.planned.get(unit).and_then(|planned| planned.kernel) else {
            let fusion = &self.kernels.units[unit].fusion;
            let opcode = fusion.computation().root_instruction().opcode();
            self.routine(&instruction.name, opcode, &fusion.module, (arguments, results.clone()), thunks);
            return Ok(results);
        };
        arguments.extend(&results);
        self.buffers.step();
        self.buffers.touch(&arguments);
        thunks.push(Thunk::Kernel { kernel, arguments });
        Ok(results)
    }

    /// Records, for each pair, the merit of overwriting the parameter with the output. Keeps the
    /// least merit of all launches.
    fn note_pairs(&mut self, frame: &Frame, id: InstrId, unit: usize, parameters: &[Slice], results: &[Slice]) {
        let Some(planned) = self.planned.get(unit) else { return };
        for &pair in planned.pairs {
            let Some(parameter) = parameters.get(pair.parameter) else { continue };
            let wanted = frame.wanted(id, pair.output);
            let is_where_wanted = wanted.is_some() && wanted == results.get(pair.output).copied();
            let merit = match wanted {
                _ if !self.may_take(frame, id, parameter, parameters) => Merit::Refused,
                Some(wanted) if wanted == *parameter => Merit::Wanted,
                _ if is_where_wanted || parameter.bytes < LEAST_SAVED => Merit::Refused,
                _ => Merit::Possible,
            };
            let known = self.merits.entry((unit, pair)).or_insert(merit);
            *known = (*known).min(merit);
        }
    }

    /// Handles outputs whose initial value is a parameter: uses the parameter's buffer for the
    /// output, or copies the parameter's value into the output's buffer.
    fn start_outputs(
        &mut self,
        frame: &Frame,
        id: InstrId,
        unit: usize,
        parameters: &mut [Slice],
        results: &mut [Slice],
        thunks: &mut Vec<Thunk>,
    ) {
        let Some(planned) = self.planned.get(unit) else { return };
        for (number, output) in planned.plan.outputs.iter().enumerate().take(results.len()) {
            let Some(initial) = output.initial.map(|number| number as usize) else { continue };
            let Some(&parameter) = parameters.get(initial) else { continue };
            let is_taken = results.iter().any(|result| result.overlaps(&parameter));
            if !is_taken && self.is_last_use(frame, id, &parameter) && is_whole(&parameter, parameters) {
                self.read_elsewhere(initial, parameters, thunks);
                results[number] = parameter;
            } else {
                self.copy(parameter, results[number], thunks);
            }
        }
    }

    /// Makes all other parameters that are in the same slice as `kept` read a copy of this slice.
    fn read_elsewhere(&mut self, kept: usize, parameters: &mut [Slice], thunks: &mut Vec<Thunk>) {
        let place = parameters[kept];
        let mut copy = None;
        for (_, parameter) in parameters.iter_mut().enumerate().filter(|(number, it)| *number != kept && **it == place)
        {
            *parameter = *copy.get_or_insert_with(|| self.staged_copy(place, thunks));
        }
    }

    fn host_op(
        &mut self,
        frame: &Frame,
        id: InstrId,
        instruction: &Instruction,
        thunks: &mut Vec<Thunk>,
    ) -> ValueSlices {
        let computation = self.module.computation(frame.id);
        let shapes: Vec<Shape> =
            instruction.operands.iter().map(|&o| computation.instruction(o).shape.clone()).collect();
        let module = instruction_as_module(self.module, instruction, &shapes);
        let (arguments, results) = (frame.operands(instruction), self.results(frame, id, &instruction.shape));
        self.routine(&instruction.name, instruction.opcode(), &module, (arguments, results.clone()), thunks);
        results
    }

    /// Appends a thunk that a routine of the host executes.
    fn routine(
        &mut self,
        name: &str,
        opcode: Opcode,
        module: &Module,
        (arguments, results): (ValueSlices, ValueSlices),
        thunks: &mut Vec<Thunk>,
    ) {
        let op = self.host_ops.len() as u32;
        if let Some(comparator) = comparator_to_compile(module) {
            self.comparators.push((op as usize, module.clone(), comparator));
        }
        let (name, opcode, hlo) = (name.into(), opcode.name().into(), print_module(module));
        self.host_ops.push(HostOp { name, opcode, hlo, comparator: None, per_device: None });
        self.buffers.step();
        self.buffers.touch(arguments.iter().chain(&results));
        thunks.push(Thunk::HostOp { op, arguments, results });
    }

    /// Returns new buffers for a value of this shape.
    pub fn new_value(&mut self, shape: &Shape) -> ValueSlices {
        leaf_bytes(shape).map(|bytes| self.buffers.temporary(bytes)).collect()
    }

    /// Appends copies of the slices `from` to the slices `to`, with the same effect as if all
    /// copies happened at once.
    pub fn copy_all(&mut self, from: &[Slice], to: &[Slice], thunks: &mut Vec<Thunk>) {
        let changes = |slice: &Slice| from.iter().zip(to).any(|(source, target)| target == slice && source != target);
        let mut staged = from.to_vec();
        for (source, target) in staged.iter_mut().zip(to) {
            if *source != *target && changes(source) {
                *source = self.staged_copy(*source, thunks);
            }
        }
        for (&source, &target) in staged.iter().zip(to) {
            if source != target {
                self.copy(source, target, thunks);
            }
        }
    }

    fn staged_copy(&mut self, source: Slice, thunks: &mut Vec<Thunk>) -> Slice {
        let stage = self.buffers.temporary(source.bytes);
        self.copy(source, stage, thunks);
        stage
    }

    /// Appends a copy as a separate step.
    pub fn copy(&mut self, from: Slice, to: Slice, thunks: &mut Vec<Thunk>) {
        self.buffers.step();
        self.buffers.touch([&from, &to]);
        if from.bytes > 0 {
            thunks.push(Thunk::Copy { from, to });
        }
    }
}

/// Whether every slice of `others` that overlaps `slice` equals `slice`.
fn is_whole(slice: &Slice, others: &[Slice]) -> bool {
    others.iter().all(|other| other == slice || !other.overlaps(slice))
}
