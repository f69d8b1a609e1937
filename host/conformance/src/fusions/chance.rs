//! Random choices that depend only on a seed.

use fusebox_core::random::SplitMix64;

/// A sequence of random choices.
#[derive(Clone)]
pub struct Chance(SplitMix64);

impl Chance {
    /// Creates the sequence that a seed determines.
    pub fn new(seed: u64) -> Chance {
        Chance(SplitMix64(seed.wrapping_mul(0x2545_f491_4f6c_dd1d)))
    }

    /// Returns a random whole number, at least 0 and less than `n`.
    pub fn below(&mut self, n: i64) -> i64 {
        (self.bits() >> 1) as i64 % n.max(1)
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// Returns true with probability 1/`n`.
    pub fn once_in(&mut self, n: i64) -> bool {
        self.below(n) == 0
    }

    /// Returns a random one of these items.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as i64) as usize].clone()
    }

    /// Returns all whole numbers from 0 to `n - 1` in random order.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i as i64 + 1) as usize);
        }
        order
    }
}
