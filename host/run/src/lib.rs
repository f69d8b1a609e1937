//! Loads inputs and prints results and messages, for all programs that run executables. The program
//! in this crate runs an executable on machines without the compiler.

#![forbid(unsafe_code)]

pub mod gpu;
pub mod inputs;
mod numbers;
pub mod results;
pub mod stored;
pub mod terminal;

use std::time::Duration;

use fusebox_runtime::LoadedExecutable;
use fusebox_runtime::measurement::Timing;
use serde_json::{Value, json};

/// Returns a measurement as one JSON object: `compile_ms`, `median_us`, `min_us`, `runs`, `target`.
pub fn timing_json(compile_ms: f64, timing: &Timing, target: &str) -> Value {
    // Rounds `compile_ms` to microseconds and the other times to nanoseconds, because the clock has
    // no more digits.
    let round = |value: f64| (value * 1e3).round() / 1e3;
    json!({
        "compile_ms": round(compile_ms),
        "median_us": round(timing.median_us),
        "min_us": round(timing.min_us),
        "runs": timing.runs,
        "target": target,
    })
}

/// Prints what users should know about a loaded program, for example that a GPU's driver refuses
/// the machine code and assembles the PTX instead.
pub fn print_remarks(program: &LoadedExecutable) {
    program.remarks().iter().for_each(|remark| terminal::complain(&format!("warning: {remark}")));
}

/// Environment variable with the longest time, in seconds, that a device waits for other devices.
const COLLECTIVE_SECONDS: &str = "FUSEBOX_COLLECTIVE_SECONDS";

/// Returns the longest time that a device waits for other devices, if an environment variable sets
/// this time.
///
/// # Errors
/// If the variable is not a number of seconds.
pub fn collective_limit() -> Result<Option<Duration>, String> {
    let Some(text) = std::env::var_os(COLLECTIVE_SECONDS).filter(|text| !text.is_empty()) else { return Ok(None) };
    let text = text.to_string_lossy();
    let seconds: u32 = text.parse().map_err(|_| format!("{COLLECTIVE_SECONDS} must be a number, not `{text}`"))?;
    Ok(Some(Duration::from_secs(seconds.into())))
}
