//! Statistics that describe a sample.

use serde::Serialize;

/// A summary of a sample: four values in the sample's unit, and the sample's size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The smallest value.
    pub min: f64,
    /// A quarter of the sample is below this value.
    pub lower_quartile: f64,
    /// Half of the sample is below this value.
    pub median: f64,
    /// Three quarters of the sample are below this value.
    pub upper_quartile: f64,
    /// Size of the sample.
    pub count: usize,
}

impl Summary {
    /// Summarises a sample. If the sample is empty, all values are NaN.
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

/// Returns the median of the values; NaN if there are none.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}

/// Returns a quantile of sorted values, with linear interpolation; NaN if there are no values.
/// `share` is the fraction of the values below the quantile.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}
