//! Batch normalisation, computed in `f64` and rounded at the end.

use crate::error::{Outcome, ensure};
use crate::movement::dimension_number;
use crate::number;
use crate::value::{Array, Data, Value};

/// The grouping of an operand's elements by feature.
struct Features {
    count: usize,
    inner: usize,
    per_feature: f64,
}

impl Features {
    fn new(x: &Array, feature_index: i64, others: &[&Array]) -> Outcome<Self> {
        let d = dimension_number(feature_index, x.rank())?;
        let count = x.dims[d];
        let fits = others.iter().all(|o| o.dims == [count]);
        ensure!(fits, "a per-feature operand of batch-norm does not have the size of the feature dimension");
        let inner = x.dims[d + 1..].iter().product();
        Ok(Features { count, inner, per_feature: (x.len() / count.max(1)) as f64 })
    }

    fn of(&self, i: usize) -> usize {
        i / self.inner % self.count
    }

    /// For each feature, returns the mean of `term` over the elements of this feature.
    fn mean(&self, length: usize, term: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut sums = vec![number::LongSum::default(); self.count];
        (0..length).for_each(|i| sums[self.of(i)].add(term(i)));
        sums.into_iter().map(|sum| sum.value() / self.per_feature).collect()
    }
}

fn rounded(like: &Array, values: Vec<f64>) -> Array {
    let values = values.into_iter().map(|x| number::round(like.ty, x)).collect();
    Array::new(like.ty, like.dims.clone(), Data::Float(values))
}

/// Evaluates `batch-norm-training`. `batch-norm-training` reads value, scale and offset, and
/// returns normalised value, mean and variance.
pub(crate) fn training(operands: [&Array; 3], epsilon: f32, feature_index: i64) -> Outcome<Value> {
    let [x, scale, offset] = operands;
    let features = Features::new(x, feature_index, &[scale, offset])?;
    let (values, scales, offsets) = (x.floats()?, scale.floats()?, offset.floats()?);
    let mean = features.mean(values.len(), |i| values[i]);
    let variance = features.mean(values.len(), |i| (values[i] - mean[features.of(i)]).powi(2));
    let normalised = |i: usize| {
        let f = features.of(i);
        (values[i] - mean[f]) / (variance[f] + f64::from(epsilon)).sqrt() * scales[f] + offsets[f]
    };
    let normalised = rounded(x, (0..values.len()).map(normalised).collect());
    Ok(Value::Tuple(vec![normalised.into(), rounded(scale, mean).into(), rounded(scale, variance).into()]))
}

/// Evaluates `batch-norm-inference`. `batch-norm-inference` reads value, scale, offset, mean and
/// variance.
pub(crate) fn inference(operands: [&Array; 5], epsilon: f32, feature_index: i64) -> Outcome<Value> {
    let [x, scale, offset, mean, variance] = operands;
    let features = Features::new(x, feature_index, &[scale, offset, mean, variance])?;
    let (values, scales, offsets) = (x.floats()?, scale.floats()?, offset.floats()?);
    let (mean, variance) = (mean.floats()?, variance.floats()?);
    let normalised = |i: usize| {
        let f = features.of(i);
        (values[i] - mean[f]) / (variance[f] + f64::from(epsilon)).sqrt() * scales[f] + offsets[f]
    };
    Ok(rounded(x, (0..values.len()).map(normalised).collect()).into())
}

/// Evaluates `batch-norm-grad`. `batch-norm-grad` reads value, scale, mean, variance and the
/// gradient of the result. `batch-norm-grad` returns the gradients of value, scale and offset.
pub(crate) fn gradient(operands: [&Array; 5], epsilon: f32, feature_index: i64) -> Outcome<Value> {
    let [x, scale, mean, variance, gradient] = operands;
    let features = Features::new(x, feature_index, &[scale, mean, variance])?;
    ensure!(gradient.dims == x.dims, "the gradient of batch-norm-grad does not have the operand's shape");
    let (values, scales, gradients) = (x.floats()?, scale.floats()?, gradient.floats()?);
    let (mean, variance) = (mean.floats()?, variance.floats()?);
    let deviation: Vec<f64> = variance.iter().map(|v| (v + f64::from(epsilon)).sqrt()).collect();
    let centred = |i: usize| (values[i] - mean[features.of(i)]) / deviation[features.of(i)];
    let mean_gradient = features.mean(values.len(), |i| gradients[i]);
    let mean_product = features.mean(values.len(), |i| gradients[i] * centred(i));
    let of_value = |i: usize| {
        let f = features.of(i);
        scales[f] / deviation[f] * (gradients[i] - mean_gradient[f] - centred(i) * mean_product[f])
    };
    let of_value = rounded(x, (0..values.len()).map(of_value).collect());
    let total = |means: Vec<f64>| rounded(scale, means.into_iter().map(|m| m * features.per_feature).collect());
    Ok(Value::Tuple(vec![of_value.into(), total(mean_product).into(), total(mean_gradient).into()]))
}
