//! Measures two compilations of the same program, kernel by kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use fusebox_core::random::SplitMix64;
use fusebox_runtime::Thunk;
use fusebox_runtime::measurement::Session;

use super::contest::{Contest, is_enough, is_heads, settled};
use crate::WorkshopError;
use crate::statistics::{Interval, Verdict, median, of_ratios};

/// Number of pairs of a round. If a round takes longer than `LONG_ROUND`, it ends with fewer pairs.
const PAIRS: usize = 2;
const LONG_ROUND: Duration = Duration::from_millis(200);
/// Numbers of rounds after which the verdicts are computed. After the last of these rounds, or
/// after the time `LONGEST`, the measurement stops even if a verdict is ambiguous.
const LOOKS: [usize; 4] = [12, 24, 48, 96];
const LONGEST: Duration = Duration::from_secs(5);

/// Comparison of two programs. The two programs compute the same results, and their kernels have
/// the same names.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramComparison {
    /// Comparison of whole executions.
    pub all: PartComparison,
    /// Comparison of each requested kernel that both programs launch. The time of a kernel is the
    /// sum over all its launches.
    pub kernels: BTreeMap<String, PartComparison>,
}

/// Comparison of a part of program A with the same part of program B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartComparison {
    /// Microseconds that the part takes in A.
    pub us: f64,
    /// Time of the part in B, divided by its time in A.
    pub ratio: Interval,
}

impl PartComparison {
    /// Returns how many microseconds B saves in this part, compared with A.
    pub fn saved_us(&self) -> f64 {
        self.us * (1.0 - self.ratio.ratio)
    }
}

/// Microseconds of each requested kernel in an execution, and of the whole execution.
type ExecutionTimes = (BTreeMap<String, f64>, f64);

impl Contest<'_> {
    /// Measures the steps of both programs, which run alternately. Loads the programs again in
    /// every round. Stops when the verdicts on all requested kernels and on the whole program are
    /// clear, or when the time limit is reached.
    ///
    /// # Errors
    /// If a program cannot be loaded or executed.
    pub fn measure_kernels(&self, names: &BTreeSet<&str>, seed: u64) -> Result<ProgramComparison, WorkshopError> {
        let mut random = SplitMix64(seed);
        let begin = Instant::now();
        let mut rounds: Vec<Vec<[ExecutionTimes; 2]>> = Vec::new();
        loop {
            rounds.push(self.round_of_kernels(names, &mut random)?);
            let is_last = rounds.len() == LOOKS[LOOKS.len() - 1] || begin.elapsed() >= LONGEST;
            if !is_last && !LOOKS.contains(&rounds.len()) {
                continue;
            }
            let whole = compared(&rounds, names, seed);
            let is_known = |part: &PartComparison| Verdict::of(&part.ratio) != Verdict::Ambiguous;
            if is_last || is_known(&whole.all) && whole.kernels.values().all(is_known) {
                return Ok(whole);
            }
        }
    }

    fn round_of_kernels(
        &self,
        names: &BTreeSet<&str>,
        random: &mut SplitMix64,
    ) -> Result<Vec<[ExecutionTimes; 2]>, WorkshopError> {
        let begin = Instant::now();
        let (mut a, mut b) = self.load(is_heads(random))?;
        let _pinned = a.pin_threads();
        let mut pairs = Vec::new();
        while pairs.len() < PAIRS && (pairs.is_empty() || begin.elapsed() < LONG_ROUND) {
            let mut times = [None, None];
            let order = if is_heads(random) { [0, 1] } else { [1, 0] };
            for side in order {
                times[side] = Some(if side == 0 {
                    sample(&mut a, names)?
                } else {
                    a.exchange_memory(&mut b);
                    let sampled = sample(&mut b, names);
                    a.exchange_memory(&mut b);
                    sampled?
                });
            }
            if let [Some(a), Some(b)] = times {
                pairs.push([a, b]);
            }
        }
        Ok(pairs)
    }
}

/// Runs a program until the caches contain its data. Then executes the program as often as one
/// measured time requires, and returns the medians.
fn sample(session: &mut Session, names: &BTreeSet<&str>) -> Result<ExecutionTimes, WorkshopError> {
    settled(session)?;
    let (mut of_kernels, mut totals): (BTreeMap<String, Vec<f64>>, Vec<f64>) = Default::default();
    let begin = Instant::now();
    while !is_enough(totals.len(), begin.elapsed()) {
        let (times, total) = execute(session, names)?;
        times.into_iter().for_each(|(name, us)| of_kernels.entry(name).or_default().push(us));
        totals.push(total);
    }
    Ok((of_kernels.into_iter().map(|(name, times)| (name, median(times))).collect(), median(totals)))
}

fn execute(session: &mut Session, names: &BTreeSet<&str>) -> Result<ExecutionTimes, WorkshopError> {
    let mut by_number: BTreeMap<u32, f64> = BTreeMap::new();
    let mut total = 0.0;
    for (thunk, time) in session.execute_in_steps()? {
        let us = time.as_secs_f64() * 1e6;
        total += us;
        if let Thunk::Kernel { kernel, .. } = thunk {
            *by_number.entry(*kernel).or_default() += us;
        }
    }
    let mut of_kernels: BTreeMap<String, f64> = BTreeMap::new();
    for (number, us) in by_number {
        let name = &session.executable().kernels[number as usize].symbol;
        if names.contains(name.as_str()) {
            *of_kernels.entry(name.clone()).or_default() += us;
        }
    }
    Ok((of_kernels, total))
}

fn compared(rounds: &[Vec<[ExecutionTimes; 2]>], names: &BTreeSet<&str>, seed: u64) -> ProgramComparison {
    let part = |time: &dyn Fn(&ExecutionTimes) -> Option<f64>| {
        let ratio =
            |[a, b]: &[ExecutionTimes; 2]| Some(time(b)? / time(a)?).filter(|ratio| ratio.is_finite() && *ratio > 0.0);
        let ratios = rounds.iter().map(|pairs| pairs.iter().filter_map(ratio).collect::<Vec<f64>>());
        let ratios: Vec<Vec<f64>> = ratios.filter(|ratios| !ratios.is_empty()).collect();
        let us = rounds.iter().flatten().filter_map(|[a, _]| time(a)).collect();
        (!ratios.is_empty()).then(|| PartComparison { us: median(us), ratio: of_ratios(&ratios, seed) })
    };
    let of_kernel = |name: &&str| Some(((*name).to_owned(), part(&|(of_kernels, _)| of_kernels.get(*name).copied())?));
    let same = Interval { low: 1.0, ratio: 1.0, high: 1.0 };
    let all = part(&|(_, total)| Some(*total)).unwrap_or(PartComparison { us: 0.0, ratio: same });
    ProgramComparison { all, kernels: names.iter().filter_map(of_kernel).collect() }
}
