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
/// The target for artifacts.
pub struct Artifacts(Vec<Vec<u8>>);

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
        Ok(Artifacts(files.into_iter().map(std::fs::read).collect::<std::io::Result<_>>()?))
    }
}

impl Target for Artifacts {
    fn run(&mut self, random: &mut Random, input: &mut Vec<u8>) -> Result<Outcome, String> {
        *input = random.pick(&self.0).cloned().unwrap_or_default();
        damage(random, input, &self.0);
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
fn damage(random: &mut Random, input: &mut Vec<u8>, others: &[Vec<u8>]) {
    let other = random.pick(others).map_or(&[][..], Vec::as_slice);
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
