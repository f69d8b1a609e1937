//! Damages portable artifacts and files of `jax.export`. Reads, converts and verifies them, for
//! given sizes if arguments have unknown sizes. Writes modules that remain valid as text, and reads
//! the text again.

use std::path::Path;

use fusebox_core::hlo::{Module, verify};
use fusebox_stablehlo::{
    StablehloError, artifact_in_export, from_hlo, has_unknown_arguments, print_text, read_bytecode, read_text, to_hlo,
    to_hlo_for,
};

use crate::random::Random;
use crate::worker::feeds;
use crate::{Outcome, Target, memory, mutate};

/// Largest memory that the process may have needed. Artifacts have less than 100 KiB.
const MOST_BYTES: u64 = 1 << 30;
/// Approximate number of bytes of an artifact per instruction of its module.
const BYTES_PER_INSTRUCTION: usize = 64;
/// Number of instructions that take as long as the rest of a case.
const FIXED_COST: usize = 10;

/// The target for artifacts.
pub struct Artifacts {
    artifacts: Vec<Vec<u8>>,
    /// For each artifact, its weight in the choice, plus the weights of the artifacts before it.
    weights: Vec<usize>,
}

impl Artifacts {
    /// Creates the target with the artifacts of the crate that reads them.
    ///
    /// # Errors
    /// If the artifacts cannot be read.
    pub fn new() -> std::io::Result<Artifacts> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/stablehlo/tests/programs");
        let mut files = Vec::new();
        for folder in [folder.clone(), folder.join("sharded"), folder.join("polymorphic")] {
            for file in std::fs::read_dir(folder)? {
                files.push(file?.path());
            }
        }
        files.retain(|file| {
            file.extension().is_some_and(|extension| extension == "mlirbc" || extension == "jax_export")
        });
        files.sort();
        let artifacts = files.into_iter().map(std::fs::read).collect::<std::io::Result<Vec<Vec<u8>>>>()?;
        let costs: Vec<usize> = artifacts.iter().map(|artifact| FIXED_COST + instructions(artifact)).collect();
        let most = costs.iter().copied().max().unwrap_or_default();
        let weights = costs.iter().scan(0, |sum, cost| {
            *sum += most / cost;
            Some(*sum)
        });
        Ok(Artifacts { weights: weights.collect(), artifacts })
    }

    /// Chooses an artifact. The time of a case depends on the instructions of its module, and
    /// modules have from two to thousands of them. So all artifacts get the same share of the time,
    /// and small ones more cases.
    fn pick(&self, random: &mut Random) -> &[u8] {
        let at = random.below(self.weights.last().copied().unwrap_or_default());
        let chosen = self.weights.partition_point(|&weight| weight <= at);
        self.artifacts.get(chosen).map_or(&[], Vec::as_slice)
    }
}

/// Returns the number of instructions of an artifact's module, or an estimate if it is no module.
fn instructions(artifact: &[u8]) -> usize {
    let module = converted(artifact, &mut Random::new(0, 0));
    let count = module.map(|module| module.computations.iter().map(|it| it.instructions.len()).sum());
    count.unwrap_or(artifact.len() / BYTES_PER_INSTRUCTION)
}

impl Target for Artifacts {
    fn run(&mut self, random: &mut Random, input: &mut Vec<u8>) -> Result<Outcome, String> {
        *input = self.pick(random).to_vec();
        let other = self.pick(random);
        damage(random, input, other);
        feeds(input)?;
        let outcome = match converted(input, random) {
            Ok(module) if verify(&module).is_ok() => written(&module)?,
            Ok(_) => "read",
            Err(error) if error.to_string().is_empty() => return Err("refused without a message".into()),
            Err(_) => "refused",
        };
        match memory::peak() {
            Some(bytes) if bytes > MOST_BYTES => Err(format!("the process needed {bytes} bytes of memory")),
            _ => Ok(outcome),
        }
    }
}

/// Changes a few bytes, or replaces a part by the part of another artifact at the same place.
/// Artifacts of similar programs have similar parts at similar places.
fn damage(random: &mut Random, input: &mut Vec<u8>, other: &[u8]) {
    if !random.chance(4) {
        return mutate::bytes(random, input, other);
    }
    let at = random.below(input.len().min(other.len()));
    let length = random.below(64);
    let part = other[at..(at + length).min(other.len())].to_vec();
    input.splice(at..(at + length).min(input.len()), part);
}

fn converted(input: &[u8], random: &mut Random) -> Result<Module, StablehloError> {
    let program = read_bytecode(artifact_in_export(input).unwrap_or(input), "input")?;
    if !has_unknown_arguments(&program) {
        return to_hlo(&program);
    }
    let mut size = || 1 + random.below(7) as i64;
    let sizes = [vec![size(), size()], vec![size(), 3]];
    let one = to_hlo_for(&program, &sizes[..1]);
    if one.is_ok() { one } else { to_hlo_for(&program, &sizes) }
}

/// Writes a valid module as text, which must give a valid module again.
fn written(module: &Module) -> Result<Outcome, String> {
    let Ok(program) = from_hlo(module) else { return Ok("valid") };
    let text = print_text(&program);
    let read = read_text(&text, "text").and_then(|program| to_hlo(&program));
    match read.map_err(|error| format!("the text of a valid module is refused: {error}")) {
        Ok(module) if verify(&module).is_ok() => Ok("written"),
        Ok(_) => Err("the text of a valid module gives an invalid one".into()),
        Err(message) => Err(message),
    }
}
