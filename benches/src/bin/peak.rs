//! `peak [THREADS]`: prints the speed with which the machine multiplies and adds `f32` values in
//! registers, in GFLOP/s. The speed of matrix products is compared with this speed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = std::env::args().nth(1).map_or(Ok(available), |text| text.parse())?;
    let best = fusebox_runtime::operations_per_second(threads)
        .ok_or("this processor has neither AVX-512 nor AVX2 with FMA, or there are no threads")?;
    println!("{:.0} GFLOP/s of f32 in {threads} threads", best / 1e9);
    Ok(())
}
