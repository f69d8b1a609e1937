//! The rules of operations on tile registers.

use super::super::Verdict;
use super::Rule;
use crate::{Form, OpKind, Scalar, Type};

impl Rule<'_> {
    /// Checks that only reads, products, writes and control flow use tile registers. No instruction
    /// selects between tile registers, and no function takes or returns them.
    pub(super) fn tile_registers(&self) -> Verdict {
        use OpKind::*;
        let may = match self.operation.kind {
            TileZero | Load | Store => true,
            For | If | While | IndexSwitch | Loop | Yield | Condition | LoopYield => true,
            kind => matches!(kind.form(), Form::TileProduct | Form::TileTransfer),
        };
        let mut values = self.operands.iter().chain(&self.results);
        self.ensure(may || !values.any(|ty| ty.as_tile().is_some()), "neither takes nor gives tile registers")
    }

    /// Checks the tiles of a product `[m, k] x [k / words, n * words] + [m, n]`, where `words` is
    /// the number of factors in 32 bits.
    pub(super) fn tile_product(&self) -> Verdict {
        let (rule, factors, sums) = match self.operation.kind {
            OpKind::TileMulF => ("of bf16 and sums in f32", Scalar::BF16, Scalar::F32),
            _ => ("of i8 and sums in i32", Scalar::I8, Scalar::I32),
        };
        let rule = format!("takes tiles {rule}: [m, k], [k, n] in groups of 32 bits of k, and [m, n], which it gives");
        let (&[left, right, before], &[after]) = (&self.operands[..], &self.results[..]) else {
            return self.ensure(false, &rule);
        };
        let (Some(left), Some(right), Some(sum)) = (left.as_tile(), right.as_tile(), before.as_tile()) else {
            return self.ensure(false, &rule);
        };
        let (([m, k], factor), ([groups, columns], other), ([rows, n], element)) = (left, right, sum);
        let group = 4 / factor.byte_size().max(1) as i64;
        let fits = group > 0 && rows == m && groups * group == k && columns == n * group;
        let holds = factor == factors && other == factors && element == sums && fits && before == after;
        self.ensure(holds, &rule)
    }

    /// Checks transfers of a tile from or to a tensor's last two dimensions.
    pub(super) fn tile_transfer(&self) -> Verdict {
        let reads = self.operation.kind == OpKind::ReadTile;
        let (tensor, tile, indices) = match (reads, &self.operands[..], &self.results[..]) {
            (true, [tensor, indices @ ..], [tile]) => (*tensor, *tile, indices),
            (false, [tile, tensor, indices @ ..], [result]) if result == tensor => (*tensor, *tile, indices),
            (true, ..) => return self.ensure(false, "takes a tensor and indices, and gives a tile"),
            (false, ..) => return self.ensure(false, "takes a tile, a tensor and indices, and gives the tensor"),
        };
        let (Some((dims, element)), Some((tile, held))) = (tensor.as_tensor(), tile.as_tile()) else {
            return self.ensure(false, "moves a tile from or to a tensor");
        };
        let holds = element == held && matches!(dims, [.., rows, row] if tile[0] <= *rows && tile[1] <= *row);
        self.ensure(holds, "moves elements of the tensor's last two dimensions")?;
        let holds = indices.len() == dims.len() && indices.iter().all(|ty| **ty == Type::INDEX);
        self.ensure(holds, &format!("takes {} indices after the tensor", dims.len()))
    }
}
