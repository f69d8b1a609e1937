//! Computes the ratio of two sides' times with a confidence interval, by bootstrapping.

use fusebox_core::random::SplitMix64;
use serde::{Deserialize, Serialize};

use super::sample::{median, quantile};

/// Number of bootstrap samples, each drawn from the rounds.
const DRAWS: usize = 2000;
/// Confidence level of the interval. It is higher than a single verdict needs, as the interval may
/// be computed several times until a verdict is clear.
const CONFIDENCE: f64 = 0.995;

/// A ratio and its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The estimate.
    pub ratio: f64,
    /// The upper end.
    pub high: f64,
}

/// Computes the ratio of the sides from the ratios of all pairs, grouped by round. The result is
/// the centre of the rounds' medians, as medians suppress outliers. The bootstrap draws whole
/// rounds, as the pairs of a round are correlated. `seed` determines the draws.
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

/// Returns the mean of the middle half: as robust against outliers as a median, with less variance.
fn centre(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let quarter = values.len() / 4;
    let middle = &values[quarter..values.len() - quarter];
    middle.iter().sum::<f64>() / middle.len() as f64
}
