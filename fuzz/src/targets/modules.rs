//! Damages modules as text and as protobuf. Reads, verifies, prints and serialises the damaged
//! modules.

use std::sync::LazyLock;

use fusebox_core::hlo::{Diagnostic, Module, parse_module, print_module, read_proto, verify, write_proto};

use crate::random::Random;
use crate::seeds::Seeds;
use crate::worker::feeds;
use crate::{Outcome, Target, mutate};

/// The target for HLO text.
pub struct Text(Vec<Vec<u8>>);

/// The target for serialised modules.
pub struct Proto(Vec<Vec<u8>>);

impl Text {
    /// Creates the target with the texts of these seeds.
    pub fn new(seeds: &Seeds) -> Text {
        Text(seeds.texts.iter().map(|text| text.clone().into_bytes()).collect())
    }
}

impl Proto {
    /// Creates the target with the modules of these seeds.
    pub fn new(seeds: &Seeds) -> Proto {
        Proto(seeds.modules().iter().map(write_proto).collect())
    }
}

impl Target for Text {
    fn run(&mut self, random: &mut Random, input: &mut Vec<u8>) -> Result<Outcome, String> {
        *input = random.pick(&self.0).cloned().unwrap_or_default();
        mutate::pieces(random, input, &self.0, &PIECES);
        feeds(input)?;
        check(parse_module(&String::from_utf8_lossy(input), "input"), |module| {
            // Only modules that were read from text are printed. A name in a serialised module may
            // be a text that HLO text does not allow as a name.
            let again = parse_module(&print_module(module), "printed").map_err(|faults| faults[0].to_string())?;
            same(module, again, "printing")
        })
    }
}

impl Target for Proto {
    fn run(&mut self, random: &mut Random, input: &mut Vec<u8>) -> Result<Outcome, String> {
        *input = random.pick(&self.0).cloned().unwrap_or_default();
        let other = random.pick(&self.0).cloned().unwrap_or_default();
        mutate::bytes(random, input, &other);
        feeds(input)?;
        check(read_proto(input), |_| Ok(()))
    }
}

/// Checks a module. The parser and the verifier must accept the module or give diagnostics. If an
/// accepted module is serialised and read again, the result must equal the module.
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

/// Checks that a rejection has diagnostics.
fn said(faults: &[Diagnostic]) -> Result<(), String> {
    if faults.iter().all(|fault| !fault.to_string().is_empty()) && !faults.is_empty() {
        Ok(())
    } else {
        Err("refused without a diagnostic".into())
    }
}

fn same(module: &Module, mut again: Module, what: &str) -> Result<(), String> {
    again.clear_source();
    // A module with a NaN, for example as its epsilon, does not equal itself.
    if *module == again || *module != module.clone() {
        return Ok(());
    }
    Err(format!("{what} changes the module\n{}\n--- into\n{}", print_module(module), print_module(&again)))
}

/// Words and phrases of HLO text.
static PIECES: LazyLock<Vec<&str>> = LazyLock::new(|| [MARKS, PHRASES].concat());

const MARKS: &[&str] = &[
    "(", ")", "{", "}", "[", "]", ",", "=", "->", "<=", "\"", "/*", "*/", "//", "\n", " ", "%", "#", ":", "0", "-1",
    "1", "nan", "-inf", "1e999", "f32[]", "s4[2]", "pred[]", "token[]", "opaque[]", "()", "ROOT ", "ENTRY ", "{...}",
    "constant", "tuple", "{1,0}", "é", "-start", "-done",
];

const PHRASES: &[&str] = &[
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "4611686018427387904",
    "c128[0,3]",
    "HloModule ",
    "parameter",
    "dimensions={}",
    ", dimensions={0,0}",
    "{0,1:T(8,128)S(1)}",
    ", window={size=1 stride=0}",
    ", metadata={op_name=\"x\"}",
    ", sharding={replicated}",
];
