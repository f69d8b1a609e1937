//! Random fusions, against the reference interpreter. Every emitter that takes a fusion compiles it
//! in its default and in another configuration, for cpu and simt.
//!
//! A fusion has a prologue of elementwise operations, one or several heroes (reductions,
//! transposes, concatenations, slices, updates, pads, gathers, scatters, …), an epilogue, and side
//! outputs; odd sizes, dimensions of size 1, types of 4 to 64 bits. Elements are small integers and
//! operations are chosen so that no result depends on the order of summation. The test therefore
//! compares results for equality.
//!
//! A seed determines a fusion. `FUSEBOX_FUSIONS` sets how many the test checks and
//! `FUSEBOX_FUSION_SEED` the first: `FUSEBOX_FUSION_SEED=1234 FUSEBOX_FUSIONS=1 cargo test -p
//! fusebox --test random_fusions` repeats one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

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
    // Visible with --nocapture.
    println!("{tally:#?}");
    checked.unwrap_or_else(|failure| panic!("{failure}"));
}
