//! Between the emitter interface's types and the messages of [`schema`](super::schema).

use std::collections::HashMap;

use prost::Message;

use super::schema;
use crate::device::DeviceDescription;
use crate::emitter::{
    Bid, Configuration, Decline, Descriptor, Emitter, Fusion, Kernel, KernelCode, KernelKind, LaunchDimensions,
    OutputPlan, Plan, SubgraphCall, SubgraphKind, Verdict, WriteMode,
};
use crate::hlo::{InstrId, Opcode, PrintOptions, parse_module, print_module_with};

/// A message that does not mean anything.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WireError(pub String);

impl From<prost::DecodeError> for WireError {
    fn from(error: prost::DecodeError) -> Self {
        WireError(format!("not a message of this interface: {error}"))
    }
}

/// A fusion as bytes. Metadata stays behind: it says where instructions came from, not what they do.
///
/// The module goes as text: it is written three times and read as fast as its protobuf form, and both
/// sides can be of different age.
pub fn encode_fusion(fusion: &Fusion) -> Vec<u8> {
    let options = PrintOptions { omit_metadata: true, ..PrintOptions::default() };
    let module = print_module_with(&fusion.module, &options);
    schema::Fusion { name: fusion.name.clone(), module }.encode_to_vec()
}

/// A fusion from bytes.
///
/// # Errors
/// If the bytes are not a fusion, or hold a module that cannot be read.
pub fn decode_fusion(bytes: &[u8]) -> Result<Fusion, WireError> {
    let message = schema::Fusion::decode(bytes)?;
    let module = parse_module(&message.module, &message.name).map_err(|faults| {
        let first = faults.first().map_or_else(|| "unreadable".to_owned(), ToString::to_string);
        WireError(format!("fusion {}: {first}", message.name))
    })?;
    let missing = || WireError(format!("fusion {} has no entry computation", message.name));
    Fusion::new(message.name.clone(), module).ok_or_else(missing)
}

impl From<&DeviceDescription> for schema::Device {
    fn from(device: &DeviceDescription) -> Self {
        let is_gpu = !device.is_single_threaded_block();
        schema::Device {
            // What libraries were told that were built when descriptions had these.
            registers_per_thread: if is_gpu { 255 } else { 512 },
            last_level_cache_bytes: if is_gpu { 50 << 20 } else { 32 << 20 },
            native_atomic_add_f32: is_gpu,
            native_bf16: is_gpu,
            name: device.name.clone(),
            warp_size: device.warp_size,
            max_threads_per_block: device.max_threads_per_block,
            max_threads_per_core: device.max_threads_per_core,
            core_count: device.core_count,
            shared_bytes_per_block: device.shared_bytes_per_block,
            vector_bytes: device.vector_bytes,
            register_bytes: device.register_bytes,
            registers: device.registers,
            cache_line_bytes: device.cache_line_bytes,
            core_cache_bytes: device.core_cache_bytes,
            memory_bandwidth: device.memory_bandwidth,
            flops: device.flops,
        }
    }
}

impl From<schema::Device> for DeviceDescription {
    fn from(device: schema::Device) -> Self {
        DeviceDescription {
            name: device.name,
            warp_size: device.warp_size,
            max_threads_per_block: device.max_threads_per_block,
            max_threads_per_core: device.max_threads_per_core,
            core_count: device.core_count,
            shared_bytes_per_block: device.shared_bytes_per_block,
            vector_bytes: device.vector_bytes,
            register_bytes: device.register_bytes,
            registers: device.registers,
            cache_line_bytes: device.cache_line_bytes,
            core_cache_bytes: device.core_cache_bytes,
            memory_bandwidth: device.memory_bandwidth,
            flops: device.flops,
        }
    }
}

/// An emitter's descriptor and anchors as a message.
pub fn encode_descriptor(emitter: &dyn Emitter) -> schema::Descriptor {
    let Descriptor { kind, name, version } = emitter.descriptor();
    let anchors = emitter.anchors().into_iter().map(|anchor| anchor.name().to_owned()).collect();
    schema::Descriptor { kind: kind.0, name, version, anchors }
}

/// The opcodes of a message that this release knows.
pub fn decode_anchors(descriptor: &schema::Descriptor) -> Vec<Opcode> {
    descriptor.anchors.iter().filter_map(|name| name.parse().ok()).collect()
}

/// A bid on this region as a message.
pub fn encode_bid(bid: &Bid, region: &Fusion) -> schema::Bid {
    match bid {
        Bid::Take { instructions } => {
            // What is no instruction must not get lost on the way: the host refuses a name that it does not find.
            let known = |id: &InstrId| region.computation().instructions.get(id.index());
            let name = |id: &InstrId| known(id).map_or_else(|| format!("{id:?}"), |it| it.name.clone());
            let instructions = instructions.iter().map(name).collect();
            schema::Bid { instructions, decline: None }
        }
        Bid::Decline(Decline { reason, instruction }) => {
            let decline = schema::Decline { reason: reason.clone(), instruction: instruction.clone() };
            schema::Bid { instructions: Vec::new(), decline: Some(decline) }
        }
    }
}

/// A bid on this region from a message.
///
/// # Errors
/// If it names an instruction that the region lacks.
pub fn decode_bid(bid: schema::Bid, region: &Fusion) -> Result<Bid, WireError> {
    if let Some(schema::Decline { reason, instruction }) = bid.decline {
        return Ok(Bid::Decline(Decline { reason, instruction }));
    }
    let computation = region.computation();
    let numbers: HashMap<&str, InstrId> =
        computation.ids().map(|id| (computation.instruction(id).name.as_str(), id)).collect();
    let id = |name: &String| {
        let unknown = || WireError(format!("it takes {name}, which the region lacks"));
        numbers.get(name.as_str()).copied().ok_or_else(unknown)
    };
    Ok(Bid::Take { instructions: bid.instructions.iter().map(id).collect::<Result<_, _>>()? })
}

impl From<schema::Descriptor> for Descriptor {
    fn from(descriptor: schema::Descriptor) -> Self {
        Descriptor { kind: KernelKind(descriptor.kind), name: descriptor.name, version: descriptor.version }
    }
}

impl From<&Verdict> for schema::Verdict {
    fn from(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Accept { score } => schema::Verdict { score: *score, decline: None },
            Verdict::Decline(decline) => {
                let (reason, instruction) = (decline.reason.clone(), decline.instruction.clone());
                schema::Verdict { score: 0, decline: Some(schema::Decline { reason, instruction }) }
            }
        }
    }
}

impl From<schema::Verdict> for Verdict {
    fn from(verdict: schema::Verdict) -> Self {
        match verdict.decline {
            None => Verdict::Accept { score: verdict.score },
            Some(schema::Decline { reason, instruction }) => Verdict::Decline(Decline { reason, instruction }),
        }
    }
}

impl From<&Configuration> for schema::Configuration {
    fn from(configuration: &Configuration) -> Self {
        schema::Configuration { knobs: configuration.0.clone() }
    }
}

impl From<schema::Configuration> for Configuration {
    fn from(configuration: schema::Configuration) -> Self {
        Configuration(configuration.knobs)
    }
}

impl From<&Plan> for schema::Plan {
    fn from(plan: &Plan) -> Self {
        let output = |output: &OutputPlan| {
            let mode = match output.mode {
                WriteMode::Unique => schema::WriteMode::Unique,
                WriteMode::Atomic => schema::WriteMode::Atomic,
                WriteMode::InPlace => schema::WriteMode::InPlace,
            };
            let maps = output.maps.iter().map(ToString::to_string).collect();
            schema::OutputPlan { maps, mode: mode.into(), initial: output.initial }
        };
        schema::Plan {
            blocks: plan.launch.blocks,
            threads_per_block: plan.launch.threads_per_block,
            shared_bytes: plan.shared_bytes,
            outputs: plan.outputs.iter().map(output).collect(),
            vector_lanes: plan.vector_lanes,
            configuration: Some((&plan.configuration).into()),
            alternatives: plan.alternatives.iter().map(Into::into).collect(),
            notes: plan.notes.clone(),
        }
    }
}

impl TryFrom<schema::Plan> for Plan {
    type Error = WireError;

    fn try_from(plan: schema::Plan) -> Result<Self, WireError> {
        let output = |(number, output): (usize, schema::OutputPlan)| {
            let parsed = output.maps.iter().map(|map| map.parse()).collect::<Result<_, _>>();
            let maps = parsed.map_err(|error| WireError(format!("map of output {number}: {error}")))?;
            let mode = match output.mode() {
                schema::WriteMode::Unique => WriteMode::Unique,
                schema::WriteMode::Atomic => WriteMode::Atomic,
                schema::WriteMode::InPlace => WriteMode::InPlace,
            };
            Ok(OutputPlan { maps, mode, initial: output.initial })
        };
        Ok(Plan {
            launch: LaunchDimensions { blocks: plan.blocks, threads_per_block: plan.threads_per_block },
            shared_bytes: plan.shared_bytes,
            outputs: plan.outputs.into_iter().enumerate().map(output).collect::<Result<_, WireError>>()?,
            vector_lanes: plan.vector_lanes,
            configuration: plan.configuration.unwrap_or_default().into(),
            alternatives: plan.alternatives.into_iter().map(Into::into).collect(),
            notes: plan.notes,
        })
    }
}

/// A kernel of this fusion as a message.
pub fn encode_kernel(kernel: &Kernel, fusion: &Fusion) -> schema::Kernel {
    let computation = fusion.computation();
    let names = |ids: &[InstrId]| -> Vec<String> {
        let known = ids.iter().filter_map(|id| computation.instructions.get(id.index()));
        known.map(|instruction| instruction.name.clone()).collect()
    };
    let call = |call: &SubgraphCall| {
        let (kind, instructions, heroes) = match &call.kind {
            SubgraphKind::Values { instructions } => (schema::SubgraphKind::Values, names(instructions), vec![]),
            SubgraphKind::Epilogue { roots, heroes } => (schema::SubgraphKind::Epilogue, names(roots), names(heroes)),
            SubgraphKind::Combiner { instruction } => (schema::SubgraphKind::Combiner, names(&[*instruction]), vec![]),
        };
        schema::SubgraphCall { symbol: call.symbol.clone(), kind: kind.into(), instructions, heroes }
    };
    schema::Kernel { mlir: format!("{:#}", kernel.code), calls: kernel.calls.iter().map(call).collect() }
}

/// A kernel of this fusion from a message.
///
/// # Errors
/// If a call names an instruction that the fusion lacks.
pub fn decode_kernel(kernel: schema::Kernel, fusion: &Fusion) -> Result<Kernel, WireError> {
    let computation = fusion.computation();
    let ids = |symbol: &str, names: &[String]| -> Result<Vec<InstrId>, WireError> {
        let id = |name: &String| {
            let unknown = || WireError(format!("function {symbol}: the fusion has no instruction {name}"));
            computation.find(name).ok_or_else(unknown)
        };
        names.iter().map(id).collect()
    };
    let call = |call: schema::SubgraphCall| {
        let instructions = ids(&call.symbol, &call.instructions)?;
        let kind = match call.kind() {
            schema::SubgraphKind::Values => SubgraphKind::Values { instructions },
            schema::SubgraphKind::Epilogue => {
                SubgraphKind::Epilogue { roots: instructions, heroes: ids(&call.symbol, &call.heroes)? }
            }
            schema::SubgraphKind::Combiner => match instructions[..] {
                [instruction] => SubgraphKind::Combiner { instruction },
                _ => return Err(WireError(format!("function {}: a combiner has one instruction", call.symbol))),
            },
        };
        Ok(SubgraphCall { symbol: call.symbol, kind })
    };
    Ok(Kernel {
        code: KernelCode::Text(kernel.mlir),
        calls: kernel.calls.into_iter().map(call).collect::<Result<_, WireError>>()?,
    })
}
