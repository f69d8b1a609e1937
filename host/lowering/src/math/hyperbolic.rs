//! Hyperbolic functions.

use super::code::Value;
use super::exp::expm1_moderate;

/// tanh |x| = t / (t + 2) with t = e^(2|x|) - 1, which loses nothing near 0.
pub fn tanh(x: Value<'_>) -> Value<'_> {
    let magnitude = x.abs().at_most(x.choose(10.0, 20.0));
    let t = expm1_moderate(magnitude + magnitude);
    (t / (t + 2.0)).copysign(x)
}
