//! The rules of operations on one-dimensional vectors.

use super::super::{Verdict, ensure};
use super::Rule;
use crate::{Attribute, OpKind, Scalar, Type};

impl Rule<'_> {
    /// Checks reads and writes of adjacent elements in the last dimension.
    pub(super) fn transfer(&self) -> Verdict {
        let reads = self.operation.kind == OpKind::TransferRead;
        let (tensor, vector) = match (reads, &self.operands[..], &self.results[..]) {
            (true, [tensor, ..], [vector]) => (*tensor, *vector),
            (false, [vector, tensor, ..], [result]) if result == tensor => (*tensor, *vector),
            (true, ..) => return self.ensure(false, "takes a tensor, indices and a padding, and gives a vector"),
            (false, ..) => return self.ensure(false, "takes a vector, a tensor and indices, and gives the tensor"),
        };
        let (Some((dims, element)), Some((&[lanes], lane))) = (tensor.as_tensor(), vector.as_vector()) else {
            return self.ensure(false, "moves a vector of one dimension from or to a tensor");
        };
        let holds = element == lane && dims.last().is_some_and(|&row| lanes <= row) && element != Scalar::Index;
        self.ensure(holds, "moves elements that are in a row of the tensor")?;
        let indices = &self.operands[if reads { 1 } else { 2 }..];
        let rank = indices.len().min(dims.len());
        let (indices, padding) = indices.split_at(rank);
        let padded = if reads { padding == [&Type::Scalar(element)] } else { padding.is_empty() };
        let holds = rank == dims.len() && padded && indices.iter().all(|ty| **ty == Type::INDEX);
        let after = if reads { ", and one element" } else { "" };
        self.ensure(holds, &format!("takes {} indices after the tensor{after}", dims.len()))?;

        let segments = if reads { [1, rank as i32, 1, 0] } else { [1, 1, rank as i32, 0] };
        ensure(
            self.operation.attribute("operandSegmentSizes") == Some(&Attribute::I32Array(segments.to_vec())),
            || format!("needs the attribute `operandSegmentSizes`, {segments:?}: moves have no mask"),
        )?;
        ensure(self.operation.attribute("in_bounds") == Some(&Attribute::Array(vec![Attribute::Bool(true)])), || {
            "needs the attribute `in_bounds`, `[true]`: elements that are moved must be in bounds".into()
        })?;
        let map = match self.operation.attribute("permutation_map") {
            Some(Attribute::Raw(map)) => map,
            _ => return Err("needs the attribute `permutation_map`".into()),
        };
        ensure(is_last_dimension(map, rank), || "moves elements along the last dimension, and no others".into())
    }

    /// Checks that both factors of a product of words have one 32-bit word per sum. After lowering,
    /// `bf16` elements are integers with the same bits.
    pub(super) fn word_product(&self) -> Verdict {
        let (rule, factors, sums) = match self.operation.kind {
            OpKind::WordMulF => ("bf16 and sums in f32", [Scalar::BF16, Scalar::I16], Scalar::F32),
            _ => ("i8 and sums in i32", [Scalar::I8; 2], Scalar::I32),
        };
        let rule = format!("takes vectors of {rule}, one sum for each 32-bit word of a vector, and gives the sums");
        let (&[left, right, before], &[after]) = (&self.operands[..], &self.results[..]) else {
            return self.ensure(false, &rule);
        };
        let (Some((&[lanes], factor)), Some((&[words], sum))) = (left.as_vector(), before.as_vector()) else {
            return self.ensure(false, &rule);
        };
        let fits = words.checked_mul(4 / factor.byte_size().max(1) as i64) == Some(lanes);
        let holds = factors.contains(&factor) && sum == sums && fits && left == right && before == after;
        self.ensure(holds, &rule)
    }

    pub(super) fn vector(&self) -> Verdict {
        let (operands, results) = (&self.operands[..], &self.results[..]);
        match self.operation.kind {
            OpKind::FromElements => {
                let holds = matches!(results, [r] if r.as_vector().is_some_and(|(dims, element)| {
                    dims == [operands.len() as i64] && operands.iter().all(|ty| **ty == element.into())
                }));
                self.ensure(holds, "takes one element for each lane of the vector that it gives")
            }
            OpKind::Broadcast => {
                let holds = matches!((operands, results), ([a], [r])
                    if r.as_vector().is_some_and(|(_, element)| **a == element.into()));
                self.ensure(holds, "takes an element and gives a vector of its type")
            }
            OpKind::Shuffle => {
                let Some(mask) = self.operation.integers("mask") else {
                    return Err("needs the attribute `mask`, the numbers of lanes".into());
                };
                let holds = matches!((operands, results), ([a, b], [r])
                if a == b && a.as_vector().is_some_and(|(dims, element)| {
                    let lanes = dims.iter().sum::<i64>();
                    mask.iter().all(|lane| (0..2 * lanes).contains(lane))
                        && **r == Type::vector(&[mask.len() as i64], element)
                }));
                self.ensure(holds, "takes two vectors of one type and gives those of their lanes that `mask` names")
            }
            _ => {
                let Some(Attribute::Combination(kind)) = self.operation.attribute("kind") else {
                    return Err("needs the attribute `kind`, as `#vector.kind<add>`".into());
                };
                let holds = matches!((operands, results), ([vector, start @ ..], [r])
                if start.len() <= 1 && start.iter().all(|start| start == r)
                    && vector.as_vector().is_some_and(|(_, element)| {
                        kind.takes(element) && **r == element.into()
                    }));
                self.ensure(
                    holds,
                    &format!("takes a vector whose lanes {} combines, and gives one element", kind.name()),
                )
            }
        }
    }

    /// Checks reads and writes of one lane. The number of the lane is an attribute or an operand of
    /// type `index`.
    pub(super) fn lane(&self) -> Verdict {
        let inserts = self.operation.kind == OpKind::VectorInsert;
        let (element, vector, position) = match (inserts, &self.operands[..], &self.results[..]) {
            (false, [vector, position @ ..], [element]) => (*element, *vector, position),
            (true, [element, vector, position @ ..], [result]) if result == vector => (*element, *vector, position),
            (false, ..) => return self.ensure(false, "takes a vector and gives an element of it"),
            (true, ..) => return self.ensure(false, "takes an element and a vector, and gives the vector"),
        };
        let Some((&[lanes], lane)) = vector.as_vector() else {
            return self.ensure(false, "takes a vector");
        };
        self.ensure(*element == lane.into(), "takes or gives an element of the vector's type")?;
        match (self.operation.integers("static_position"), position) {
            (Some([i64::MIN]), [Type::Scalar(Scalar::Index)]) => Ok(()),
            (Some([at]), []) if (0..lanes).contains(at) => Ok(()),
            (Some([at]), []) => Err(format!("has no lane {at} in {vector}")),
            _ => Err("needs the attribute `static_position`, the number of one lane".into()),
        }
    }
}

/// Whether a map is `affine_map<(a, …, z) -> (z)>` with `rank` variables.
fn is_last_dimension(map: &str, rank: usize) -> bool {
    let bare: String = map.split_whitespace().collect();
    let inner = bare.strip_prefix("affine_map<(").and_then(|rest| rest.strip_suffix(")>"));
    let Some((variables, last)) = inner.and_then(|inner| inner.split_once(")->(")) else { return false };
    variables.split(',').count() == rank && variables.split(',').next_back() == Some(last)
}
