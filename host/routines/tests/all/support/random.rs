//! Pseudorandom numbers.

use fusebox_core::random::SplitMix64;

/// Pseudorandom numbers. They are the same in every run.
pub struct Random(SplitMix64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(SplitMix64(seed))
    }

    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// Returns a number that is uniformly distributed in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    /// Returns a number that is uniformly distributed between -1 and 1.
    pub fn signed(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    pub fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
