//! Pairs of programs.

use std::time::{Duration, Instant};

use fusebox_core::hlo::ArrayLiteral;
use fusebox_core::random::SplitMix64;
use fusebox_runtime::{Executable, Options, Program};
use serde::Serialize;

use super::{Effort, Pair, Round, Series, Watch, alternate};
use crate::WorkshopError;

/// What caches hold of a program's memory when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
/// Longer than idle workers of the other side's pool look for work.
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
    /// Measures both against each other, strictly in turns. Every round loads them anew, so that no verdict rests on one place
    /// in memory.
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
        let (mut a, mut b) = (self.load(self.a)?, self.load(self.b)?);
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

    fn load(&self, executable: &Executable) -> Result<Program, WorkshopError> {
        let mut program = Program::load(executable.clone(), self.options)?;
        program.set_inputs(self.inputs)?;
        program.execute()?;
        Ok(program)
    }
}

fn is_heads(random: &mut SplitMix64) -> bool {
    random.bits() >> 63 == 0
}

/// Times both, in the same memory as far as both need as much: where memory lies would favour one of two equal programs.
fn pair(a: &mut Program, b: &mut Program, a_first: bool, cache: Cache) -> Result<Pair, WorkshopError> {
    let time_b = |a: &mut Program, b: &mut Program| {
        a.exchange_memory(b);
        let time = time(b, cache);
        a.exchange_memory(b);
        time
    };
    if a_first {
        let time_a = time(a, cache)?;
        return Ok(Pair { a: time_a, b: time_b(a, b)? });
    }
    let time_b = time_b(a, b)?;
    Ok(Pair { a: time(a, cache)?, b: time_b })
}

/// Microseconds of an execution: the median of some.
///
/// # Errors
/// If an execution fails.
pub fn time(program: &mut Program, cache: Cache) -> Result<f64, WorkshopError> {
    // The other side's workers go to sleep, and its data leaves the caches that are to be warm with this one's.
    let begin = Instant::now();
    while begin.elapsed() < SETTLED {
        program.execute()?;
    }
    let begin = Instant::now();
    let mut times = Vec::new();
    loop {
        if cache == Cache::Cold {
            program.evict()?;
        }
        times.push(program.execute()?.as_secs_f64() * 1e6);
        let elapsed = begin.elapsed();
        let is_enough = times.len() >= EXECUTIONS && elapsed >= ENOUGH;
        if is_enough || elapsed >= LONG || times.len() >= MOST_EXECUTIONS {
            return Ok(crate::statistics::median(times));
        }
    }
}
