//! Mutates HLO modules and looks for panics and for results that contradict each other.
//!
//! ```text
//! cargo run --release --example fuzz_hlo -- [--seconds N] [--seed N] SEED-FILE…
//! ```
//!
//! The texts are mutated as bytes and as lines, and serialised modules as bytes; whatever is read
//! is verified, and what is valid must survive printing and serialising. The run is decided by its
//! seed. On a panic or a contradiction the input is printed and the exit status is 1.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fusebox_core::hlo::{Module, parse_module, print_module, read_proto, verify, write_proto};

/// A small generator of numbers that look random (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { (self.next() % limit as u64) as usize }
    }
}

fn main() -> ExitCode {
    let mut seconds = 60;
    let mut seed = 1;
    let mut texts = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(1);
        match argument.as_str() {
            "--seconds" => seconds = number(),
            "--seed" => seed = number().max(1),
            path => match std::fs::read(path) {
                Ok(bytes) => texts.push(bytes),
                Err(error) => {
                    eprintln!("{path}: {error}");
                    return ExitCode::from(2);
                }
            },
        }
    }
    if texts.is_empty() {
        eprintln!("name at least one module to start from");
        return ExitCode::from(2);
    }
    run(&texts, seed, Duration::from_secs(seconds))
}

fn run(texts: &[Vec<u8>], seed: u64, time: Duration) -> ExitCode {
    let serialised: Vec<Vec<u8>> = texts
        .iter()
        .filter_map(|text| parse_module(&String::from_utf8_lossy(text), "seed").ok())
        .map(|module| write_proto(&module))
        .collect();
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let start = Instant::now();
    let (mut runs, mut read, mut valid) = (0u64, 0u64, 0u64);
    while start.elapsed() < time {
        let as_text = serialised.is_empty() || random.below(3) > 0;
        let pool = if as_text { texts } else { &serialised };
        let mut input = pool[random.below(pool.len())].clone();
        for _ in 0..=random.below(6) {
            mutate(&mut input, pool, as_text, &mut random);
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| check(&input, as_text)));
        runs += 1;
        match outcome {
            Ok(Ok(stage)) => {
                read += u64::from(stage >= 1);
                valid += u64::from(stage >= 2);
            }
            Ok(Err(contradiction)) => return found(&input, seed, runs, &contradiction),
            Err(_) => return found(&input, seed, runs, "panic"),
        }
    }
    println!("seed {seed}: {runs} inputs, {read} read, {valid} valid, nothing found");
    ExitCode::SUCCESS
}

fn found(input: &[u8], seed: u64, run: u64, what: &str) -> ExitCode {
    eprintln!("seed {seed}, input {run}: {what}\n--- input ({} bytes)", input.len());
    eprintln!("{}", String::from_utf8_lossy(input));
    let hex: String = input.iter().take(4096).map(|byte| format!("{byte:02x}")).collect();
    eprintln!("--- as hex\n{hex}");
    ExitCode::FAILURE
}

/// 0: refused, 1: read, 2: valid.
fn check(input: &[u8], as_text: bool) -> Result<u32, String> {
    let module = match as_text {
        true => parse_module(&String::from_utf8_lossy(input), "input"),
        false => read_proto(input),
    };
    let mut module = match module {
        Ok(module) => module,
        Err(faults) if faults.is_empty() => return Err("refused without a diagnostic".to_owned()),
        Err(faults) => {
            faults.iter().for_each(|fault| drop(fault.to_string()));
            return Ok(0);
        }
    };
    if let Err(faults) = verify(&module) {
        faults.iter().for_each(|fault| drop(fault.to_string()));
        return Ok(1);
    }
    module.clear_source();
    // Names in messages may be any text; names in HLO text may not.
    if as_text {
        let again =
            parse_module(&print_module(&module), "printed").map_err(|faults| format!("printed: {}", faults[0]))?;
        same(&module, again, "printing")?;
    }
    let again = read_proto(&write_proto(&module)).map_err(|faults| format!("serialised: {}", faults[0]))?;
    same(&module, again, "serialising")?;
    Ok(2)
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

fn mutate(input: &mut Vec<u8>, pool: &[Vec<u8>], as_text: bool, random: &mut Random) {
    let at = random.below(input.len() + 1);
    match random.below(if as_text { 8 } else { 5 }) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 if at < input.len() => input[at] = random.next() as u8,
        2 => input.truncate(at),
        3 => {
            let end = (at + random.below(20)).min(input.len());
            input.drain(at..end);
        }
        4 => {
            let other = &pool[random.below(pool.len())];
            let from = random.below(other.len());
            let to = (from + random.below(60)).min(other.len());
            input.splice(at..at, other[from..to].iter().copied());
        }
        5 | 6 => {
            let piece = PIECES[random.below(PIECES.len())].bytes();
            let end = (at + random.below(8)).min(input.len());
            input.splice(at..end, piece);
        }
        _ => swap_lines(input, random),
    }
}

fn swap_lines(input: &mut Vec<u8>, random: &mut Random) {
    let mut lines: Vec<Vec<u8>> = input.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    let (from, to) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(3) {
        0 => lines.swap(from, to),
        1 => lines[from] = lines[to].clone(),
        _ => drop(lines.remove(from)),
    }
    *input = lines.join(&b'\n');
}
