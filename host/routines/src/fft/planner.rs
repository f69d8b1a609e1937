//! Plans transforms of single complex lines by the crate `rustfft`.

use std::sync::Arc;

use rustfft::{Fft, FftDirection, FftNum};

/// Plans the transform of complex lines of `length` elements.
///
/// The planner of `rustfft` would contain specialised transforms for processors without AVX, which
/// are 0.4 MB of code. On such processors, lines whose length is no power of two are transformed by
/// Bluestein's algorithm instead.
#[cfg(target_arch = "x86_64")]
pub(super) fn plan<T: FftNum>(length: usize, direction: FftDirection) -> Arc<dyn Fft<T>> {
    match rustfft::FftPlannerAvx::new() {
        Ok(mut planner) => planner.plan_fft(length, direction),
        Err(()) => without_avx(length, direction),
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn plan<T: FftNum>(length: usize, direction: FftDirection) -> Arc<dyn Fft<T>> {
    rustfft::FftPlanner::new().plan_fft(length, direction)
}

#[cfg(target_arch = "x86_64")]
fn without_avx<T: FftNum>(length: usize, direction: FftDirection) -> Arc<dyn Fft<T>> {
    use rustfft::algorithm::{BluesteinsAlgorithm, Radix4};
    if length.is_power_of_two() {
        return Arc::new(Radix4::new(length, direction));
    }
    let inner = Radix4::new((2 * length - 1).next_power_of_two(), direction);
    Arc::new(BluesteinsAlgorithm::new(length, Arc::new(inner)))
}
