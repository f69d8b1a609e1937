//! The ratio of two sides with a confidence interval, by the bootstrap.

use fusebox_core::random::SplitMix64;
use serde::{Deserialize, Serialize};

use super::sample::{median, quantile};

/// How often the rounds are drawn anew.
const DRAWS: usize = 2000;
/// Share of such intervals that hold the true ratio. Several are looked at, so each is surer than a verdict has to be.
const CONFIDENCE: f64 = 0.995;

/// A ratio and where it may lie.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The estimate.
    pub ratio: f64,
    /// The upper end.
    pub high: f64,
}

/// The ratio of the sides of pairs that were measured in rounds: the median over the rounds of each one's median. Medians,
/// since times have outliers; rounds are drawn as a whole, since pairs of a round are alike. The draws follow from `seed`.
pub fn of_ratios(rounds: &[Vec<f64>], seed: u64) -> Interval {
    let rounds: Vec<f64> = rounds.iter().map(|pairs| median(pairs.iter().map(|ratio| ratio.ln()).collect())).collect();
    let mut random = SplitMix64(seed);
    let mut draw = || {
        let drawn = (0..rounds.len()).map(|_| rounds[(random.unit() * rounds.len() as f64) as usize]);
        centre(drawn.collect())
    };
    let mut centres: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
    centres.sort_by(f64::total_cmp);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let end = |share: f64| quantile(&centres, share).exp();
    Interval { low: end(tail), ratio: centre(rounds).exp(), high: end(1.0 - tail) }
}

/// The mean of the middle half: as deaf to outliers as a median, and steadier.
fn centre(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let quarter = values.len() / 4;
    let middle = &values[quarter..values.len() - quarter];
    middle.iter().sum::<f64>() / middle.len() as f64
}
