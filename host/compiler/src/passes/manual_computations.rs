//! Replaces each manual computation, in which every device computes with its own parts of arrays,
//! by one custom call. Removes sharding annotations, because code outside of manual computations
//! runs once, on whole arrays.
//!
//! ```text
//! p = GlobalToLocalShape(x), q = call(p), y = LocalToGlobalShape(q)
//!     y = custom-call(x), custom_call_target="fusebox.manual_computation"
//! y = Sharding(x)
//!     y = x
//! ```

use std::collections::BTreeMap;

use fusebox_core::hlo::{
    BinaryOp, Comparison, Computation, ComputationId, CustomCallAttrs, Diagnostic, ElementType, Extra, InstrId,
    Instruction, ManualComputation, MeshAxis, Meshes, Module, Op, Opcode, Shape, Span,
};
use fusebox_edit::{Builder, Rewrite, rewrite};

use crate::CompileError;

/// Targets of custom calls that annotate their operand and return it unchanged.
const ANNOTATIONS: [&str; 3] = ["Sharding", "xla.sdy.FuncResultSharding", "xla.sdy.PropagationBarrier"];
/// Target of a custom call that is an annotation without result.
const GROUP: &str = "xla.sdy.ShardingGroup";
/// Targets of the custom calls that divide the operands and join the results of a manual
/// computation without a mesh.
const WITHOUT_MESH: [&str; 2] = ["SPMDFullToShardShape", "SPMDShardToFullShape"];

/// Rewrites a module that has several partitions, or a mesh.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    let meshes = Meshes::of(module).map_err(|message| malformed(module, message))?;
    let is_manual = |it: &Instruction| matches!(target(it), Some(ManualComputation::DIVIDE | ManualComputation::JOIN));
    if module.computations.iter().flat_map(|it| &it.instructions).any(is_manual) {
        // Text of a program that is not compiled yet lacks the number of partitions.
        module.num_partitions = module.num_partitions.max(meshes.largest().map_or(1, |mesh| mesh.size()));
    }
    if module.num_partitions <= 1 && meshes == Meshes::default() {
        return Ok(());
    }
    let mut sums = Vec::new();
    for id in module.ids() {
        rewrite(module, id, |edit, id, instruction| replaced(edit, id, instruction, (&meshes, &mut sums)))?;
    }
    sums.into_iter().try_for_each(|(body, manual)| with_sums(module, body, &manual))
}

/// Manual computations in which an operand or a result is a partial sum on several devices. For
/// each manual computation, the list also contains the computation that the devices execute.
type Sums = Vec<(ComputationId, ManualComputation)>;

/// Rewrites the computation that devices execute so that no operand or result is a partial sum. An
/// operand that is a partial sum becomes zero on all devices except the first one along the summed
/// axes. A result that is a partial sum is added up by an all-reduce.
fn with_sums(module: &mut Module, body: ComputationId, manual: &ManualComputation) -> Result<(), CompileError> {
    rewrite(module, body, |edit, id, instruction| {
        let old = edit.old();
        if let Op::Parameter { number } = instruction.op {
            let copy = edit.copy(instruction);
            let axes = manual.inputs.get(number as usize).map_or(&[][..], |it| &it.unreduced);
            return Ok::<_, CompileError>(Some(if axes.is_empty() {
                copy
            } else {
                let is_first = is_first(edit, manual, axes)?;
                let dims = edit.dims(copy);
                let (is_first, zeros) = (edit.spread(is_first, &dims), edit.filled_like(copy, 0.0));
                edit.add(Op::Select, [is_first, copy, zeros])
            }));
        }
        if id != old.root {
            return Ok(None);
        }
        let copy = edit.copy(instruction);
        let Some(count) = instruction.shape.as_tuple().map(<[Shape]>::len) else {
            return sum(edit, manual, 0, copy).map(Some);
        };
        let mut elements = Vec::new();
        for number in 0..count {
            let element = edit.element(copy, number);
            elements.push(sum(edit, manual, number, element)?);
        }
        Ok(Some(edit.tuple(elements)))
    })
}

/// Returns the numbers of these axes in the mesh. Returns an error for a part of an axis.
fn numbers(module: &Module, manual: &ManualComputation, axes: &[MeshAxis]) -> Result<Vec<usize>, CompileError> {
    let number = |axis: &MeshAxis| match axis.part {
        None => manual.mesh.axis(&axis.name),
        Some(_) => Err("parts of a sum along a part of an axis are not supported".into()),
    };
    axes.iter().map(|axis| number(axis).map_err(|message| malformed(module, message))).collect()
}

/// Adds instructions that compute whether a device is the first one along these axes of the mesh.
fn is_first(edit: &mut Rewrite, manual: &ManualComputation, axes: &[MeshAxis]) -> Result<InstrId, CompileError> {
    let numbers = numbers(edit.module(), manual, axes)?;
    let device = edit.add(Op::PartitionId, []);
    let mut sum = edit.integer(ElementType::U32, 0);
    for number in numbers {
        let stride = manual.mesh.axes[number + 1..].iter().map(|(_, size)| size).product();
        let (stride, size) = (edit.integer(ElementType::U32, stride), manual.mesh.axes[number].1);
        let size = edit.integer(ElementType::U32, size);
        let position = edit.binary(BinaryOp::Divide, device, stride);
        let coordinate = edit.binary(BinaryOp::Remainder, position, size);
        sum = edit.binary(BinaryOp::Add, sum, coordinate);
    }
    let zero = edit.integer(ElementType::U32, 0);
    Ok(edit.add(Op::Compare { direction: Comparison::Eq, order: None }, [sum, zero]))
}

/// Adds an all-reduce that sums a result over the devices along the axes that the result's sharding
/// names as unreduced.
fn sum(edit: &mut Rewrite, manual: &ManualComputation, number: usize, value: InstrId) -> Result<InstrId, CompileError> {
    let axes = manual.outputs.get(number).map_or(&[][..], |it| &it.unreduced);
    let Some(array) = edit.array(value).cloned().filter(|_| !axes.is_empty()) else { return Ok(value) };
    let numbers = numbers(edit.module(), manual, axes)?;
    let mut groups: BTreeMap<Vec<i64>, Vec<String>> = BTreeMap::new();
    for device in 0..manual.mesh.size() {
        let mut others = manual.mesh.coordinates(device);
        numbers.iter().for_each(|&axis| others[axis] = 0);
        groups.entry(others).or_default().push(device.to_string());
    }
    let groups: Vec<String> = groups.into_values().map(|group| format!("{{{}}}", group.join(","))).collect();
    let attributes = [
        ("channel_id", "1".to_owned()),
        ("replica_groups", format!("{{{}}}", groups.join(","))),
        ("use_global_device_ids", "true".to_owned()),
    ];
    let add = edit.combiner(BinaryOp::Add, array.element_type);
    let op = Op::Other {
        opcode: Opcode::AllReduce,
        called: vec![("to_apply".to_owned(), vec![add])],
        attributes: attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
    };
    Ok(edit.add_shaped(op, Shape::Array(array), [value]))
}

fn malformed(module: &Module, message: String) -> CompileError {
    let (file, span, subject, source_line) = (module.source_file.clone(), Span::default(), None, String::new());
    CompileError::Module(vec![Diagnostic { file, span, subject, message, source_line }])
}

/// Returns the target of a custom call.
fn target(instruction: &Instruction) -> Option<&str> {
    match &instruction.op {
        Op::CustomCall(call) => Some(&call.target),
        _ => None,
    }
}

/// Whether an instruction calls the computation that each device executes.
fn is_call_of_body(module: &Module, instruction: &Instruction) -> bool {
    match instruction.op {
        Op::Call { to_apply } => module.computation(to_apply).name.starts_with(ManualComputation::BODY),
        _ => false,
    }
}

/// Returns the replacement of an instruction. `None` if the instruction needs no replacement.
fn replaced(
    edit: &mut Rewrite,
    id: InstrId,
    instruction: &Instruction,
    (meshes, sums): (&Meshes, &mut Sums),
) -> Result<Option<InstrId>, CompileError> {
    let operands = edit.operands(instruction);
    if is_call_of_body(edit.module(), instruction) {
        return if edit.module().num_partitions > 1 {
            on_devices(edit, id, instruction, (meshes, sums))
        } else {
            Ok(None)
        };
    }
    if let Op::GetTupleElement { index } = instruction.op {
        let tuple = edit.old().instruction(instruction.operands[0]);
        let is_divided = target(tuple) == Some(ManualComputation::DIVIDE) || is_call_of_body(edit.module(), tuple);
        return Ok(is_divided.then(|| edit.element(operands[0], index as usize)));
    }
    match target(instruction) {
        Some(ManualComputation::DIVIDE | ManualComputation::JOIN) => Ok(Some(one_or_tuple(edit, operands))),
        Some(name) if ANNOTATIONS.contains(&name) => {
            let is_equal = |&it: &InstrId| edit.shape(it).same_structure(&instruction.shape);
            Ok(operands.first().copied().filter(is_equal))
        }
        Some(GROUP) => Ok(Some(edit.tuple(Vec::new()))),
        Some(name) if WITHOUT_MESH.contains(&name) && edit.module().num_partitions > 1 => Err(CompileError::at(
            edit.module(),
            instruction,
            format!("{name} is not supported: fusebox reads manual computations of Shardy only"),
        )),
        _ => Ok(None),
    }
}

/// Replaces the call of the computation that each device executes by a custom call on whole arrays.
fn on_devices(
    edit: &mut Rewrite,
    id: InstrId,
    instruction: &Instruction,
    (meshes, sums): (&Meshes, &mut Sums),
) -> Result<Option<InstrId>, CompileError> {
    let (module, old) = (edit.module(), edit.old());
    let refused = |message: String| CompileError::at(module, instruction, message);
    let Op::Call { to_apply } = instruction.op else { return Ok(None) };
    let (mut attributes, mut shape) = (BTreeMap::new(), instruction.shape.clone());
    for source in instruction.operands.iter().map(|&operand| produced_by(old, operand)) {
        if target(source) != Some(ManualComputation::DIVIDE) {
            return Err(refused(format!("`{}` is not divided among the devices", source.name)));
        }
        attributes.extend(frontend_attributes(source));
    }
    match joined(old, id) {
        Some(join) => {
            let passed = join.operands.iter().map(|&operand| old.instruction(operand));
            let is_in_order = |(index, it): (usize, &Instruction)| match it.op {
                Op::GetTupleElement { index: own } => own == index as i64,
                _ => true,
            };
            let results = instruction.shape.as_tuple().map_or(1, <[Shape]>::len);
            if join.operands.len() != results || !passed.enumerate().all(is_in_order) {
                return Err(refused("the results of the devices are joined in another order".into()));
            }
            attributes.extend(frontend_attributes(join));
            shape = join.shape.clone();
        }
        None if shape.leaves().iter().any(|leaf| leaf.as_array().is_some()) => {
            return Err(refused("the results of the devices are not joined".into()));
        }
        None => {}
    }
    let mut manual = ManualComputation::read(&attributes, meshes).map_err(refused)?;
    if manual.inputs.iter().chain(&manual.outputs).any(|it| !it.unreduced.is_empty()) {
        sums.push((to_apply, manual.clone()));
        manual.inputs.iter_mut().chain(&mut manual.outputs).for_each(|it| it.unreduced.clear());
    }
    if manual.mesh.device_ids.is_some() {
        return Err(refused("a mesh whose devices have another order is not supported".into()));
    }
    let call = CustomCallAttrs {
        target: ManualComputation::TARGET.to_owned(),
        called: vec![to_apply],
        operand_layouts: None,
        output_to_operand_aliasing: String::new(),
        has_side_effect: false,
        api_version: String::new(),
    };
    let operands = edit.operands(instruction);
    let new = edit.add_shaped(Op::CustomCall(Box::new(call)), shape, operands);
    edit.set_sharding(new, Extra { frontend_attributes: manual.attributes(), ..Extra::default() });
    Ok(Some(new))
}

fn frontend_attributes(instruction: &Instruction) -> BTreeMap<String, String> {
    instruction.extra.as_ref().map(|extra| extra.frontend_attributes.clone()).unwrap_or_default()
}

/// Returns the instruction that computes a value. For an element of a tuple, returns the
/// instruction that computes the tuple.
fn produced_by(computation: &Computation, id: InstrId) -> &Instruction {
    match computation.instruction(id) {
        Instruction { op: Op::GetTupleElement { .. }, operands, .. } => computation.instruction(operands[0]),
        other => other,
    }
}

/// Returns the custom call that joins the results of a call.
fn joined(computation: &Computation, call: InstrId) -> Option<&Instruction> {
    let reads = |operand: &InstrId| match computation.instruction(*operand) {
        Instruction { op: Op::GetTupleElement { .. }, operands, .. } => operands[0] == call,
        _ => *operand == call,
    };
    let mut instructions = computation.instructions.iter();
    instructions.find(|it| target(it) == Some(ManualComputation::JOIN) && it.operands.iter().any(reads))
}

fn one_or_tuple(edit: &mut Builder, values: Vec<InstrId>) -> InstrId {
    match values[..] {
        [single] => single,
        _ => edit.tuple(values),
    }
}
