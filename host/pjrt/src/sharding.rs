//! How the parameters and outputs of a program are divided among its devices.

use fusebox_core::hlo::{Extra, Instruction, Meshes, Module, Op, Shape, Tiling, axis_shardings};
use prost::Message;
use serde::{Deserialize, Serialize};

use crate::error::{Answer, Error};
use crate::messages::ShardingMessage;

/// The divisions of all parameters and outputs, as HLO text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shardings {
    pub parameters: Vec<String>,
    pub outputs: Vec<String>,
}

impl Shardings {
    /// Returns the divisions that a program states for its parameters and outputs. If the program
    /// states no division of a value, every device has the whole value.
    pub fn of(module: &Module, devices: usize) -> Answer<Shardings> {
        let meshes = Meshes::of(module).map_err(Error::invalid)?;
        let Some(entry) = module.entry_computation() else { return Ok(Shardings::default()) };
        let of = |instruction: &Instruction| {
            let tiling = tiling(instruction, &meshes, devices);
            let refused = |message| Error::invalid(format!("the sharding of {}: {message}", instruction.name));
            tiling.map(|tiling| tiling.to_string()).map_err(refused)
        };
        let parameters = entry.parameters().into_iter().map(|id| of(entry.instruction(id))).collect::<Answer<_>>()?;
        let root = entry.root_instruction();
        let results: Vec<&Instruction> = match root.op {
            Op::Tuple => root.operands.iter().map(|&id| entry.instruction(id)).collect(),
            _ => vec![root],
        };
        let mut suggested = meshes.of_results(module).into_iter();
        let outputs = results.into_iter().map(|result| {
            let suggestion = suggested.next();
            match suggestion.map(|it| Tiling::of_axes(&it)) {
                Some(Ok(tiling)) if !states_its_sharding(result) && tiling.devices() == devices => {
                    Ok(tiling.to_string())
                }
                _ => of(result),
            }
        });
        Ok(Shardings { parameters, outputs: outputs.collect::<Answer<_>>()? })
    }

    /// Parses `texts` as the tilings of arrays with these ranks.
    pub fn tilings(texts: &[String], devices: usize, ranks: impl Iterator<Item = usize>) -> Answer<Vec<Tiling>> {
        let mut texts = texts.iter();
        let tiling = |rank| match texts.next() {
            Some(text) => Tiling::parse(text, devices, rank).map_err(Error::invalid),
            None => Ok(Tiling::whole(devices, rank)),
        };
        ranks.map(tiling).collect()
    }
}

fn tiling(instruction: &Instruction, meshes: &Meshes, devices: usize) -> Result<Tiling, String> {
    let rank = instruction.shape.as_array().map_or(0, |array| array.dims.len());
    let whole = Tiling::whole(devices, rank);
    let Some(Extra { sharding, frontend_attributes, .. }) = instruction.extra.as_deref() else { return Ok(whole) };
    if !matches!(instruction.shape, Shape::Array(_)) || !states_its_sharding(instruction) {
        return Ok(whole);
    }
    if let Some(text) = frontend_attributes.get("xla.sdy.sharding") {
        let Some(sharding) = axis_shardings(text, meshes)?.into_iter().next() else { return Ok(whole) };
        let tiling = Tiling::of_axes(&sharding)?;
        // A mesh of a single device stands for any number of devices with the whole array.
        return Ok(if tiling.devices() == devices { tiling } else { whole });
    }
    sharding.as_ref().map_or(Ok(whole), |text| Tiling::parse(text, devices, rank))
}

/// Whether the sharding attributes of an instruction describe a parameter or an output of the
/// program. The last instruction of a program may have sharding attributes that only constrain a
/// value inside of the program.
fn states_its_sharding(instruction: &Instruction) -> bool {
    let has_text = instruction.extra.as_ref().is_some_and(|extra| extra.sharding.is_some());
    match &instruction.op {
        Op::Parameter { .. } => true,
        Op::CustomCall(call) => call.target == "xla.sdy.FuncResultSharding" || (call.target == "Sharding" && has_text),
        _ => false,
    }
}

/// Numbers that state the meanings of the last dimensions of a grid of devices.
const REPLICATED: i32 = 0;
const UNREDUCED: i32 = 6;

/// Serialises a tiling as a sharding message of the interface.
pub fn message(tiling: &Tiling) -> Vec<u8> {
    if tiling.is_whole() {
        return ShardingMessage::default().encode_to_vec();
    }
    if tiling.is_sum() {
        return ShardingMessage { kind: UNREDUCED, ..ShardingMessage::default() }.encode_to_vec();
    }
    let (mut tiles, devices) = tiling.grid();
    let (copies, terms) = (tiles.pop().unwrap_or(1), tiles.pop().unwrap_or(1));
    let (has_copies, mut last_dims) = (copies > 1 && terms == 1, Vec::new());
    if terms > 1 {
        tiles.push(terms);
        last_dims.push(UNREDUCED);
    }
    if copies > 1 {
        tiles.push(copies);
        last_dims.extend((terms > 1).then_some(REPLICATED));
    }
    ShardingMessage { kind: 3, tiles, devices, has_copies, last_dims }.encode_to_vec()
}
