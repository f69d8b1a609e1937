//! Numbers that describe a sample.

use serde::Serialize;

/// A sample in five numbers, in the sample's unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The smallest.
    pub min: f64,
    /// A quarter of the sample lies below.
    pub lower_quartile: f64,
    /// Half of the sample lies below.
    pub median: f64,
    /// Three quarters of the sample lie below.
    pub upper_quartile: f64,
    /// Size of the sample.
    pub count: usize,
}

impl Summary {
    /// Describes a sample; of an empty one, nothing is a number.
    pub fn of(sample: &[f64]) -> Summary {
        let mut sorted = sample.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| quantile(&sorted, share);
        Summary {
            min: at(0.0),
            lower_quartile: at(0.25),
            median: at(0.5),
            upper_quartile: at(0.75),
            count: sorted.len(),
        }
    }
}

/// The median; NaN of nothing.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}

/// The value below which that share of sorted values lies, between two of them in proportion; NaN of nothing.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}
