//! Damages executables. In some of them, it also corrects the digest in the file.
//!
//! If the digest is wrong, the runtime must reject the executable. If the digest was corrected, the
//! runtime may reject or load the executable. No damaged executable is run, as its machine code may
//! do anything.

use fusebox_compiler::Source;
use fusebox_runtime::{Executable, LoadedExecutable, Options};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::compiled::{Place, executable, registry};
use crate::random::Random;
use crate::seeds::Seeds;
use crate::worker::feeds;
use crate::{Outcome, Target, mutate};

/// Approximate number of modules that are compiled at the start.
const MOST_SEEDS: usize = 8;
/// Number of bytes that precede the digest in the file: magic, version and length. See
/// `host/runtime/src/executable/format.rs`.
const PREFIX: usize = 20;
/// Number of bytes that precede the data in the file.
const HEADER: usize = PREFIX + 32;

/// The target for executables: changes executables that the compiler has written.
pub struct Executables {
    seeds: Vec<Executable>,
    pool: Vec<Vec<u8>>,
}

impl Executables {
    /// Creates the target. Compiles a few seeds for this machine and for the simulator. Fails if no
    /// seed compiles.
    pub fn new(seeds: &Seeds) -> Result<Executables, String> {
        let registry = registry()?;
        let mut texts: Vec<&String> = seeds.texts.iter().collect();
        texts.sort_by_key(|text| text.len());
        // Chooses modules of various sizes.
        let step = (texts.len() / MOST_SEEDS).max(1);
        let mut made = Vec::new();
        for text in texts.into_iter().step_by(step) {
            for place in [Place::Cpu, Place::Simt] {
                made.extend(executable(&Source::text("seed.hlo", text), place, &registry));
            }
        }
        if made.is_empty() {
            return Err("no seed compiles".into());
        }
        let pool = made.iter().map(|it| it.to_bytes().map_err(|error| error.to_string()));
        let pool = pool.collect::<Result<Vec<_>, String>>()?;
        Ok(Executables { seeds: made, pool })
    }

    fn damaged(&self, random: &mut Random, input: &mut Vec<u8>) -> Result<Outcome, String> {
        let Some(whole) = random.pick(&self.pool) else { return Ok("nothing") };
        input.clone_from(whole);
        let other = random.pick(&self.pool).cloned().unwrap_or_default();
        mutate::bytes(random, input, &other);
        feeds(input)?;
        match Executable::from_bytes(input) {
            Err(_) => Ok("damaged"),
            Ok(_) if self.pool.contains(input) => Ok("unchanged"),
            Ok(_) => Err("a damaged file is taken for whole".into()),
        }
    }

    fn resealed(&self, random: &mut Random, input: &mut Vec<u8>) -> Result<Outcome, String> {
        let Some(whole) = random.pick(&self.pool) else { return Ok("nothing") };
        *input = whole[HEADER..].to_vec();
        let other = random.pick(&self.pool).cloned().unwrap_or_default();
        mutate::bytes(random, input, &other);
        input.splice(..0, whole[..HEADER].iter().copied());
        seal(input);
        load(input)
    }

    /// Changes numbers, texts and lists of an executable. Encodes the executable with the right
    /// digest, and loads it.
    fn misleading(&self, random: &mut Random, input: &mut Vec<u8>) -> Result<Outcome, String> {
        let Some(seed) = random.pick(&self.seeds) else { return Ok("nothing") };
        let mut value = serde_json::to_value(seed).map_err(|error| error.to_string())?;
        for _ in 0..=random.below(3) {
            change(&mut value, random);
        }
        let Ok(changed) = serde_json::from_value::<Executable>(value) else { return Ok("none") };
        *input = changed.to_bytes().map_err(|error| error.to_string())?;
        load(input)
    }
}

impl Target for Executables {
    fn run(&mut self, random: &mut Random, input: &mut Vec<u8>) -> Result<Outcome, String> {
        match random.below(3) {
            0 => self.damaged(random, input),
            1 => self.resealed(random, input),
            _ => self.misleading(random, input),
        }
    }
}

fn load(input: &[u8]) -> Result<Outcome, String> {
    feeds(input)?;
    let Ok(executable) = Executable::from_bytes(input) else { return Ok("refused") };
    match LoadedExecutable::open(executable, &Options { threads: 1, ..Options::default() }) {
        Ok(_) => Ok("loaded"),
        Err(_) => Ok("unloadable"),
    }
}

fn seal(bytes: &mut [u8]) {
    let length = (bytes.len() - HEADER) as u64;
    bytes[PREFIX - 8..PREFIX].copy_from_slice(&length.to_le_bytes());
    let digest = Sha256::new().chain_update(&bytes[..PREFIX]).chain_update(&bytes[HEADER..]).finalize();
    bytes[PREFIX..HEADER].copy_from_slice(&digest);
}

/// Walks to a random position of the JSON value, and changes the number, text or list there.
fn change(value: &mut Value, random: &mut Random) {
    match value {
        Value::Object(fields) => {
            let which = random.below(fields.len());
            if let Some(field) = fields.values_mut().nth(which) {
                change(field, random);
            }
        }
        Value::Array(items) if items.is_empty() || random.chance(4) => change_list(items, random),
        Value::Array(items) => {
            let which = random.below(items.len());
            change(&mut items[which], random);
        }
        Value::Number(number) => *value = change_number(number.as_u64().unwrap_or(0), random).into(),
        Value::String(text) => {
            let kept = random.below(text.len());
            *text = text.chars().take(kept).collect();
        }
        Value::Bool(_) | Value::Null => {}
    }
}

fn change_list(items: &mut Vec<Value>, random: &mut Random) {
    let at = random.below(items.len());
    match random.below(4) {
        _ if items.is_empty() => {}
        0 => drop(items.remove(at)),
        1 => items.push(items[at].clone()),
        2 => items.swap(0, at),
        _ => items.truncate(at),
    }
}

fn change_number(number: u64, random: &mut Random) -> u64 {
    match random.below(8) {
        0 => number.wrapping_add(1),
        1 => number.wrapping_sub(1),
        2 => 0,
        3 => number ^ (1 << random.below(64)),
        4 => u64::from(u32::MAX),
        5 => random.below(256) as u64,
        6 => number << random.below(40),
        _ => u64::MAX >> random.below(33),
    }
}
