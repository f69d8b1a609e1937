//! The rules of matrix products.

use super::super::{Verdict, ensure};
use super::Rule;
use crate::{Float, GROUP_ROWS, GROUP_STEPS, MOST_GROUP_COLUMNS, MatrixProduct, Scalar, TILE_SQUARE, Type};

impl Rule<'_> {
    /// Checks the operands of a matrix product that one warp computes: words of the left operand,
    /// words of the right operand, then sums. After lowering, words of narrow floats are integers
    /// with the same bits.
    pub(super) fn matrix_product(&self) -> Verdict {
        let Some(product) = MatrixProduct::of_operation(self.operation) else {
            let names = MatrixProduct::ALL.map(MatrixProduct::name).join(", ");
            return Err(format!("needs the attribute `product`, one of {names}"));
        };
        let [left, right, sums] = product.words().map(|count| count as usize);
        let word = product.word();
        let bits = word.with_element(Scalar::Int(word.element().bits()));
        let sum = Type::from(product.sum());
        let holds = self.operands.len() == left + right + sums
            && self.operands[..left + right].iter().all(|&ty| *ty == word || *ty == bits)
            && self.operands[left + right..] == self.results
            && self.results.iter().all(|&ty| *ty == sum);
        let rule =
            format!("takes {left} and {right} words of type {word}, and takes and gives {sums} sums of type {sum}");
        self.ensure(holds, &rule)
    }

    /// Checks the operands of a matrix product that four warps compute: two tiles, each followed by
    /// its indices, then sums. After lowering, the operands are sums, two addresses and optionally
    /// memory for the sums.
    pub(super) fn product_of_warps(&self) -> Verdict {
        let along = self.operation.integers("along_steps").unwrap_or_default();
        ensure(along.len() == 2 && along.iter().all(|it| (0..2).contains(it)), || {
            "needs the attribute `along_steps`, 0 or 1 for each tile".into()
        })?;
        if self.operands.iter().any(|ty| matches!(ty, Type::Pointer(_))) {
            let sums = self.results.len();
            self.number("columns", |columns| columns == 2 * sums as i64)?;
            self.number("steps", |steps| steps > 0 && steps % GROUP_STEPS == 0)?;
            let strides = self.operation.integers("strides").unwrap_or_default();
            ensure(strides.len() == 2 && strides.iter().all(|stride| (0..1 << 16).contains(stride)), || {
                "needs the attribute `strides`, two numbers of elements".into()
            })?;
            let is_place =
                |place: &[&Type]| matches!(place, [Type::Pointer(_), Type::Scalar(Scalar::Index | Scalar::I64)]);
            let holds = match self.operands.split_at_checked(sums) {
                Some((given, [places @ .., room])) if places.len() == 4 => {
                    given == self.results && places.chunks(2).all(is_place) && matches!(room, Type::Pointer(_))
                }
                Some((given, places)) => given == self.results && places.len() == 4 && places.chunks(2).all(is_place),
                None => false,
            };
            return self.ensure(
                holds,
                "takes sums, two pointers with positions and optionally a pointer to room for the sums, and gives sums",
            );
        }
        const RANK: usize = 5;
        let tile = |first: usize| {
            let indices = self.operands.get(first + 1..first + 1 + RANK)?;
            let (dims, element) = self.operands[first].as_tensor()?;
            let holds = dims.len() == RANK
                && dims[3..] == [TILE_SQUARE; 2]
                && matches!(element, Scalar::Float(Float::BF16 | Float::F16))
                && indices.iter().all(|ty| **ty == Type::INDEX);
            holds.then_some((dims, element))
        };
        let holds = match (tile(0), tile(RANK + 1)) {
            (Some((left, a)), Some((right, b))) => {
                let columns = right[2].saturating_mul(TILE_SQUARE);
                a == b
                    && left[1] == right[1]
                    && left[1] > 0
                    && left[1] % (GROUP_STEPS / TILE_SQUARE) == 0
                    && left[2] >= GROUP_ROWS / TILE_SQUARE
                    && (TILE_SQUARE..=MOST_GROUP_COLUMNS).contains(&columns)
                    && self.results.len() as i64 == columns / 2
                    && self.results.iter().all(|ty| **ty == Type::from(Scalar::F32))
                    && self.operands[2 * (RANK + 1)..] == self.results
            }
            _ => false,
        };
        self.ensure(
            holds,
            "takes two tiles of bf16 or f16, of dimensions [tiles, steps, lines, 8, 8] with equal steps, each followed \
             by five indices, and takes and gives f32 sums, half as many as columns",
        )
    }
}
