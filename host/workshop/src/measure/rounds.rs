//! Measures as many rounds of pairs as a verdict needs.

use std::time::{Duration, Instant};

use fusebox_core::random::SplitMix64;

use crate::statistics::{Interval, Verdict, of_ratios};

/// How much to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Fixed number of pairs to measure; `None`: measure until the verdict is clear.
    pub pairs: Option<usize>,
    /// Time after which measuring stops without a clear verdict.
    pub limit: Duration,
    /// Seed of the random order.
    pub seed: u64,
}

/// Numbers of rounds after which the verdict is computed. From fewer rounds, the variation between
/// rounds cannot be estimated. Every additional look at the verdict is one more chance to mistake
/// noise for a difference. After the last look, measuring stops even without a clear verdict.
const LOOKS: [usize; 6] = [12, 24, 48, 96, 192, 384];

impl Default for Effort {
    fn default() -> Self {
        Effort { pairs: None, limit: Duration::from_secs(20), seed: 0 }
    }
}

/// Times of both sides, in microseconds, measured one right after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimePair {
    pub a: f64,
    pub b: f64,
}

/// Pairs measured in the same memory, shortly after each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Round {
    /// The pairs used for the verdict.
    pub pairs: Vec<TimePair>,
    /// Number of pairs that were measured again because something else ran on the machine.
    pub repeated: usize,
    /// Number of pairs that were used although something else ran, as repetitions did not help.
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

    /// Returns the number of pairs used although something else ran on the machine.
    pub fn disturbed(&self) -> usize {
        self.rounds.iter().map(|round| round.disturbed).sum()
    }
}

/// Measures rounds until the verdict is clear. `round` measures one round of at most the given
/// number of pairs, in an order that the random numbers determine.
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
