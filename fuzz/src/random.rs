//! Choices that a seed decides.

use fusebox_core::random::SplitMix64;

/// Random numbers that depend on the seed alone.
#[derive(Clone, Debug)]
pub struct Random(SplitMix64);

impl Random {
    /// Of a run's seed and a case's number.
    pub fn new(seed: u64, case: u64) -> Self {
        let mut random = Random(SplitMix64(seed ^ case.wrapping_mul(0xd134_2543_de82_ef95)));
        random.bits();
        random
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number below `end`; 0 if that is 0.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.bits() % end as u64) as usize }
    }

    /// Whether something of this chance happens.
    pub fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// A number that is likely to be at some border.
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
