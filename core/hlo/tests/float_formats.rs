//! Compares float formats with an independent definition.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fusebox_hlo::{ElementType, FloatFormat};

/// Compares formats with values from the Python package ml_dtypes: the largest number, the exponent
/// of the smallest number, the bits of 1, and the number of NaNs.
#[test]
fn formats_are_those_of_ml_dtypes() {
    use ElementType as T;
    let formats = [
        (T::F4E2M1FN, 6.0, -1, 2, 0),
        (T::F8E3M4, 15.5, -6, 48, 30),
        (T::F8E4M3, 240.0, -9, 56, 14),
        (T::F8E4M3B11FNUZ, 30.0, -13, 88, 1),
        (T::F8E4M3FN, 448.0, -9, 56, 2),
        (T::F8E4M3FNUZ, 240.0, -10, 64, 1),
        (T::F8E5M2, 57344.0, -16, 60, 6),
        (T::F8E5M2FNUZ, 57344.0, -17, 64, 1),
        (T::F8E8M0FNU, 2f64.powi(127), -127, 127, 1),
        (T::BF16, 3.3895313892515355e38, -133, 16256, 254),
    ];
    for (ty, largest, smallest, one, nans) in formats {
        let format = FloatFormat::of(ty).unwrap();
        let all: Vec<f64> = (0..1 << ty.bits()).map(|bits| format.decode(bits)).collect();
        let finite = || all.iter().copied().filter(|x| x.is_finite());
        assert_eq!(finite().fold(0.0, f64::max), largest, "{ty}");
        assert_eq!(finite().filter(|&x| x > 0.0).fold(1.0, f64::min), 2f64.powi(smallest), "{ty}");
        assert_eq!((all[one], all.iter().filter(|x| x.is_nan()).count()), (1.0, nans), "{ty}");
    }
}
