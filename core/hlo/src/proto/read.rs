//! Decodes modules from bytes.

use std::collections::{BTreeMap, HashMap};

use prost::Message;

use super::module;
use super::names::make_readable;
use super::op::read_op;
use super::shapes::{read_required, read_shape};
use super::sharding::sharding_text;
use super::text_attributes::{apply_text, kept_attributes};
use crate::message::TextAttributes;
use crate::message::{self, data};
use crate::text::pieces::{joined, quoted};
use crate::{
    AliasKind, Computation, ComputationId, DebugTables, Diagnostic, EntryLayout, Extra, InputOutputAlias, InstrId,
    Instruction, Metadata, Module, Opcode, Span, StackFrame,
};

/// Reads a serialised `HloModuleProto`.
///
/// # Errors
/// Returns the first fault. A module that can be read may still be invalid.
/// [`verify`](crate::verify) checks whether the module is valid.
pub fn read_proto(bytes: &[u8]) -> Result<Module, Vec<Diagnostic>> {
    let fault = |subject: Option<String>, message: String| {
        vec![Diagnostic { file: String::new(), span: Span::default(), subject, message, source_line: String::new() }]
    };
    let message = module::Module::decode(bytes)
        .map_err(|error| fault(None, format!("these bytes are not a serialised HloModuleProto: {error}")))?;
    read_module(message).map_err(|error| fault(error.subject, error.message))
}

/// A fault, with the name of the instruction or computation that contains the fault.
struct Fault {
    subject: Option<String>,
    message: String,
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Fault { subject: None, message }
    }
}

fn of(subject: &str) -> impl Fn(String) -> Fault + '_ {
    move |message| Fault { subject: Some(subject.to_owned()), message }
}

fn read_module(mut message: module::Module) -> Result<Module, Fault> {
    let extension = message.fusebox.take().unwrap_or_default();
    let schedule = message.schedule.take().map(|schedule| schedule.sequences);
    let payloads = std::mem::take(&mut message.payloads);
    let mut computations = Vec::with_capacity(message.computations.len());
    let mut ids: HashMap<i64, ComputationId> = HashMap::new();
    for computation in callees_first(std::mem::take(&mut message.computations))? {
        let id = computation.id;
        let order = schedule.as_ref().and_then(|sequences| sequences.get(&id));
        computations.push(read_computation(computation, &ids, order, &payloads)?);
        let fits = ids.insert(id, ComputationId(computations.len() as u32 - 1)).is_none();
        ensure!(fits, "two computations have the id {id}");
    }
    let entry = ids.get(&message.entry_computation_id).copied();
    let entry = entry.ok_or_else(|| format!("there is no entry computation {}", message.entry_computation_id))?;
    let mut module = Module {
        name: message.name.clone(),
        computations,
        entry: Some(entry),
        bare: extension.bare,
        is_scheduled: schedule.is_some_and(|sequences| !sequences.is_empty()),
        input_output_alias: read_aliases(&message)?,
        buffer_donor: message.buffer_donor.iter().flat_map(|donor| &donor.entries).map(donor).collect(),
        entry_layout: if extension.no_entry_layout { None } else { read_entry_layout(&message)? },
        // Zero means that fusebox did not write the module. XLA keeps these numbers outside the
        // module.
        replica_count: extension.replica_count.max(1),
        num_partitions: extension.num_partitions.max(1),
        other_attributes: read_other_attributes(extension.other_attributes, &message),
        debug_tables: read_debug_tables(message.stack_frame_index.unwrap_or_default()),
        ..Module::default()
    };
    make_readable(&mut module);
    Ok(module)
}

/// Returns the positions from 0 to `count - 1`. In the result, each position comes after all
/// positions that `needs` returns for it. The order is ascending if ascending order satisfies
/// `needs`. If the needs form a cycle, the error is a position on the cycle.
fn topological_order(count: usize, needs: impl Fn(usize) -> Vec<usize>) -> Result<Vec<usize>, usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        Unseen,
        Open,
        Done,
    }
    let mut states = vec![State::Unseen; count];
    let mut order = Vec::with_capacity(count);
    for start in 0..count {
        let mut stack = vec![(start, None::<std::vec::IntoIter<usize>>)];
        while let Some((at, pending)) = stack.last_mut() {
            let at = *at;
            let pending = match pending {
                Some(pending) => pending,
                None if states[at] == State::Done => {
                    stack.pop();
                    continue;
                }
                None if states[at] == State::Open => return Err(at),
                None => {
                    states[at] = State::Open;
                    pending.insert(needs(at).into_iter())
                }
            };
            match pending.find(|&next| states[next] != State::Done) {
                Some(next) => stack.push((next, None)),
                None => {
                    states[at] = State::Done;
                    order.push(at);
                    stack.pop();
                }
            }
        }
    }
    Ok(order)
}

fn reordered<T>(items: Vec<T>, order: &[usize]) -> Vec<T> {
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    order.iter().filter_map(|&at| items[at].take()).collect()
}

fn callees_first(computations: Vec<module::Computation>) -> Result<Vec<module::Computation>, Fault> {
    let at: HashMap<i64, usize> = computations.iter().enumerate().map(|(at, c)| (c.id, at)).collect();
    let needs = |caller: usize| {
        let called = computations[caller].instructions.iter().flat_map(|i| &i.called_computation_ids);
        called.filter_map(|id| at.get(id).copied()).collect()
    };
    match topological_order(computations.len(), needs) {
        Ok(order) => Ok(reordered(computations, &order)),
        Err(on_cycle) => Err(of(&computations[on_cycle].name)("the computation calls itself".to_owned())),
    }
}

fn read_computation(
    message: module::Computation,
    computations: &HashMap<i64, ComputationId>,
    schedule: Option<&module::InstructionSequence>,
    payloads: &[Vec<u8>],
) -> Result<Computation, Fault> {
    let name = message.name.clone();
    let instructions = operands_first(message.instructions, schedule).map_err(of(&name))?;
    let mut ids: HashMap<i64, InstrId> = HashMap::with_capacity(instructions.len());
    let mut read = Vec::with_capacity(instructions.len());
    for instruction in instructions {
        let (subject, id) = (instruction.name.clone(), instruction.id);
        read.push(read_instruction(instruction, &ids, computations, payloads).map_err(of(&subject))?);
        if ids.insert(id, InstrId(read.len() as u32 - 1)).is_some() {
            return Err(of(&subject)(format!("a second instruction has the id {id}")));
        }
    }
    let root = ids.get(&message.root_id).copied();
    let root = root.ok_or_else(|| of(&name)(format!("the computation has no root {}", message.root_id)))?;
    let execution_thread = Some(message.execution_thread).filter(|thread| !thread.is_empty() && thread != "main");
    Ok(Computation { name, instructions: read, root, execution_thread, span: Span::default() })
}

/// Sorts a computation's instructions by its schedule, if it has one. Then moves operands before
/// their users if necessary.
fn operands_first(
    mut instructions: Vec<message::Instruction>,
    schedule: Option<&module::InstructionSequence>,
) -> Result<Vec<message::Instruction>, String> {
    if let Some(schedule) = schedule {
        let place: HashMap<i64, usize> =
            schedule.instruction_ids.iter().enumerate().map(|(place, &id)| (id, place)).collect();
        instructions.sort_by_key(|instruction| place.get(&instruction.id).copied().unwrap_or(usize::MAX));
    }
    let at: HashMap<i64, usize> = instructions.iter().enumerate().map(|(at, i)| (i.id, at)).collect();
    let needs = |user: usize| {
        let user = &instructions[user];
        let ids = user.operand_ids.iter().chain(&user.control_predecessor_ids);
        ids.filter_map(|id| at.get(id).copied()).collect()
    };
    match topological_order(instructions.len(), needs) {
        Ok(order) => Ok(reordered(instructions, &order)),
        Err(on_cycle) => Err(format!("the instruction `{}` is an operand of itself", instructions[on_cycle].name)),
    }
}

fn read_instruction(
    mut message: message::Instruction,
    ids: &HashMap<i64, InstrId>,
    computations: &HashMap<i64, ComputationId>,
    payloads: &[Vec<u8>],
) -> Result<Instruction, String> {
    let find = |what: &str, id: &i64| ids.get(id).copied().ok_or_else(|| format!("{what} {id} is not there"));
    let operands = message.operand_ids.iter().map(|id| find("the operand", id)).collect::<Result<_, _>>()?;
    let predecessors = message.control_predecessor_ids.iter().map(|id| find("the control predecessor", id));
    let control_predecessors: Vec<InstrId> = predecessors.collect::<Result<_, _>>()?;
    let callee = |id: &i64| computations.get(id).copied().ok_or_else(|| format!("the computation {id} is not there"));
    let called: Vec<ComputationId> = message.called_computation_ids.iter().map(callee).collect::<Result<_, _>>()?;
    let shape = read_required(message.shape.as_ref(), "the instruction")?;
    resolve_payload(&mut message, payloads)?;
    let mut op = read_op(&mut message, &called)?;
    let mut extra = decoded_parts(&mut message, op.opcode())?;
    if let Some(text) = &message.text {
        apply_text(text, &mut op, &mut extra);
    }
    extra.control_predecessors = control_predecessors;
    let extra = (extra != Extra::default()).then(|| Box::new(extra));
    let name = message.own_name.unwrap_or(message.name);
    Ok(Instruction { name, shape, op, operands, extra, span: Span::default() })
}

/// Copies a large configuration into its instruction. Newer modules contain large configurations in
/// a list outside the instructions.
fn resolve_payload(message: &mut message::Instruction, payloads: &[Vec<u8>]) -> Result<(), String> {
    let Some(payload) = message.backend_config_payload.take() else { return Ok(()) };
    if !payload.value.is_empty() {
        message.backend_config = payload.value;
    } else if message.backend_config.is_empty() && !payloads.is_empty() {
        let found = usize::try_from(payload.id).ok().and_then(|id| payloads.get(id));
        message.backend_config = found.ok_or_else(|| format!("there is no payload {}", payload.id))?.clone();
    }
    Ok(())
}

/// Decodes the fields of an instruction that do not affect its value.
pub(super) fn decoded_parts(message: &mut message::Instruction, opcode: Opcode) -> Result<Extra, String> {
    let backend_config = std::mem::take(&mut message.backend_config);
    let backend_config =
        String::from_utf8(backend_config).map_err(|_| "the backend_config is not text; only text is supported")?;
    let sharding = message.sharding.as_ref().filter(|sharding| sharding.named_sharding.is_none());
    Ok(Extra {
        metadata: message.metadata.take().filter(|metadata| *metadata != data::Metadata::default()).map(read_metadata),
        sharding: sharding.map(sharding_text),
        frontend_attributes: message.frontend_attributes.take().map(|map| map.map).unwrap_or_default(),
        backend_config: Some(backend_config).filter(|config| !config.is_empty()),
        control_predecessors: Vec::new(),
        other: kept_attributes(message, opcode),
    })
}

fn read_metadata(message: data::Metadata) -> Metadata {
    let mut other = Vec::new();
    let numbers = [
        ("source_end_line", message.source_end_line),
        ("source_column", message.source_column),
        ("source_end_column", message.source_end_column),
    ];
    for (name, number) in numbers.into_iter().filter(|&(_, number)| number != 0) {
        other.push((name.to_owned(), number.to_string()));
    }
    let names = [("deduplicated_name", &message.deduplicated_name), ("scheduling_name", &message.scheduling_name)];
    for (name, text) in names.into_iter().filter(|(_, text)| !text.is_empty()) {
        other.push((name.to_owned(), quoted(text)));
    }
    Metadata {
        op_type: message.op_type,
        op_name: message.op_name,
        source_file: message.source_file,
        source_line: message.source_line.into(),
        stack_frame_id: message.stack_frame_id.into(),
        other,
    }
}

fn read_aliases(message: &module::Module) -> Result<Vec<InputOutputAlias>, String> {
    let read = |entry: &module::AliasEntry| {
        let kind = match entry.kind {
            0 | 1 => AliasKind::May,
            2 => AliasKind::Must,
            kind => return Err(format!("unknown kind {kind} of alias")),
        };
        Ok(InputOutputAlias {
            output: entry.output_shape_index.clone(),
            parameter: entry.parameter_number,
            parameter_index: entry.parameter_shape_index.clone(),
            kind,
        })
    };
    message.input_output_alias.iter().flat_map(|alias| &alias.entries).map(read).collect()
}

fn donor(entry: &module::DonorEntry) -> (i64, Vec<i64>) {
    (entry.parameter_number, entry.parameter_shape_index.clone())
}

fn read_entry_layout(message: &module::Module) -> Result<Option<EntryLayout>, String> {
    let Some(shape) = &message.host_program_shape else { return Ok(None) };
    let parameters = shape.parameters.iter().map(read_shape).collect::<Result<_, _>>()?;
    Ok(Some(EntryLayout { parameters, result: read_required(shape.result.as_ref(), "the result of the entry")? }))
}

fn read_other_attributes(ours: Option<TextAttributes>, message: &module::Module) -> Vec<(String, String)> {
    if let Some(ours) = ours {
        return ours.list.into_iter().map(|attribute| (attribute.name, attribute.value)).collect();
    }
    let empty = BTreeMap::new();
    let map = message.frontend_attributes.as_ref().map_or(&empty, |attributes| &attributes.map);
    if map.is_empty() {
        return Vec::new();
    }
    let entries = joined(map.iter().map(|(key, value)| format!("{key}={}", quoted(value))), ",");
    vec![("frontend_attributes".to_owned(), format!("{{{entries}}}"))]
}

fn read_debug_tables(message: module::StackFrameIndex) -> DebugTables {
    let frame = |row: &module::StackFrame| StackFrame {
        file_location_id: row.file_location_id.into(),
        parent_frame_id: i64::from(row.parent_frame_id) + 1,
    };
    DebugTables {
        file_locations: message.file_locations,
        stack_frames: message.stack_frames.iter().map(frame).collect(),
        file_names: message.file_names,
        function_names: message.function_names,
    }
}
