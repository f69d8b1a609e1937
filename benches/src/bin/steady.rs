//! `steady EXECUTABLE [--inputs IN.npz] [--runs N] [--seconds S]`: runs an executable many times in
//! one process. `fusebox compile --emit executable` writes executables. Prints one line of JSON.
//! The line holds the number of runs, and whether the results of the first 20 runs and of the last
//! run have the same bits. The line also holds the number of bytes by which the memory of the
//! process has grown since the first 20 runs.

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser;
use fusebox_core::hlo::Literal;
use fusebox_run::{inputs, terminal};
use fusebox_runtime::measurement::Session;
use fusebox_runtime::{Executable, Options};

/// Number of runs, from the first run on, whose results are compared. Comparing the results of all
/// runs would take longer than the runs.
const COMPARED: u64 = 20;

#[derive(Parser)]
struct Arguments {
    executable: PathBuf,
    #[command(flatten)]
    inputs: inputs::InputChoice,
    #[arg(long, default_value_t = 10_000)]
    runs: u64,
    /// Time limit of the runs in seconds
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let executable = Executable::from_bytes(&std::fs::read(&arguments.executable)?)?;
    let mut session = Session::load(executable, &Options { threads: arguments.threads, ..Options::default() })?;
    let values = inputs::arrays(&inputs::load(&arguments.inputs, &session.parameter_shapes())?);
    let first = session.run(&values)?;
    let mut is_same = true;
    for _ in 1..COMPARED {
        is_same &= same_bits(&session.run(&values)?, &first);
    }
    let (before, begin) = (resident()?, Instant::now());
    let mut runs = 0;
    while runs < arguments.runs && begin.elapsed() < Duration::from_secs(arguments.seconds) {
        session.execute()?;
        runs += 1;
    }
    is_same &= same_bits(&session.result()?, &first);
    let grown = resident()?.saturating_sub(before);
    let line = serde_json::json!({ "runs": runs + COMPARED, "same": is_same, "grown": grown });
    terminal::print_text(&format!("{line}\n"))?;
    Ok(())
}

fn same_bits(one: &Literal, other: &Literal) -> bool {
    let bytes = |value: &Literal| -> Vec<_> {
        value.leaves().into_iter().filter_map(Literal::as_array).map(|array| array.data.clone()).collect()
    };
    bytes(one) == bytes(other)
}

/// Returns the bytes of this process's resident memory, as Linux counts them.
fn resident() -> Result<u64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("the system does not say it")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? << 10)
}
