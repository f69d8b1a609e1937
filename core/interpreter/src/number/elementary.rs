//! Error-free transformations, for results more accurate than plain `f64`.

/// Computes `a + b` as the rounded sum and its error.
#[inline]
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

/// Computes `a * b` as the rounded product and its error. If splitting a factor overflows, the
/// returned error is zero.
#[inline]
pub(crate) fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    let (a_high, a_low) = split(a);
    let (b_high, b_low) = split(b);
    let error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low);
    (product, if error.is_finite() { error } else { 0.0 })
}

/// Splits a number into a sum of two numbers with 26 bits each.
#[inline]
fn split(a: f64) -> (f64, f64) {
    let scaled = 134_217_729.0 * a;
    let high = scaled - (scaled - a);
    (high, a - high)
}

/// A sum with twice the precision of `f64`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LongSum {
    sum: f64,
    error: f64,
}

impl LongSum {
    pub fn new(x: f64) -> Self {
        LongSum { sum: x, error: 0.0 }
    }

    #[inline]
    pub fn add(&mut self, x: f64) {
        let (sum, error) = two_sum(self.sum, x);
        self.sum = sum;
        self.error += error;
    }

    #[inline]
    pub fn add_product(&mut self, a: f64, b: f64) {
        let (product, error) = two_product(a, b);
        self.add(product);
        self.error += error;
    }

    /// Returns the rounded sum.
    pub fn value(self) -> f64 {
        // Infinities and NaN make the error term NaN. In this case the plain sum is right. The
        // plain sum is also right for -0.
        if self.error != 0.0 && self.error.is_finite() { self.sum + self.error } else { self.sum }
    }
}
