//! How fast this processor multiplies and adds `f32` in registers: what kernels that compute are held against.

use std::time::{Duration, Instant};

/// Turns between two looks at the clock.
const TURNS: u32 = 1 << 14;
/// How long is measured; the best of so many times counts.
const LONG: Duration = Duration::from_millis(10);
const TIMES: u32 = 5;

/// One chain of `sum = sum * factor + addend` per sum: more sums than there are additions under way, so that none waits.
#[cfg(target_arch = "x86_64")]
mod chains {
    use std::arch::x86_64::{_mm256_fmadd_ps, _mm256_set1_ps, _mm512_fmadd_ps, _mm512_set1_ps};

    use std::hint::black_box;

    const SUMS: usize = 12;

    /// With registers of 64 bytes.
    #[target_feature(enable = "avx512f")]
    pub fn wide(turns: u32) {
        let (factor, addend) = black_box((_mm512_set1_ps(0.999), _mm512_set1_ps(0.001)));
        let mut sums = black_box([_mm512_set1_ps(1.0); SUMS]);
        for _ in 0..turns {
            // No closure: it would not have the features of this function.
            for sum in &mut sums {
                *sum = _mm512_fmadd_ps(*sum, factor, addend);
            }
        }
        black_box(sums);
    }

    /// With registers of 32 bytes.
    #[target_feature(enable = "avx2,fma")]
    pub fn narrow(turns: u32) {
        let (factor, addend) = black_box((_mm256_set1_ps(0.999), _mm256_set1_ps(0.001)));
        let mut sums = black_box([_mm256_set1_ps(1.0); SUMS]);
        for _ in 0..turns {
            // No closure: it would not have the features of this function.
            for sum in &mut sums {
                *sum = _mm256_fmadd_ps(*sum, factor, addend);
            }
        }
        black_box(sums);
    }

    /// Operations of a turn, if the processor has such instructions.
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
    /// Nothing is known of other processors.
    pub fn run(_: u32) -> Option<f64> {
        None
    }
}

/// Multiplications and additions of `f32` per second of so many threads together; `None` where the processor has no
/// instructions that do both at once, or the system no threads.
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
