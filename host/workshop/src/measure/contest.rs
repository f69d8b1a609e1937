//! Measures two programs alternately, in pairs of times.

use std::time::{Duration, Instant};

use fusebox_core::hlo::ArrayLiteral;
use fusebox_core::random::SplitMix64;
use fusebox_runtime::measurement::Session;
use fusebox_runtime::{Device, Executable, LoadedExecutable, Options};
use serde::{Deserialize, Serialize};

use super::{DisturbanceWatch, Effort, Round, Series, TimePair, alternate};
use crate::WorkshopError;
use crate::statistics::median;

/// State of the caches when an execution of a program starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// The caches contain the data that the previous execution left in them.
    Warm,
    /// The caches contain no data of the program.
    Cold,
}

/// Number of pairs of a round. If a round takes longer than `LONG_ROUND`, it ends with fewer pairs.
const PAIRS: usize = 4;
const LONG_ROUND: Duration = Duration::from_millis(200);
/// Largest number of repetitions of a disturbed pair.
const REPETITIONS: usize = 3;
/// Time for which a side runs before it is timed. After this time, the caches contain data of the
/// timed side instead of data of the other side.
const SETTLED: Duration = Duration::from_micros(150);
/// Each measured time is the median of several executions. The measurement needs at least
/// `EXECUTIONS` executions and at least the time `ENOUGH`. The measurement stops in any case after
/// the time `LONG`, or after `MOST_EXECUTIONS` executions.
const EXECUTIONS: usize = 5;
const ENOUGH: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_millis(50);
const MOST_EXECUTIONS: usize = 64;

/// Two programs that take the same inputs.
#[derive(Clone, Copy, Debug)]
pub struct Contest<'a> {
    pub a: &'a Executable,
    pub b: &'a Executable,
    pub inputs: &'a [ArrayLiteral],
    /// Options with which both programs run.
    pub options: &'a Options,
}

impl Contest<'_> {
    /// Measures both programs alternately, on the same threads. Every round loads the programs
    /// again, in random order. So the verdict does not depend on the memory addresses of a single
    /// load.
    ///
    /// # Errors
    /// If a program cannot be loaded or executed.
    pub fn measure(&self, cache: Cache, effort: Effort, watch: &mut DisturbanceWatch) -> Result<Series, WorkshopError> {
        alternate(effort, |random, most| self.round(cache, random, most.min(PAIRS), watch))
    }

    fn round(
        &self,
        cache: Cache,
        random: &mut SplitMix64,
        pairs: usize,
        watch: &mut DisturbanceWatch,
    ) -> Result<Round, WorkshopError> {
        let begin = Instant::now();
        let (mut a, mut b) = self.load(is_heads(random))?;
        let _pinned = a.pin_threads();
        let mut round = Round::default();
        while round.pairs.len() < pairs && (round.pairs.is_empty() || begin.elapsed() < LONG_ROUND) {
            let mut repetitions = 0;
            let pair = loop {
                let a_first = is_heads(random);
                let (pair, is_calm) = watch.over(|| pair(&mut a, &mut b, a_first, cache));
                if is_calm || repetitions == REPETITIONS {
                    round.disturbed += usize::from(!is_calm);
                    break pair?;
                }
                repetitions += 1;
            };
            round.repeated += repetitions;
            round.pairs.push(pair);
        }
        Ok(round)
    }

    pub(super) fn load(&self, a_first: bool) -> Result<(Session, Session), WorkshopError> {
        let executables = if a_first { [self.a, self.b] } else { [self.b, self.a] }.map(Executable::clone);
        let [first, second] = executables;
        let device = Device::open(first.target, self.options)?;
        let load = |executable| Session::new(&LoadedExecutable::load(&device, executable)?);
        let (first, second) = (load(first)?, load(second)?);
        let (mut a, mut b) = if a_first { (first, second) } else { (second, first) };
        for session in [&mut a, &mut b] {
            session.set_inputs(self.inputs)?;
            session.execute()?;
        }
        Ok((a, b))
    }
}

pub(super) fn is_heads(random: &mut SplitMix64) -> bool {
    random.bits() >> 63 == 0
}

/// Measures the times of both programs. As far as possible, both programs use the same memory,
/// because different addresses could make one of two equal programs faster. With cold caches, the
/// executions of the two programs alternate. So if memory is slow for a millisecond, both programs
/// are slower. With warm caches, each program runs several times in a row, so that the caches
/// contain only the data of this program.
fn pair(a: &mut Session, b: &mut Session, a_first: bool, cache: Cache) -> Result<TimePair, WorkshopError> {
    let mut times = [Vec::new(), Vec::new()];
    let order = if a_first { [0, 1] } else { [1, 0] };
    let begin = Instant::now();
    loop {
        for side in order {
            if side == 0 {
                sample(a, cache, &mut times[0])?;
            } else {
                a.exchange_memory(b);
                let sampled = sample(b, cache, &mut times[1]);
                a.exchange_memory(b);
                sampled?;
            }
        }
        if cache == Cache::Warm || is_enough(times[0].len(), begin.elapsed() / 2) {
            let [a, b] = times.map(median);
            return Ok(TimePair { a, b });
        }
    }
}

/// Executes a program and appends the microseconds of each execution to `times`. With cold caches,
/// executes the program once. With warm caches, executes the program as often as one measured time
/// requires.
fn sample(session: &mut Session, cache: Cache, times: &mut Vec<f64>) -> Result<(), WorkshopError> {
    if cache == Cache::Cold {
        session.evict()?;
        times.push(executed(session)?);
        return Ok(());
    }
    settled(session)?;
    let begin = Instant::now();
    while !is_enough(times.len(), begin.elapsed()) {
        times.push(executed(session)?);
    }
    Ok(())
}

/// Runs a program until the caches hold its data.
pub(super) fn settled(session: &mut Session) -> Result<(), WorkshopError> {
    let begin = Instant::now();
    while begin.elapsed() < SETTLED {
        session.execute()?;
    }
    Ok(())
}

fn executed(session: &mut Session) -> Result<f64, WorkshopError> {
    Ok(session.execute()?.as_secs_f64() * 1e6)
}

pub(super) fn is_enough(executions: usize, elapsed: Duration) -> bool {
    elapsed >= LONG || executions >= MOST_EXECUTIONS || executions >= EXECUTIONS && elapsed >= ENOUGH
}

/// Returns the microseconds of an execution, as the median of several executions.
///
/// # Errors
/// If an execution fails.
pub fn time(session: &mut Session, cache: Cache) -> Result<f64, WorkshopError> {
    let mut times = Vec::new();
    let begin = Instant::now();
    while !is_enough(times.len(), begin.elapsed()) {
        sample(session, cache, &mut times)?;
    }
    Ok(median(times))
}
