//! `peak [THREADS]`: multiplications and additions of `f32` per second that the machine makes in registers, in GFLOP/s. What
//! products are held against.

use std::time::{Duration, Instant};

/// Turns between two looks at the clock.
const TURNS: u32 = 1 << 16;
/// How long is measured; the best of so many times counts.
const LONG: Duration = Duration::from_millis(200);
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

/// Operations per second of this thread.
fn measure() -> Option<f64> {
    let (begin, mut operations) = (Instant::now(), 0.0);
    while begin.elapsed() < LONG {
        operations += chains::run(TURNS)? * f64::from(TURNS);
    }
    Some(operations / begin.elapsed().as_secs_f64())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = std::env::args().nth(1).map_or(Ok(available), |text| text.parse())?;
    let once = || {
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(measure)).collect();
            workers.into_iter().map(|worker| worker.join().ok().flatten()).sum::<Option<f64>>()
        })
    };
    let best = (0..TIMES).filter_map(|_| once()).fold(0.0, f64::max);
    if best == 0.0 {
        return Err("this processor has neither AVX-512 nor AVX2 with FMA, or there are no threads".into());
    }
    println!("{:.0} GFLOP/s of f32 in {threads} threads", best / 1e9);
    Ok(())
}
