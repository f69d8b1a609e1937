//! Choices that a seed makes.

/// SplitMix64.
#[derive(Clone)]
pub struct Chance(u64);

impl Chance {
    /// Everything that follows depends on the seed only.
    pub fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    /// A number from 0 to below `n`.
    pub fn below(&mut self, n: i64) -> i64 {
        (self.bits() >> 1) as i64 % n.max(1)
    }

    /// A word of any bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
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
