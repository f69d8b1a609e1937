//! Damages StableHLO programs as portable artifacts and as text. Reads, converts and verifies them.

use std::path::Path;

use fusebox_core::hlo::verify;
use fusebox_stablehlo::{StablehloError, is_bytecode, read_bytecode, read_text, to_hlo};

use crate::random::Random;
use crate::worker::feeds;
use crate::{Outcome, Target, mutate};

/// The target for StableHLO.
pub struct Stablehlo(Vec<Vec<u8>>);

impl Stablehlo {
    /// Creates the target with the programs of the crate that reads them.
    ///
    /// # Errors
    /// If the programs cannot be read.
    pub fn new() -> std::io::Result<Stablehlo> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/stablehlo/tests/programs");
        let mut files = std::fs::read_dir(folder)?.map(|file| Ok(file?.path())).collect::<std::io::Result<Vec<_>>>()?;
        files.retain(|file| file.extension().is_some_and(|extension| extension == "mlir" || extension == "mlirbc"));
        files.sort();
        Ok(Stablehlo(files.into_iter().map(std::fs::read).collect::<std::io::Result<_>>()?))
    }
}

impl Target for Stablehlo {
    fn run(&mut self, random: &mut Random, input: &mut Vec<u8>) -> Result<Outcome, String> {
        *input = random.pick(&self.0).cloned().unwrap_or_default();
        if is_bytecode(input) {
            let other = random.pick(&self.0).cloned().unwrap_or_default();
            mutate::bytes(random, input, &other);
        } else {
            mutate::pieces(random, input, &self.0, PIECES);
        }
        feeds(input)?;
        let program = if is_bytecode(input) {
            read_bytecode(input, "input")
        } else {
            read_text(&String::from_utf8_lossy(input), "input")
        };
        match program.and_then(|program| to_hlo(&program)) {
            Ok(module) if verify(&module).is_ok() => Ok("valid"),
            Ok(_) => Ok("read"),
            Err(error) => said(&error).map(|()| "refused"),
        }
    }
}

/// Checks that a rejection has a message.
fn said(error: &StablehloError) -> Result<(), String> {
    if error.to_string().is_empty() { Err("refused without a message".into()) } else { Ok(()) }
}

/// Words of StableHLO's text.
const PIECES: &[&str] = &[
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ",",
    "=",
    "->",
    ":",
    "\"",
    "//",
    "\n",
    " ",
    "%",
    "#",
    "@",
    "^bb0",
    "0",
    "-1",
    "1",
    "?",
    "x",
    "tensor<",
    "tensor<4x5xf32>",
    "tensor<?xf32>",
    "tensor<i1>",
    "complex<f32>",
    "dense<",
    "dense<\"0x",
    "array<i64: 1>",
    "loc(",
    "stablehlo.",
    "\"stablehlo.while\"",
    "func.func",
    "return",
    "9223372036854775807",
    "1e999",
    "init:",
];
