//! Encodes modules as bytes.

use std::collections::{BTreeMap, HashMap, HashSet};

use prost::Message;

use super::literals::write_literal;
use super::module::{self, ModuleExtension};
use super::op::{in_message_order, read_op, write_op};
use super::read::decoded_parts;
use super::shapes::write_shape;
use super::sharding::parse_sharding;
use super::text_attributes::{all_text, write_attribute};
use crate::message::{self, data};
use crate::message::{TextAttribute, TextAttributes};
use crate::text::lexer::Cursor;
use crate::{AliasKind, Computation, ComputationId, Extra, Instruction, Metadata, Module, Op};

/// Serialises a module as an `HloModuleProto` that XLA can read.
pub fn write_proto(module: &Module) -> Vec<u8> {
    module_message(module).encode_to_vec()
}

/// Returns an id that is unique in the module. The upper half of the id is the number of the
/// instruction's computation.
fn instruction_id(computation: usize, instruction: usize) -> i64 {
    ((computation as i64) << 32) | instruction as i64
}

fn module_message(module: &Module) -> module::Module {
    let mut is_fused = vec![false; module.computations.len()];
    for instruction in module.computations.iter().flat_map(|computation| &computation.instructions) {
        if let Op::Fusion { calls, .. } = instruction.op
            && let Some(place) = is_fused.get_mut(calls.index())
        {
            *place = true;
        }
    }
    let computations = module.computations.iter().enumerate();
    let computations: Vec<module::Computation> =
        computations.map(|(index, computation)| computation_message(index, computation, is_fused[index])).collect();
    let computations = with_unique_names(computations);
    let schedule = module.is_scheduled.then(|| schedule_message(&computations));
    let entry = module.entry_computation();
    let frontend = module.other_attributes.iter().find(|(name, _)| name == "frontend_attributes");
    let frontend = frontend.and_then(|(_, text)| crate::text::extra::string_map(&mut Cursor::new(text)).ok());
    module::Module {
        name: module.name.clone(),
        entry_computation_name: entry.map(|entry| entry.name.clone()).unwrap_or_default(),
        host_program_shape: host_program_shape(module, entry),
        id: 0,
        entry_computation_id: module.entry.map_or(0, |entry| entry.index() as i64),
        computations,
        schedule,
        input_output_alias: Some(alias_message(module)),
        stack_frame_index: stack_frames(module),
        buffer_donor: Some(donor_message(module)),
        frontend_attributes: frontend.map(|map| data::FrontendAttributes { map }),
        payloads: Vec::new(),
        fusebox: Some(ModuleExtension {
            bare: module.bare,
            replica_count: module.replica_count,
            num_partitions: module.num_partitions,
            other_attributes: Some(text_list(&module.other_attributes)),
            no_entry_layout: module.entry_layout.is_none(),
        }),
    }
}

/// Renames an instruction if an earlier computation already uses its name.
fn with_unique_names(mut computations: Vec<module::Computation>) -> Vec<module::Computation> {
    let mut used: HashSet<String> = HashSet::new();
    let given = computations.iter().flat_map(|computation| &computation.instructions);
    let mut numbers: HashMap<String, usize> = given.map(|instruction| (instruction.name.clone(), 0)).collect();
    for instruction in computations.iter_mut().flat_map(|computation| &mut computation.instructions) {
        if used.insert(instruction.name.clone()) {
            continue;
        }
        let own_name = instruction.name.clone();
        let mut number = numbers.get(&own_name).copied().unwrap_or(0);
        let unique = loop {
            number += 1;
            let candidate = format!("{own_name}.copy{number}");
            if !numbers.contains_key(&candidate) && used.insert(candidate.clone()) {
                break candidate;
            }
        };
        numbers.insert(own_name.clone(), number);
        instruction.name = unique;
        instruction.own_name = Some(own_name);
    }
    computations
}

fn text_list(attributes: &[(String, String)]) -> TextAttributes {
    let attribute = |(name, value): &(String, String)| TextAttribute { name: name.clone(), value: value.clone() };
    TextAttributes { list: attributes.iter().map(attribute).collect() }
}

fn program_shape(computation: &Computation) -> Option<data::ProgramShape> {
    let signature = computation.signature()?;
    let names = computation.parameters().into_iter().map(|id| computation.instruction(id).name.clone());
    Some(data::ProgramShape {
        parameters: signature.parameters.iter().map(|shape| write_shape(shape)).collect(),
        result: Some(write_shape(signature.result)),
        parameter_names: names.collect(),
    })
}

/// Returns the shapes of the entry's parameters and result, with the layouts in which the caller
/// passes arrays.
fn host_program_shape(module: &Module, entry: Option<&Computation>) -> Option<data::ProgramShape> {
    let mut shape = program_shape(entry?)?;
    if let Some(layout) = &module.entry_layout {
        shape.parameters = layout.parameters.iter().map(write_shape).collect();
        shape.result = Some(write_shape(&layout.result));
    }
    Some(shape)
}

fn schedule_message(computations: &[module::Computation]) -> module::Schedule {
    let mut sequences = BTreeMap::new();
    for computation in computations.iter().filter(|computation| !computation.is_fusion_computation) {
        let instruction_ids = computation.instructions.iter().map(|instruction| instruction.id).collect();
        sequences.insert(computation.id, module::InstructionSequence { instruction_ids });
    }
    module::Schedule { sequences }
}

fn alias_message(module: &Module) -> module::InputOutputAlias {
    let entry = |alias: &crate::InputOutputAlias| module::AliasEntry {
        output_shape_index: alias.output.clone(),
        parameter_number: alias.parameter,
        parameter_shape_index: alias.parameter_index.clone(),
        kind: match alias.kind {
            AliasKind::May => 1,
            AliasKind::Must => 2,
        },
    };
    module::InputOutputAlias { entries: module.input_output_alias.iter().map(entry).collect() }
}

fn donor_message(module: &Module) -> module::BufferDonor {
    let entry = |(parameter, index): &(i64, Vec<i64>)| module::DonorEntry {
        parameter_number: *parameter,
        parameter_shape_index: index.clone(),
    };
    module::BufferDonor { entries: module.buffer_donor.iter().map(entry).collect() }
}

fn stack_frames(module: &Module) -> Option<module::StackFrameIndex> {
    let tables = &module.debug_tables;
    let frame = |row: &crate::StackFrame| module::StackFrame {
        file_location_id: row.file_location_id as i32,
        parent_frame_id: (row.parent_frame_id - 1) as i32,
    };
    (*tables != crate::DebugTables::default()).then(|| module::StackFrameIndex {
        file_names: tables.file_names.clone(),
        function_names: tables.function_names.clone(),
        file_locations: tables.file_locations.clone(),
        stack_frames: tables.stack_frames.iter().map(frame).collect(),
    })
}

fn computation_message(index: usize, computation: &Computation, is_fused: bool) -> module::Computation {
    let instructions = computation.instructions.iter().enumerate();
    let write = |(at, instruction): (usize, &Instruction)| instruction_message(index, at, instruction);
    module::Computation {
        name: computation.name.clone(),
        instructions: instructions.map(write).collect(),
        program_shape: program_shape(computation),
        id: index as i64,
        root_id: instruction_id(index, computation.root.index()),
        is_fusion_computation: is_fused,
        execution_thread: computation.execution_thread.clone().unwrap_or_else(|| "main".to_owned()),
    }
}

fn instruction_message(computation: usize, at: usize, instruction: &Instruction) -> message::Instruction {
    let id_of = |id: &crate::InstrId| instruction_id(computation, id.index());
    let called = in_message_order(instruction.opcode(), instruction.op.called());
    let extra = instruction.extra.as_deref();
    let mut message = message::Instruction {
        name: instruction.name.clone(),
        opcode: instruction.opcode().name().to_owned(),
        shape: Some(write_shape(&instruction.shape)),
        id: instruction_id(computation, at),
        operand_ids: instruction.operands.iter().map(id_of).collect(),
        control_predecessor_ids: extra.iter().flat_map(|extra| &extra.control_predecessors).map(id_of).collect(),
        called_computation_ids: called.iter().map(|id| id.index() as i64).collect(),
        feature_group_count: 1,
        batch_group_count: 1,
        ..Default::default()
    };
    if let Op::Constant(literal) = &instruction.op {
        message.literal = Some(write_literal(literal, &instruction.shape));
    }
    write_op(&mut message, &instruction.op);
    if let Op::Other { attributes, .. } = &instruction.op {
        attributes.iter().for_each(|(name, text)| write_attribute(&mut message, name, text));
    }
    if let Some(extra) = extra {
        write_extra(&mut message, extra);
    }
    add_text(&mut message, instruction, &called);
    message
}

fn write_extra(message: &mut message::Instruction, extra: &Extra) {
    message.metadata = extra.metadata.as_ref().map(metadata_message);
    message.sharding = extra.sharding.as_deref().and_then(parse_sharding);
    if !extra.frontend_attributes.is_empty() {
        message.frontend_attributes = Some(data::FrontendAttributes { map: extra.frontend_attributes.clone() });
    }
    message.backend_config = extra.backend_config.clone().unwrap_or_default().into_bytes();
    extra.other.iter().for_each(|(name, text)| write_attribute(message, name, text));
}

fn metadata_message(metadata: &Metadata) -> data::Metadata {
    let mut message = data::Metadata {
        op_type: metadata.op_type.clone(),
        op_name: metadata.op_name.clone(),
        source_file: metadata.source_file.clone(),
        source_line: metadata.source_line as i32,
        stack_frame_id: metadata.stack_frame_id as i32,
        ..Default::default()
    };
    for (name, text) in &metadata.other {
        let number = text.parse().unwrap_or_default();
        let string = || Cursor::new(text).string("a name").unwrap_or_default();
        match name.as_str() {
            "source_end_line" => message.source_end_line = number,
            "source_column" => message.source_column = number,
            "source_end_column" => message.source_end_column = number,
            "deduplicated_name" => message.deduplicated_name = string(),
            "scheduling_name" => message.scheduling_name = string(),
            _ => {}
        }
    }
    message
}

/// Adds the instruction's text attributes to the message if a reader could not restore these
/// attributes from the message's other fields.
fn add_text(message: &mut message::Instruction, instruction: &Instruction, called: &[ComputationId]) {
    if matches!(instruction.op, Op::Constant(_)) && instruction.extra.is_none() {
        return;
    }
    let text = all_text(&instruction.op, instruction.extra.as_deref());
    if text.list.is_empty() {
        return;
    }
    let mut copy = message::Instruction { literal: None, ..message.clone() };
    let op = match &instruction.op {
        Op::Constant(_) => Ok(instruction.op.clone()),
        _ => read_op(&mut copy, called),
    };
    let extra = decoded_parts(&mut copy, instruction.opcode());
    let mut written = instruction.extra.as_deref().cloned().unwrap_or_default();
    written.control_predecessors.clear();
    if op.as_ref() != Ok(&instruction.op) || extra != Ok(written) {
        message.text = Some(text);
    }
}
