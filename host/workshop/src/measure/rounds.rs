//! Measures rounds of pairs until there is a clear verdict.

use std::time::{Duration, Instant};

use fusebox_core::random::SplitMix64;

use crate::statistics::{Interval, Verdict, of_ratios};

/// Number of pairs to measure, and limits of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Fixed number of pairs to measure. With `None`, pairs are measured until the verdict is
    /// clear.
    pub pairs: Option<usize>,
    /// Time after which the measurement stops, even if the verdict is ambiguous.
    pub limit: Duration,
    /// Seed of the random order in which the sides run.
    pub seed: u64,
}

/// Numbers of rounds after which the verdict is computed. With fewer rounds than the first number,
/// the variation between rounds cannot be estimated. Each computation of the verdict may mistake
/// noise for a difference, so the verdict is computed only a few times. After the last number of
/// rounds, the measurement stops even if the verdict is ambiguous.
const LOOKS: [usize; 6] = [12, 24, 48, 96, 192, 384];

impl Default for Effort {
    fn default() -> Self {
        Effort { pairs: None, limit: Duration::from_secs(20), seed: 0 }
    }
}

/// Times of both sides in microseconds. Both times are measured in immediate succession.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimePair {
    pub a: f64,
    pub b: f64,
}

/// Several pairs, which are measured in succession and in the same memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Round {
    /// The pairs used for the verdict.
    pub pairs: Vec<TimePair>,
    /// Number of pairs that were measured again because the first measurement was disturbed.
    pub repeated: usize,
    /// Number of pairs that are used although their measurement was disturbed, because repetitions
    /// were disturbed too.
    pub disturbed: usize,
}

/// All rounds, and the verdict that follows from them.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub rounds: Vec<Round>,
    /// B's time divided by A's.
    pub ratio: Interval,
    pub verdict: Verdict,
}

impl Series {
    fn of(rounds: Vec<Round>, seed: u64) -> Series {
        let ratios = |round: &Round| round.pairs.iter().map(|pair| pair.b / pair.a).collect();
        let ratios: Vec<Vec<f64>> = rounds.iter().filter(|round| !round.pairs.is_empty()).map(ratios).collect();
        let ratio = of_ratios(&ratios, seed);
        Series { rounds, ratio, verdict: Verdict::of(&ratio) }
    }

    /// Returns the pairs of all rounds.
    pub fn pairs(&self) -> impl Iterator<Item = &TimePair> {
        self.rounds.iter().flat_map(|round| &round.pairs)
    }

    /// Returns the number of pairs that were measured again.
    pub fn repeated(&self) -> usize {
        self.rounds.iter().map(|round| round.repeated).sum()
    }

    /// Returns the number of pairs that are used although their measurement was disturbed.
    pub fn disturbed(&self) -> usize {
        self.rounds.iter().map(|round| round.disturbed).sum()
    }
}

/// Measures rounds until the verdict is clear. `round` measures one round. `round` has two
/// arguments: a source of random numbers, which determine the order of the sides; and the largest
/// number of pairs.
///
/// # Errors
/// If a round fails.
pub fn alternate<E>(
    effort: Effort,
    mut round: impl FnMut(&mut SplitMix64, usize) -> Result<Round, E>,
) -> Result<Series, E> {
    let mut random = SplitMix64(effort.seed);
    let begin = Instant::now();
    let mut rounds: Vec<Round> = Vec::new();
    loop {
        let measured: usize = rounds.iter().map(|round| round.pairs.len()).sum();
        let left = effort.pairs.map_or(usize::MAX, |pairs| pairs.saturating_sub(measured));
        if left > 0 {
            rounds.push(round(&mut random, left)?);
        }
        let (is_look, is_last) = match effort.pairs {
            Some(_) => (false, left == 0),
            None => {
                (LOOKS.contains(&rounds.len()), LOOKS.last() == Some(&rounds.len()) || begin.elapsed() >= effort.limit)
            }
        };
        if !is_look && !is_last {
            continue;
        }
        let series = Series::of(rounds, effort.seed);
        if is_last || series.verdict != Verdict::Ambiguous {
            return Ok(series);
        }
        rounds = series.rounds;
    }
}
