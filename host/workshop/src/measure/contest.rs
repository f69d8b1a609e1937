//! Pairs of programs.

use std::time::{Duration, Instant};

use fusebox_core::hlo::ArrayLiteral;
use fusebox_core::random::SplitMix64;
use fusebox_runtime::{Executable, Options, Program};
use serde::{Deserialize, Serialize};

use super::{Effort, Pair, Round, Series, Watch, alternate};
use crate::WorkshopError;
use crate::statistics::median;

/// What caches hold of a program's memory when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// What the last execution left there.
    Warm,
    /// Nothing.
    Cold,
}

/// Pairs of a round, which is cut short where they take long.
const PAIRS: usize = 4;
const LONG_ROUND: Duration = Duration::from_millis(200);
/// How often a disturbed pair is measured again.
const REPETITIONS: usize = 3;
/// For how long a side that is to be timed runs before, so that caches hold what it left there and not what the other side did.
const SETTLED: Duration = Duration::from_micros(150);
/// Executions that a time is the median of, and for how long there may be more or must not be so many.
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
    /// How both run.
    pub options: &'a Options,
}

impl Contest<'_> {
    /// Measures both against each other, strictly in turns, on the same threads. Every round loads them anew, in random order, so
    /// that no verdict rests on one place in memory.
    ///
    /// # Errors
    /// If one cannot be loaded or executed.
    pub fn measure(&self, cache: Cache, effort: Effort, watch: &mut Watch) -> Result<Series, WorkshopError> {
        alternate(effort, |random, most| self.round(cache, random, most.min(PAIRS), watch))
    }

    fn round(
        &self,
        cache: Cache,
        random: &mut SplitMix64,
        pairs: usize,
        watch: &mut Watch,
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

    pub(super) fn load(&self, a_first: bool) -> Result<(Program, Program), WorkshopError> {
        let executables = if a_first { [self.a, self.b] } else { [self.b, self.a] }.map(Executable::clone);
        let [first, second] = executables;
        let first = Program::load(first, self.options)?;
        let second = first.load_beside(second, self.options)?;
        let (mut a, mut b) = if a_first { (first, second) } else { (second, first) };
        for program in [&mut a, &mut b] {
            program.set_inputs(self.inputs)?;
            program.execute()?;
        }
        Ok((a, b))
    }
}

pub(super) fn is_heads(random: &mut SplitMix64) -> bool {
    random.bits() >> 63 == 0
}

/// Times both, in the same memory as far as both need as much: where memory lies would favour one of two equal programs. With
/// cold caches their executions take turns, so that both are met by whatever slows memory down for a millisecond; with warm
/// ones each runs for a while by itself, to have caches for itself.
fn pair(a: &mut Program, b: &mut Program, a_first: bool, cache: Cache) -> Result<Pair, WorkshopError> {
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
            return Ok(Pair { a, b });
        }
    }
}

/// Adds microseconds of executions: of as many as are enough with warm caches, of one with cold ones.
fn sample(program: &mut Program, cache: Cache, times: &mut Vec<f64>) -> Result<(), WorkshopError> {
    if cache == Cache::Cold {
        program.evict()?;
        times.push(executed(program)?);
        return Ok(());
    }
    settled(program)?;
    let begin = Instant::now();
    while !is_enough(times.len(), begin.elapsed()) {
        times.push(executed(program)?);
    }
    Ok(())
}

/// Runs a program until caches hold what it leaves there.
pub(super) fn settled(program: &mut Program) -> Result<(), WorkshopError> {
    let begin = Instant::now();
    while begin.elapsed() < SETTLED {
        program.execute()?;
    }
    Ok(())
}

fn executed(program: &mut Program) -> Result<f64, WorkshopError> {
    Ok(program.execute()?.as_secs_f64() * 1e6)
}

pub(super) fn is_enough(executions: usize, elapsed: Duration) -> bool {
    elapsed >= LONG || executions >= MOST_EXECUTIONS || executions >= EXECUTIONS && elapsed >= ENOUGH
}

/// Microseconds of an execution: the median of some.
///
/// # Errors
/// If an execution fails.
pub fn time(program: &mut Program, cache: Cache) -> Result<f64, WorkshopError> {
    let mut times = Vec::new();
    let begin = Instant::now();
    while !is_enough(times.len(), begin.elapsed()) {
        sample(program, cache, &mut times)?;
    }
    Ok(median(times))
}
