//! Conversions between the types of the emitter interface and the messages of
//! [`schema`].

use std::collections::HashMap;

use prost::Message;

use super::schema;
use crate::device::{DeviceDescription, NarrowProducts};
use crate::emitter::{
    Bid, Claim, Configuration, Decline, Descriptor, Emitter, Fusion, HeroPlace, Kernel, KernelCode, KernelKind,
    LaunchDimensions, OutputPlan, Parts, Pass, Plan, SubgraphCall, SubgraphKind, Verdict, Visit, Work, WriteMode,
};
use crate::hlo::{InstrId, Opcode, PrintOptions, parse_module, print_module_with};
use crate::ir::MatrixProduct;

/// The reason why a message is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WireError(pub String);

impl From<prost::DecodeError> for WireError {
    fn from(error: prost::DecodeError) -> Self {
        WireError(format!("not a message of this interface: {error}"))
    }
}

/// Encodes a fusion as bytes. Omits metadata, which describes the origin of instructions and not
/// their effect.
///
/// The function encodes the fusion's module as HLO text, not as a protobuf, because each module is
/// written only three times and text parses as fast as a protobuf. HLO text also allows host and
/// plugin to have different versions.
pub fn encode_fusion(fusion: &Fusion) -> Vec<u8> {
    let options = PrintOptions { omit_metadata: true, ..PrintOptions::default() };
    let module = print_module_with(&fusion.module, &options);
    schema::Fusion { name: fusion.name.clone(), module }.encode_to_vec()
}

/// Decodes a fusion from bytes.
///
/// # Errors
/// If the bytes are not an encoded fusion, or if the fusion's module does not parse.
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
        schema::Device {
            name: device.name.clone(),
            warp_size: device.warp_size,
            max_threads_per_block: device.max_threads_per_block,
            max_threads_per_core: device.max_threads_per_core,
            core_count: device.core_count,
            shared_bytes_per_block: device.shared_bytes_per_block,
            vector_bytes: device.vector_bytes,
            register_bytes: device.register_bytes,
            registers: device.registers,
            tile_products_bf16: device.tile_products.bf16,
            tile_products_int8: device.tile_products.int8,
            word_products_bf16: device.word_products.bf16,
            word_products_int8: device.word_products.int8,
            cache_line_bytes: device.cache_line_bytes,
            core_cache_bytes: device.core_cache_bytes,
            launch_seconds: device.launch_seconds,
            share_seconds: device.share_seconds,
            memory_bandwidth: device.memory_bandwidth,
            flops: device.flops,
            matrix_products: device.matrix_products.iter().map(|product| product.name().to_owned()).collect(),
            multiplies_tiles: device.multiplies_tiles,
            has_product_library: device.has_product_library,
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
            tile_products: NarrowProducts { bf16: device.tile_products_bf16, int8: device.tile_products_int8 },
            word_products: NarrowProducts { bf16: device.word_products_bf16, int8: device.word_products_int8 },
            cache_line_bytes: device.cache_line_bytes,
            core_cache_bytes: device.core_cache_bytes,
            launch_seconds: device.launch_seconds,
            share_seconds: device.share_seconds,
            memory_bandwidth: device.memory_bandwidth,
            flops: device.flops,
            // A plugin older than the host cannot use products that it does not know.
            matrix_products: device.matrix_products.iter().filter_map(|name| MatrixProduct::of_name(name)).collect(),
            multiplies_tiles: device.multiplies_tiles,
            has_product_library: device.has_product_library,
        }
    }
}

/// Encodes an emitter's descriptor, anchors and heroes as a message.
pub fn encode_descriptor(emitter: &dyn Emitter) -> schema::Descriptor {
    let Descriptor { kind, name, version } = emitter.descriptor();
    let names = |opcodes: Vec<Opcode>| opcodes.into_iter().map(|opcode| opcode.name().to_owned()).collect();
    let (anchors, heroes) = (names(emitter.anchors()), names(emitter.heroes()));
    schema::Descriptor { kind: kind.0, name, version, anchors, heroes }
}

/// Returns the opcodes with these names. Skips names that this release does not know.
pub fn decode_opcodes(names: &[String]) -> Vec<Opcode> {
    names.iter().filter_map(|name| name.parse().ok()).collect()
}

impl From<Claim> for schema::Claim {
    fn from(claim: Claim) -> Self {
        let pass = claim.pass.map(|pass| schema::Pass { dims: pass.dims, operands: pass.operands as u64 });
        schema::Claim {
            is_root: claim.place == HeroPlace::Root,
            is_nowhere: claim.place == HeroPlace::Nowhere,
            form: claim.form,
            lost_inside: claim.lost_inside,
            lost_beside: claim.lost_beside,
            pass,
            starts_from: claim.starts_from as u64,
            updates: claim.updates as u64,
            reads: claim.reads,
            orders: claim.orders.into_iter().map(|dims| schema::Order { dims }).collect(),
            parts: claim.parts.map(Into::into),
            keeps_producers: claim.keeps_producers,
            as_sum: claim.as_sum,
        }
    }
}

impl From<schema::Claim> for Claim {
    fn from(claim: schema::Claim) -> Self {
        // A number that does not fit into `usize` exceeds the operand count of any operation, so
        // the host refuses the claim.
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let place = match (claim.is_root, claim.is_nowhere) {
            (_, true) => HeroPlace::Nowhere,
            (true, false) => HeroPlace::Root,
            (false, false) => HeroPlace::BeforeEpilogue,
        };
        Claim {
            place,
            form: claim.form,
            lost_inside: claim.lost_inside,
            lost_beside: claim.lost_beside,
            pass: claim.pass.map(|pass| Pass { dims: pass.dims, operands: count(pass.operands) }),
            starts_from: count(claim.starts_from),
            updates: count(claim.updates),
            reads: claim.reads,
            orders: claim.orders.into_iter().map(|order| order.dims).collect(),
            parts: claim.parts.map(Into::into),
            keeps_producers: claim.keeps_producers,
            as_sum: claim.as_sum,
        }
    }
}

impl From<Parts> for schema::Parts {
    fn from(Parts { count, together, arithmetic, second }: Parts) -> Self {
        schema::Parts { count, together, arithmetic, second }
    }
}

impl From<schema::Parts> for Parts {
    fn from(schema::Parts { count, together, arithmetic, second }: schema::Parts) -> Self {
        Parts { count, together, arithmetic, second }
    }
}

/// Encodes a bid on this region as a message.
pub fn encode_bid(bid: &Bid, region: &Fusion) -> schema::Bid {
    match bid {
        Bid::Take { instructions } => {
            // An invalid id is also encoded as a name. The host finds no instruction with this name
            // and refuses the bid.
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

/// Decodes a bid on this region from a message.
///
/// # Errors
/// If the bid names an instruction that the region lacks.
pub fn decode_bid(bid: schema::Bid, region: &Fusion) -> Result<Bid, WireError> {
    if let Some(schema::Decline { reason, instruction }) = bid.decline {
        return Ok(Bid::Decline(Decline { reason, instruction }));
    }
    let numbers = numbers(region);
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
            Verdict::Accept => schema::Verdict::default(),
            Verdict::OnRequest => schema::Verdict { on_request: true, ..schema::Verdict::default() },
            Verdict::Decline(decline) => {
                let (reason, instruction) = (decline.reason.clone(), decline.instruction.clone());
                schema::Verdict { decline: Some(schema::Decline { reason, instruction }), ..schema::Verdict::default() }
            }
        }
    }
}

impl From<schema::Verdict> for Verdict {
    fn from(verdict: schema::Verdict) -> Self {
        match verdict.decline {
            None if verdict.on_request => Verdict::OnRequest,
            None => Verdict::Accept,
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

/// Encodes a plan for this fusion as a message.
pub fn encode_plan(plan: &Plan, fusion: &Fusion) -> schema::Plan {
    let output = |output: &OutputPlan| {
        let mode = match output.mode {
            WriteMode::Unique => schema::WriteMode::Unique,
            WriteMode::Atomic => schema::WriteMode::Atomic,
            WriteMode::InPlace => schema::WriteMode::InPlace,
        };
        let maps = output.maps.iter().map(ToString::to_string).collect();
        schema::OutputPlan { maps, mode: mode.into(), initial: output.initial, place: output.place.clone() }
    };
    let visit = |visit: &Visit| schema::Visit {
        map: visit.map.to_string(),
        values: names(fusion, &visit.values),
        given: names(fusion, &visit.given),
    };
    let Work { additions, tile_bytes, waits, atomics, past_caches, unordered } = plan.work;
    schema::Plan {
        blocks: plan.launch.blocks,
        threads_per_block: plan.launch.threads_per_block,
        shared_bytes: plan.shared_bytes,
        outputs: plan.outputs.iter().map(output).collect(),
        vector_lanes: plan.vector_lanes,
        configuration: Some((&plan.configuration).into()),
        alternatives: plan.alternatives.iter().map(Into::into).collect(),
        notes: plan.notes.clone(),
        visits: plan.visits.iter().map(visit).collect(),
        work: Some(schema::Work { additions, tile_bytes, waits, atomics, past_caches, unordered }),
    }
}

/// Decodes a plan for this fusion from a message.
///
/// # Errors
/// If a map does not parse, or a visit names an instruction that the fusion lacks.
pub fn decode_plan(plan: schema::Plan, fusion: &Fusion) -> Result<Plan, WireError> {
    let output = |(number, output): (usize, schema::OutputPlan)| {
        let parsed = output.maps.iter().map(|map| map.parse()).collect::<Result<_, _>>();
        let maps = parsed.map_err(|error| WireError(format!("map of output {number}: {error}")))?;
        let mode = match output.mode() {
            schema::WriteMode::Unique => WriteMode::Unique,
            schema::WriteMode::Atomic => WriteMode::Atomic,
            schema::WriteMode::InPlace => WriteMode::InPlace,
        };
        Ok(OutputPlan { maps, mode, initial: output.initial, place: output.place })
    };
    let numbers = numbers(fusion);
    let ids = |names: &[String]| -> Result<Vec<InstrId>, WireError> {
        let unknown = |name: &String| WireError(format!("it visits {name}, which the fusion lacks"));
        let id = |name: &String| numbers.get(name.as_str()).copied().ok_or_else(|| unknown(name));
        names.iter().map(id).collect()
    };
    let visit = |(number, visit): (usize, schema::Visit)| {
        let map = visit.map.parse().map_err(|error| WireError(format!("map of visit {number}: {error}")))?;
        Ok(Visit { map, values: ids(&visit.values)?, given: ids(&visit.given)? })
    };
    let schema::Work { additions, tile_bytes, waits, atomics, past_caches, unordered } = plan.work.unwrap_or_default();
    Ok(Plan {
        launch: LaunchDimensions { blocks: plan.blocks, threads_per_block: plan.threads_per_block },
        shared_bytes: plan.shared_bytes,
        outputs: plan.outputs.into_iter().enumerate().map(output).collect::<Result<_, WireError>>()?,
        visits: plan.visits.into_iter().enumerate().map(visit).collect::<Result<_, WireError>>()?,
        work: Work { additions, tile_bytes, waits, atomics, past_caches, unordered },
        vector_lanes: plan.vector_lanes,
        configuration: plan.configuration.unwrap_or_default().into(),
        alternatives: plan.alternatives.into_iter().map(Into::into).collect(),
        notes: plan.notes,
    })
}

fn names(fusion: &Fusion, ids: &[InstrId]) -> Vec<String> {
    let known = ids.iter().filter_map(|id| fusion.computation().instructions.get(id.index()));
    known.map(|instruction| instruction.name.clone()).collect()
}

fn numbers(fusion: &Fusion) -> HashMap<&str, InstrId> {
    let computation = fusion.computation();
    computation.ids().map(|id| (computation.instruction(id).name.as_str(), id)).collect()
}

/// Encodes a kernel of this fusion as a message.
pub fn encode_kernel(kernel: &Kernel, fusion: &Fusion) -> schema::Kernel {
    let names = |ids: &[InstrId]| names(fusion, ids);
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

/// Decodes a kernel of this fusion from a message.
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
