//! Computes the ratio of the times of two sides, with a confidence interval by bootstrapping.

use fusebox_core::random::SplitMix64;
use serde::{Deserialize, Serialize};

use super::sample::{median, quantile};

/// Number of bootstrap samples. Each sample is drawn from the rounds.
const DRAWS: usize = 2000;
/// Confidence level of the interval. A lower level would suffice for a single verdict, but the
/// interval may be computed several times until a verdict is clear.
const CONFIDENCE: f64 = 0.995;

/// A ratio and its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end of the interval.
    pub low: f64,
    /// Estimate of the ratio.
    pub ratio: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// Computes the ratio of the sides from the ratios of all pairs. `rounds` contains the ratios of
/// each round. The result is the centre of the rounds' medians; the medians suppress outliers. The
/// bootstrap draws whole rounds, because the pairs of a round are correlated. `seed` determines the
/// draws.
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

/// Returns the mean of the middle half of the sorted values. The mean of the middle half is as
/// robust against outliers as a median, but has less variance than a median.
fn centre(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let quarter = values.len() / 4;
    let middle = &values[quarter..values.len() - quarter];
    middle.iter().sum::<f64>() / middle.len() as f64
}
