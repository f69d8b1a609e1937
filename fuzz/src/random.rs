//! Random choices that depend only on a seed.

use fusebox_core::random::SplitMix64;

/// Random numbers that depend only on a seed.
#[derive(Clone, Debug)]
pub struct Random(SplitMix64);

impl Random {
    /// Creates the random numbers of one case. They depend on the seed of the run and on the number
    /// of the case.
    pub fn new(seed: u64, case: u64) -> Self {
        let mut random = Random(SplitMix64(seed ^ case.wrapping_mul(0xd134_2543_de82_ef95)));
        random.bits();
        random
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// Returns a number below `end`, or 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.bits() % end as u64) as usize }
    }

    /// Returns true with probability 1/`one_in`.
    pub fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    /// Returns one of several items, or `None` if there are no items.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// Returns a number that is likely to be a boundary case.
    pub fn number(&mut self) -> i64 {
        match self.below(5) {
            0 => self.below(4) as i64 - 1,
            1 => (1i64 << self.below(63)) + self.below(3) as i64 - 1,
            2 => -(1i64 << self.below(63)),
            3 => [i64::MAX, i64::MIN, i64::MIN + 1, i64::from(i32::MAX), i64::from(u32::MAX), 0][self.below(6)],
            _ => self.below(300) as i64,
        }
    }
}
