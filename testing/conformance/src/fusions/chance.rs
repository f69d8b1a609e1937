//! Choices that a seed makes.

use fusebox_core::random::SplitMix64;

/// Choices in a row.
#[derive(Clone)]
pub struct Chance(SplitMix64);

impl Chance {
    /// Everything that follows depends on the seed only.
    pub fn new(seed: u64) -> Chance {
        Chance(SplitMix64(seed.wrapping_mul(0x2545_f491_4f6c_dd1d)))
    }

    /// A number from 0 to below `n`.
    pub fn below(&mut self, n: i64) -> i64 {
        (self.bits() >> 1) as i64 % n.max(1)
    }

    /// A word of any bits.
    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: i64) -> bool {
        self.below(n) == 0
    }

    /// One of these.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as i64) as usize].clone()
    }

    /// 0 to below `n` in some order.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i as i64 + 1) as usize);
        }
        order
    }
}
