//! Defines the order in which the simulator runs threads.

use fusebox_core::random::SplitMix64;

/// The order in which the simulator runs blocks, warps and lanes. The results of a correct kernel
/// do not depend on this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ThreadOrder {
    /// Ascending numbers.
    #[default]
    Forward,
    /// Descending numbers.
    Reverse,
    /// A pseudo-random order with this seed.
    Seeded(u64),
}

impl ThreadOrder {
    /// Returns the number of the item that runs at position `turn` in the order of `count` items.
    /// The first position is 0. Each item runs exactly once.
    pub fn at(self, turn: u64, count: u64) -> u64 {
        match self {
            ThreadOrder::Forward => turn,
            ThreadOrder::Reverse => count - 1 - turn,
            ThreadOrder::Seeded(seed) => {
                // If `step` and `count` are coprime, steps of this size visit every item exactly
                // once.
                let mut step = SplitMix64(seed).bits() % count + 1;
                while greatest_common_divisor(step, count) != 1 {
                    step += 1;
                }
                let start = SplitMix64(seed ^ 0x5555).bits() % count;
                ((u128::from(turn) * u128::from(step) + u128::from(start)) % u128::from(count)) as u64
            }
        }
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_visits_everything_once() {
        for order in [ThreadOrder::Forward, ThreadOrder::Reverse, ThreadOrder::Seeded(0), ThreadOrder::Seeded(77)] {
            for count in [1u64, 2, 7, 32, 33] {
                let mut seen: Vec<u64> = (0..count).map(|turn| order.at(turn, count)).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..count).collect::<Vec<_>>(), "{order:?} of {count}");
            }
        }
        assert_ne!(ThreadOrder::Seeded(1).at(0, 1000), ThreadOrder::Seeded(2).at(0, 1000));
    }
}
