//! Compares random fusions with the reference interpreter. Every emitter that accepts a fusion
//! compiles it for cpu and simt, in its default configuration and in another configuration.
//!
//! A fusion has a prologue of elementwise operations, one or several heroes, an epilogue, and side
//! outputs. Heroes are reductions, transposes, concatenations, slices, updates, pads, gathers,
//! scatters, …. There are odd sizes, dimensions of size 1, and types of 4 to 64 bits. Elements are
//! small integers, and the operations are such that no result depends on the order of summation.
//! Therefore the test requires equal results.
//!
//! A seed determines a fusion. `FUSEBOX_FUSIONS` sets the number of fusions to check, and
//! `FUSEBOX_FUSION_SEED` sets the first seed. To check one fusion again, run
//! `FUSEBOX_FUSION_SEED=1234 FUSEBOX_FUSIONS=1 cargo test -p fusebox --test all random_fusions::`.

use fusebox_conformance::{Tally, check_together};

#[test]
fn random_fusions_first_half() {
    let (first, count) = seeds();
    check_all(first, count.div_ceil(2));
}

#[test]
fn random_fusions_second_half() {
    let (first, count) = seeds();
    check_all(first + count.div_ceil(2), count / 2);
}

fn seeds() -> (u64, u64) {
    let number = |name: &str, usual| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
    (number("FUSEBOX_FUSION_SEED", 1), number("FUSEBOX_FUSIONS", 600))
}

fn check_all(first: u64, count: u64) {
    let mut tally = Tally::new();
    let checked = check_together(&fusebox_bundle::emitters, first..first + count, &mut tally);
    // This line is visible with `--nocapture`.
    println!("{tally:#?}");
    checked.unwrap_or_else(|failure| panic!("{failure}"));
}
