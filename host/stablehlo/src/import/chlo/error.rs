//! The complementary error function and the inverse error function.

use fusebox_core::hlo::Comparison;

use super::value::Value;

/// Returns `1 - erf(x)`, and avoids the cancellation of this subtraction for large x. The formulas
/// and their numbers come from the Cephes library (Stephen Moshier,
/// <https://www.netlib.org/cephes>).
pub(super) fn erfc(x: Value) -> Value {
    let is_double = x.is_double();
    let magnitude = x.abs();
    let square = x * x;
    let exponent = -square;
    let scaled = if is_double { scaled_double(magnitude, exponent) } else { scaled_single(magnitude, square) };
    let underflow = if is_double { -709.782712893384 } else { -88.72284 };
    let tail = exponent.is(Comparison::Lt, underflow).choose(0.0, scaled);
    let outside = x.is(Comparison::Lt, 0.0).choose(2.0 - tail, tail);

    let erf = if is_double {
        x * square.polynomial(&ERF_DOUBLE) / square.polynomial(&ERF_DIVISOR_DOUBLE)
    } else {
        x * square.polynomial(&ERF_SINGLE)
    };
    magnitude.is(Comparison::Lt, 1.0).choose(1.0 - erf, outside)
}

/// Returns `erfc(magnitude)` for a magnitude of at least 1.
fn scaled_single<'f>(magnitude: Value<'f>, square: Value<'f>) -> Value<'f> {
    let inverse_square = 1.0 / square;
    let scale = (-square).exp() * (1.0 / magnitude);
    let (near, far) = (inverse_square.polynomial(&NEAR_SINGLE), inverse_square.polynomial(&FAR_SINGLE));
    scale * magnitude.is(Comparison::Lt, 2.0).choose(near, far)
}

/// Returns `erfc(magnitude)` for a magnitude of at least 1. `exponent` is the negated square of
/// `magnitude`.
fn scaled_double<'f>(magnitude: Value<'f>, exponent: Value<'f>) -> Value<'f> {
    let scale = exponent.exp();
    let near = scale * magnitude.polynomial(&NEAR_DOUBLE) / magnitude.polynomial(&NEAR_DIVISOR_DOUBLE);
    let far = scale * magnitude.polynomial(&FAR_DOUBLE) / magnitude.polynomial(&FAR_DIVISOR_DOUBLE);
    magnitude.is(Comparison::Lt, 8.0).choose(near, far)
}

/// Returns the number whose error function is x. Each polynomial in `w = -log(1 - x²)`, or in the
/// square root of w, is accurate for a range of w (Mike Giles, "Approximating the erfinv function",
/// 2012).
pub(super) fn erf_inv(x: Value) -> Value {
    let w = -(x * -x).log_plus_one();
    let root = w.sqrt();
    let quotient = if x.is_double() {
        let tail = w.is(Comparison::Lt, 16.0);
        let tail = tail.choose((root - 3.25).polynomial(&TAIL_DOUBLE), (root - 5.0).polynomial(&END_DOUBLE));
        w.is(Comparison::Lt, 6.25).choose((w - 3.125).polynomial(&CENTRE_DOUBLE), tail)
    } else {
        let (centre, tail) = ((w - 2.5).polynomial(&CENTRE_SINGLE), (root - 3.0).polynomial(&TAIL_SINGLE));
        w.is(Comparison::Lt, 5.0).choose(centre, tail)
    };
    let is_end = x.abs().is(Comparison::Eq, 1.0);
    is_end.choose(x * f64::INFINITY, quotient * x)
}

// Polynomials of `erfc`. The coefficient of the highest power comes first.
const ERF_SINGLE: [f64; 7] =
    [0.000078538615, -0.00080101937, 0.0051883277, -0.026853813, 0.112835854, -0.37612626, 1.12837916572671];
const NEAR_SINGLE: [f64; 9] =
    [0.0232682, -0.13870394, 0.36874247, -0.5824733, 0.62100047, -0.49445152, 0.340488, -0.2741127, 0.56382596];
const FAR_SINGLE: [f64; 8] =
    [-10.477664, 12.9772, -7.4955187, 2.921019, -1.0152652, 0.42184633, -0.28207675, 0.5641895];
const ERF_DOUBLE: [f64; 5] =
    [9.604973739870516, 90.02601972038427, 2232.005345946843, 7003.325141128051, 55592.30130103949];
const ERF_DIVISOR_DOUBLE: [f64; 6] =
    [1.0, 33.56171416475031, 521.3579497801527, 4594.323829709801, 22629.000061389095, 49267.39426086359];
const NEAR_DOUBLE: [f64; 9] = [
    2.461969814735305e-10,
    0.5641895648310689,
    7.463210564422699,
    48.63719709856814,
    196.5208329560771,
    526.4451949954773,
    934.5285271719576,
    1027.5518868951572,
    557.5353353693994,
];
const NEAR_DIVISOR_DOUBLE: [f64; 9] = [
    1.0,
    13.228195115474499,
    86.70721408859897,
    354.9377788878199,
    975.7085017432055,
    1823.9091668790973,
    2246.3376081871097,
    1656.6630919416134,
    557.5353408177277,
];
const FAR_DOUBLE: [f64; 6] = [
    0.5641895835477551,
    1.275366707599781,
    5.019050422511805,
    6.160210979930536,
    7.4097426995044895,
    2.9788666537210022,
];
const FAR_DIVISOR_DOUBLE: [f64; 7] = [
    1.0,
    2.2605286322011726,
    9.396035249380015,
    12.048953980809666,
    17.08144507475659,
    9.608968090632859,
    3.369076451000815,
];

// Polynomials of `erf_inv`. The coefficient of the highest power comes first.
const CENTRE_SINGLE: [f64; 9] = [
    2.8102264e-8,
    3.4327394e-7,
    -3.5233877e-6,
    -4.3915065e-6,
    0.00021858087,
    -0.001253725,
    -0.0041776816,
    0.24664073,
    1.5014094,
];
const TAIL_SINGLE: [f64; 9] = [
    -0.00020021426,
    0.00010095056,
    0.0013493432,
    -0.0036734284,
    0.0057395077,
    -0.0076224613,
    0.0094388705,
    1.001674,
    2.8329768,
];
const CENTRE_DOUBLE: [f64; 23] = [
    -3.64441206401782e-21,
    -1.6850591381820166e-19,
    1.28584807152564e-18,
    1.1157877678025181e-17,
    -1.333171662854621e-16,
    2.0972767875968562e-17,
    6.637638134358324e-15,
    -4.054566272975207e-14,
    -8.151934197605472e-14,
    2.6335093153082323e-12,
    -1.2975133253453532e-11,
    -5.415412054294628e-11,
    1.0512122733215323e-9,
    -4.112633980346984e-9,
    -2.9070369957882005e-8,
    4.2347877827932404e-7,
    -1.3654692000834679e-6,
    -0.000013882523362786469,
    0.00018673420803405714,
    -0.000740702534166267,
    -0.006033670871430149,
    0.24015818242558962,
    1.6536545626831027,
];
const TAIL_DOUBLE: [f64; 19] = [
    2.2137376921775787e-9,
    9.075656193888539e-8,
    -2.7517406297064545e-7,
    1.8239629214389228e-8,
    1.5027403968909828e-6,
    -4.013867526981546e-6,
    2.9234449089955446e-6,
    0.000012475304481671779,
    -0.000047318229009055734,
    0.00006828485145957318,
    0.000024031110387097894,
    -0.0003550375203628475,
    0.0009532893797373805,
    -0.0016882755560235047,
    0.002491442096107851,
    -0.003751208507569241,
    0.005370914553590064,
    1.0052589676941592,
    3.0838856104922208,
];
const END_DOUBLE: [f64; 17] = [
    -2.7109920616438573e-11,
    -2.555641816996525e-10,
    1.5076572693500548e-9,
    -3.789465440126737e-9,
    7.61570120807834e-9,
    -1.496002662714924e-8,
    2.914795345090108e-8,
    -6.771199775845234e-8,
    2.2900482228026655e-7,
    -9.9298272942317e-7,
    4.526062597223154e-6,
    -0.00001968177810553167,
    0.00007599527703001776,
    -0.00021503011930044477,
    -0.00013871931833623122,
    1.0103004648645344,
    4.849906401408584,
];
