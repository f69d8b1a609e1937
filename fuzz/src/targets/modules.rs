//! Modules as text and as protobuf: reading, verifying, printing and writing again.

use fusebox_core::hlo::{Diagnostic, Module, parse_module, print_module, read_proto, verify, write_proto};

use crate::random::Random;
use crate::seeds::Seeds;
use crate::worker::feeds;
use crate::{Finding, Outcome, Target, mutate};

/// HLO text.
pub struct Text {
    pool: Vec<Vec<u8>>,
    input: Vec<u8>,
}

/// Serialised modules.
pub struct Proto {
    pool: Vec<Vec<u8>>,
    input: Vec<u8>,
}

impl Text {
    /// Of these texts.
    pub fn new(seeds: &Seeds) -> Text {
        Text { pool: seeds.texts.iter().map(|text| text.clone().into_bytes()).collect(), input: Vec::new() }
    }
}

impl Proto {
    /// Of the modules that these texts are.
    pub fn new(seeds: &Seeds) -> Proto {
        Proto { pool: seeds.modules().iter().map(write_proto).collect(), input: Vec::new() }
    }
}

impl Target for Text {
    fn run(&mut self, random: &mut Random) -> Result<Outcome, Finding> {
        self.input = random.pick(&self.pool).cloned().unwrap_or_default();
        mutate::pieces(random, &mut self.input, &self.pool, PIECES);
        feeds(&self.input)?;
        let found = |what| Finding { what, input: self.input.clone() };
        let parsed = parse_module(&String::from_utf8_lossy(&self.input), "input");
        check(parsed, |module| {
            // Names in messages may be any text; names in HLO text may not. So only here they are printed.
            let again = parse_module(&print_module(module), "printed").map_err(|faults| faults[0].to_string())?;
            same(module, again, "printing")
        })
        .map_err(found)
    }

    fn input(&self) -> &[u8] {
        &self.input
    }
}

impl Target for Proto {
    fn run(&mut self, random: &mut Random) -> Result<Outcome, Finding> {
        self.input = random.pick(&self.pool).cloned().unwrap_or_default();
        let other = random.pick(&self.pool).cloned().unwrap_or_default();
        mutate::bytes(random, &mut self.input, &other);
        feeds(&self.input)?;
        let found = |what| Finding { what, input: self.input.clone() };
        check(read_proto(&self.input), |_| Ok(())).map_err(found)
    }

    fn input(&self) -> &[u8] {
        &self.input
    }
}

/// A module that was read must be verified or refused, and come back from what it is written as.
fn check(
    parsed: Result<Module, Vec<Diagnostic>>,
    and: impl FnOnce(&Module) -> Result<(), String>,
) -> Result<Outcome, String> {
    let mut module = match parsed {
        Ok(module) => module,
        Err(faults) => return said(&faults).map(|()| "refused"),
    };
    if let Err(faults) = verify(&module) {
        return said(&faults).map(|()| "read");
    }
    module.clear_source();
    and(&module)?;
    let again = read_proto(&write_proto(&module)).map_err(|faults| format!("serialised: {}", faults[0]))?;
    same(&module, again, "serialising")?;
    Ok("valid")
}

/// Whoever refuses says why.
fn said(faults: &[Diagnostic]) -> Result<(), String> {
    match faults.iter().all(|fault| !fault.to_string().is_empty()) && !faults.is_empty() {
        true => Ok(()),
        false => Err("refused without a diagnostic".into()),
    }
}

fn same(module: &Module, mut again: Module, what: &str) -> Result<(), String> {
    again.clear_source();
    // NaNs (as epsilons) make a module differ from itself.
    if *module == again || *module != module.clone() {
        return Ok(());
    }
    Err(format!("{what} changes the module\n{}\n--- into\n{}", print_module(module), print_module(&again)))
}

/// Pieces that are likely to matter.
const PIECES: &[&str] = &[
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ",",
    "=",
    "->",
    "<=",
    "\"",
    "/*",
    "*/",
    "//",
    "\n",
    " ",
    "%",
    "#",
    ":",
    "0",
    "-1",
    "1",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "4611686018427387904",
    "nan",
    "-inf",
    "1e999",
    "f32[]",
    "s4[2]",
    "pred[]",
    "c128[0,3]",
    "token[]",
    "opaque[]",
    "()",
    "ROOT ",
    "ENTRY ",
    "HloModule ",
    "{...}",
    "constant",
    "parameter",
    "tuple",
    "dimensions={}",
    ", dimensions={0,0}",
    "{1,0}",
    "{0,1:T(8,128)S(1)}",
    "é",
    ", window={size=1 stride=0}",
    ", metadata={op_name=\"x\"}",
    ", sharding={replicated}",
    "-start",
    "-done",
];
