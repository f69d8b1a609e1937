//! Tests verdicts with simulated noise. The sides are equally fast, or differ by five percent.

use fusebox_core::random::SplitMix64;

use super::{Summary, Verdict, median};
use crate::measure::{Effort, Round, TimePair, alternate};

/// Noise of simulated times, relative to the time without noise.
#[derive(Clone, Copy)]
struct Noise {
    /// Standard deviation of the independent noise of each time.
    scatter: f64,
    /// Fraction of outliers, which are times that are up to ten times as long as without this
    /// noise.
    outliers: f64,
    /// Noise that is correlated between adjacent pairs, as on a machine that is busy for a while.
    correlated: f64,
    /// Fraction by which times grow over a hundred pairs.
    drift: f64,
    /// Standard deviation of the effect that memory addresses have on one side during a round.
    placement: f64,
}

const QUIET: Noise = Noise { scatter: 0.01, outliers: 0.0, correlated: 0.0, drift: 0.0, placement: 0.002 };
const NOISES: [(&str, Noise); 5] = [
    ("quiet", QUIET),
    ("heavy tails", Noise { scatter: 0.03, outliers: 0.1, ..QUIET }),
    ("correlated", Noise { correlated: 0.3, ..QUIET }),
    ("drift", Noise { drift: 0.5, ..QUIET }),
    ("placement", Noise { placement: 0.02, ..QUIET }),
];

/// Returns an approximately normal random number with standard deviation 1.
fn bell(random: &mut SplitMix64) -> f64 {
    (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
}

/// A machine with noisy times.
struct NoisyMachine {
    noise: Noise,
    random: SplitMix64,
    /// Number of pairs so far.
    number: f64,
    /// Logarithm of the factor by which other programs slow the machine.
    busy: f64,
}

impl NoisyMachine {
    /// Returns a pair of times with noise. Without noise, side A takes 100 and side B takes 100
    /// times `factor`.
    fn pair(&mut self, factor: f64, placement: [f64; 2]) -> TimePair {
        self.number += 1.0;
        self.busy = 0.9 * self.busy + 0.4 * self.noise.correlated * bell(&mut self.random);
        let machine = 100.0 * (1.0 + self.noise.drift * self.number / 100.0) * self.busy.exp();
        let mut time = |place: f64| {
            let is_outlier = self.random.unit() < self.noise.outliers;
            let outlier = if is_outlier { 1.0 + 9.0 * self.random.unit() } else { 1.0 };
            machine * outlier * (place + self.noise.scatter * bell(&mut self.random)).exp()
        };
        TimePair { a: time(placement[0]), b: factor * time(placement[1]) }
    }

    fn round(&mut self, factor: f64) -> Round {
        let placement = [(); 2].map(|()| self.noise.placement * bell(&mut self.random));
        Round { pairs: (0..4).map(|_| self.pair(factor, placement)).collect(), ..Round::default() }
    }
}

/// Returns the verdict of a comparison in which B takes `factor` times as long as A.
fn verdict(noise: Noise, factor: f64, seed: u64) -> Verdict {
    let mut machine = NoisyMachine { noise, random: SplitMix64(seed), number: 0.0, busy: 0.0 };
    let series = alternate(Effort { seed, ..Effort::default() }, |_, _| Ok::<_, ()>(machine.round(factor)));
    series.unwrap().verdict
}

/// Returns how many of `count` comparisons have the verdict `wanted`.
fn count(noise: Noise, factor: f64, wanted: Verdict, count: u64) -> usize {
    (0..count).filter(|&seed| verdict(noise, factor, seed) == wanted).count()
}

#[test]
fn equal_sides_are_the_same() {
    for (name, noise) in NOISES {
        let same = count(noise, 1.0, Verdict::Same, 300);
        assert!(same >= 297, "{name}: {same} of 300");
    }
}

#[test]
fn five_percent_are_found() {
    for (name, noise) in NOISES {
        let (slower, faster) =
            (count(noise, 1.05, Verdict::Slower, 100), count(noise, 1.0 / 1.05, Verdict::Faster, 100));
        assert!(slower >= 95 && faster >= 95, "{name}: {slower} and {faster} of 100");
    }
}

/// If the rounds disagree, the verdict must be `Ambiguous`, even if the pairs within each round
/// agree.
#[test]
fn noise_beyond_the_difference_is_no_verdict() {
    let noise = Noise { placement: 0.4, ..QUIET };
    let open = count(noise, 1.0, Verdict::Ambiguous, 100);
    assert!(open >= 95, "{open} of 100");
}

#[test]
fn quantiles_lie_between_values() {
    let summary = Summary::of(&[4.0, 1.0, 3.0, 2.0]);
    assert_eq!((summary.min, summary.lower_quartile, summary.median, summary.upper_quartile), (1.0, 1.75, 2.5, 3.25));
    assert!(median(Vec::new()).is_nan());
}

#[test]
fn as_many_pairs_as_asked_for_are_measured() {
    let mut asked = Vec::new();
    let effort = Effort { pairs: Some(10), ..Effort::default() };
    let round = |_: &mut SplitMix64, most: usize| {
        asked.push(most);
        let pairs = vec![TimePair { a: 1.0, b: 1.0 }; most.min(4)];
        Ok::<_, ()>(Round { pairs, ..Round::default() })
    };
    assert_eq!(alternate(effort, round).unwrap().pairs().count(), 10);
    assert_eq!(asked, [10, 6, 2]);
}
