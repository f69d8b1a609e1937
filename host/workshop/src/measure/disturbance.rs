//! Detects disturbed measurements. A measurement is disturbed if another program ran on the
//! processor, or if the processor ran slower than before.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Number of iterations of the loop that measures the processor's speed. All iterations together
/// take some tens of microseconds.
const TURNS: u64 = 20_000;
/// If the loop takes more than this factor times its shortest time, the processor counts as slow.
const SLOWER: f64 = 1.15;
/// If threads wait for a processor for more than this fraction of a measurement's time, the
/// measurement is disturbed.
const WAITING: f64 = 0.05;

/// A detector of disturbed measurements. The detector stores the shortest time of the loop.
#[derive(Debug)]
pub struct DisturbanceWatch {
    fastest: Duration,
}

impl DisturbanceWatch {
    /// Creates a detector, and measures the speed of the processor.
    pub fn new() -> DisturbanceWatch {
        let fastest = (0..50).map(|_| calibration()).min().unwrap_or_default();
        DisturbanceWatch { fastest }
    }

    /// Runs a measurement. Returns the result of the measurement, and whether the measurement was
    /// undisturbed.
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

impl Default for DisturbanceWatch {
    fn default() -> Self {
        DisturbanceWatch::new()
    }
}

/// Returns the time of a fixed chain of multiplications.
fn calibration() -> Duration {
    let begin = Instant::now();
    let chain = (0..TURNS).fold(black_box(1u64), |value, turn| value.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ turn);
    black_box(chain);
    begin.elapsed()
}

/// Returns the total time for which threads of this process were ready to run, but had no
/// processor. Returns 0 if the system does not report this time.
fn waiting() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let reports = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("schedstat")).ok());
    reports.filter_map(|report| time_without_processor(&report)).sum()
}

/// Returns the time without a processor from a report of Linux's scheduler on a thread. A report
/// has three numbers: the nanoseconds on a processor, the nanoseconds without a processor, and the
/// number of time slices.
fn time_without_processor(report: &str) -> Option<Duration> {
    report.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{time_without_processor, waiting};

    #[test]
    fn reports_of_the_scheduler_are_understood() {
        assert_eq!(time_without_processor("93212345 1500 27\n"), Some(Duration::from_nanos(1500)));
        assert_eq!(time_without_processor("0 0 0\n"), Some(Duration::ZERO));
        assert_eq!(time_without_processor(""), None);
        assert_eq!(time_without_processor("1 x 2"), None);
    }

    #[test]
    fn threads_that_share_a_processor_wait_for_it() {
        if !std::path::Path::new("/proc/self/schedstat").exists() {
            return eprintln!("skipped: this system does not report how long threads wait");
        }
        let count = 4 * std::thread::available_parallelism().map_or(1, usize::from);
        let done = std::sync::Barrier::new(count + 1);
        std::thread::scope(|scope| {
            for _ in 0..count {
                scope.spawn(|| {
                    super::calibration();
                    done.wait();
                    done.wait();
                });
            }
            done.wait();
            let waited = waiting();
            done.wait();
            assert!(waited > Duration::ZERO);
        });
    }
}
