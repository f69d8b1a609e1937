//! Chains of products in a convolution. A chain is a sequence of products that the kernel adds to
//! one partial sum. At the end of a chain, the kernel adds the chain's partial sum to the total.
//! Chains keep rounding errors small, because rounding errors grow with the number of consecutive
//! additions. The bits of the result depend on the size of the chains, so this size depends on the
//! problem and the device, but not on knobs.

use fusebox_core::builder::{FunctionBuilder, Value};
use fusebox_core::hlo::ElementType;
use fusebox_core::indexing::ceil_div;

/// Approximate number of steps of a chain. A sum of at most `2 * STEPS` steps is not split into
/// chains.
const STEPS: i64 = 256;

/// Size of a chain. A chain contains the products of `steps` steps in each of `rows` input rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductChain {
    pub rows: i64,
    pub steps: i64,
}

/// The products of one chain. `rows` is a range `[begin, end]` of input rows, and `steps` is a
/// range of steps in each of these rows.
#[derive(Clone, Copy)]
pub struct ChainProducts {
    pub rows: [Value; 2],
    pub steps: [Value; 2],
}

impl ProductChain {
    /// Returns the size of the chains for `rows` input rows with `steps` steps each. `most` is the
    /// largest number of input rows that the block's memory holds at a time. Returns `None` if all
    /// products form one chain.
    pub fn of([rows, steps]: [i64; 2], most: i64, sum: ElementType) -> Option<ProductChain> {
        let steps = steps.max(1);
        let are_many = rows.saturating_mul(steps) > 2 * STEPS;
        (are_many && sum.is_float()).then(|| ProductChain {
            rows: (STEPS / steps).clamp(1, most.max(1)),
            steps: ceil_div(steps, ceil_div(steps, STEPS)),
        })
    }

    /// Rounds a number of rows up to a multiple of a chain's rows.
    pub fn whole_rows(&self, rows: i64) -> i64 {
        ceil_div(rows, self.rows) * self.rows
    }

    /// Returns the number of chains in `rows` rows with `steps` steps each.
    pub fn parts(&self, [rows, steps]: [i64; 2]) -> i64 {
        ceil_div(rows, self.rows) * ceil_div(steps, self.steps)
    }

    /// Builds loops over all chains in `rows` rows with `steps` steps each. `add` builds the body,
    /// which adds the products of one chain. Returns the final sums.
    pub fn each(
        &self,
        b: &mut FunctionBuilder,
        [rows, steps]: [Value; 2],
        sums: Value,
        add: impl Fn(&mut FunctionBuilder, ChainProducts, Value) -> Value,
    ) -> Value {
        let zero = b.index(0);
        let [by_rows, by_steps] = [self.rows, self.steps].map(|count| b.index(count));
        b.scf_for(zero, rows, by_rows, &[sums], |b, row, sums| {
            let end = b.addi(row, by_rows);
            let of_rows = [row, b.minsi(end, rows)];
            b.scf_for(zero, steps, by_steps, sums, |b, step, sums| {
                let end = b.addi(step, by_steps);
                let of_steps = [step, b.minsi(end, steps)];
                vec![add(b, ChainProducts { rows: of_rows, steps: of_steps }, sums[0])]
            })
        })[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_about_as_long() {
        let of =
            |rows, steps, most| ProductChain::of([rows, steps], most, ElementType::F32).map(|it| (it.rows, it.steps));
        assert_eq!(of(3, 3 * 256, 3), Some((1, 256)));
        assert_eq!(of(3, 3 * 100, 3), Some((1, 150)));
        assert_eq!(of(8 * 28, 28, 100), Some((9, 28)));
        assert_eq!(of(8 * 28, 28, 4), Some((4, 28)));
        assert_eq!(of(3, 3 * 16, 3), None);
        assert_eq!(ProductChain::of([3, 3 * 256], 3, ElementType::S32), None);
        let chain = ProductChain { rows: 9, steps: 28 };
        assert_eq!((chain.whole_rows(20), chain.parts([20, 28])), (27, 3));
    }
}
