//! Whether a measurement was disturbed: something else ran on the processor, or the processor ran slower.

use std::hint::black_box;
use std::time::{Duration, Instant};

use procfs::process::Process;

/// Turns of the loop that tells how fast the processor runs: some tens of microseconds.
const TURNS: u64 = 20_000;
/// How much longer than its fastest the loop may take.
const SLOWER: f64 = 1.15;
/// Share of a measurement that may be spent waiting for a processor.
const WAITING: f64 = 0.05;

/// Watches measurements.
#[derive(Debug)]
pub struct Watch {
    fastest: Duration,
}

impl Watch {
    /// Learns how fast the processor is.
    pub fn new() -> Watch {
        let fastest = (0..50).map(|_| calibration()).min().unwrap_or_default();
        Watch { fastest }
    }

    /// Measures, and says whether nothing disturbed it.
    pub fn over<T>(&mut self, measurement: impl FnOnce() -> T) -> (T, bool) {
        let slow_before = self.is_slow();
        let (begin, waited) = (Instant::now(), waiting());
        let result = measurement();
        let waited = waiting().saturating_sub(waited);
        let is_pushed_off = waited.as_secs_f64() > WAITING * begin.elapsed().as_secs_f64();
        (result, !slow_before && !is_pushed_off && !self.is_slow())
    }

    fn is_slow(&mut self) -> bool {
        let now = calibration();
        self.fastest = self.fastest.min(now);
        now.as_secs_f64() > SLOWER * self.fastest.as_secs_f64()
    }
}

impl Default for Watch {
    fn default() -> Self {
        Watch::new()
    }
}

/// How long a fixed chain of multiplications takes.
fn calibration() -> Duration {
    let begin = Instant::now();
    let chain = (0..TURNS).fold(black_box(1u64), |value, turn| value.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ turn);
    black_box(chain);
    begin.elapsed()
}

/// Time that threads of this process were ready and had no processor, all together, where the system tells.
fn waiting() -> Duration {
    let tasks = Process::myself().and_then(|process| process.tasks());
    let of_each = tasks.into_iter().flatten().filter_map(|task| task.ok()?.schedstat().ok());
    of_each.map(|known| Duration::from_nanos(known.run_delay)).sum()
}
