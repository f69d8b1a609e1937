//! Measures how many `f32` multiplications and additions per second this processor executes in
//! registers. Measurements compare the speed of compute-bound kernels with this rate.

use std::time::{Duration, Instant};

/// Number of iterations between two readings of the clock.
const TURNS: u32 = 1 << 14;
/// Duration of one measurement. The result is the highest rate of `TIMES` measurements.
const LONG: Duration = Duration::from_millis(10);
const TIMES: u32 = 5;

/// Executes several independent chains of the operation `sum = sum * factor + addend`. The number
/// of chains exceeds the number of operations that the processor executes at once. The independent
/// chains hide the latency of an operation.
#[cfg(target_arch = "x86_64")]
mod chains {
    use std::arch::x86_64::{_mm256_fmadd_ps, _mm256_set1_ps, _mm512_fmadd_ps, _mm512_set1_ps};

    use std::hint::black_box;

    const SUMS: usize = 12;

    /// Executes `turns` operations of every chain in registers of 64 bytes.
    #[target_feature(enable = "avx512f")]
    pub fn wide(turns: u32) {
        let (factor, addend) = black_box((_mm512_set1_ps(0.999), _mm512_set1_ps(0.001)));
        let mut sums = black_box([_mm512_set1_ps(1.0); SUMS]);
        for _ in 0..turns {
            // Use a loop, because a closure does not have this function's target features.
            for sum in &mut sums {
                *sum = _mm512_fmadd_ps(*sum, factor, addend);
            }
        }
        black_box(sums);
    }

    /// Executes `turns` operations of every chain in registers of 32 bytes.
    #[target_feature(enable = "avx2,fma")]
    pub fn narrow(turns: u32) {
        let (factor, addend) = black_box((_mm256_set1_ps(0.999), _mm256_set1_ps(0.001)));
        let mut sums = black_box([_mm256_set1_ps(1.0); SUMS]);
        for _ in 0..turns {
            // Use a loop, because a closure does not have this function's target features.
            for sum in &mut sums {
                *sum = _mm256_fmadd_ps(*sum, factor, addend);
            }
        }
        black_box(sums);
    }

    /// Executes `turns` iterations. Returns the number of multiplications and additions per
    /// iteration; `None` if the processor lacks fused multiply-add instructions.
    pub fn run(turns: u32) -> Option<f64> {
        let lanes = if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the feature.
            unsafe { wide(turns) };
            16
        } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has both features.
            unsafe { narrow(turns) };
            8
        } else {
            return None;
        };
        Some((2 * lanes * SUMS) as f64)
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod chains {
    /// Returns `None`, because only x86-64 processors are measured.
    pub fn run(_: u32) -> Option<f64> {
        None
    }
}

/// Returns the number of `f32` multiplications and additions per second that `threads` threads
/// together execute. Returns `None` if the processor lacks fused multiply-add instructions or the
/// system cannot start the threads.
pub fn operations_per_second(threads: usize) -> Option<f64> {
    let once = || {
        std::thread::scope(|scope| {
            let start = || std::thread::Builder::new().spawn_scoped(scope, of_this_thread).ok();
            let workers: Vec<_> = (0..threads).map(|_| start()).collect();
            workers.into_iter().map(|worker| worker?.join().ok().flatten()).sum::<Option<f64>>()
        })
    };
    let best = (0..TIMES).filter_map(|_| once()).fold(0.0, f64::max);
    (best > 0.0).then_some(best)
}

fn of_this_thread() -> Option<f64> {
    let (begin, mut operations) = (Instant::now(), 0.0);
    while begin.elapsed() < LONG {
        operations += chains::run(TURNS)? * f64::from(TURNS);
    }
    Some(operations / begin.elapsed().as_secs_f64())
}
