//! Instructions on sizes, and masks of the elements within the sizes.

use fusebox_core::hlo::{
    ArrayLiteral, ArrayShape, BinaryOp, Comparison, ElementType, InstrId, Instruction, Literal, Op, Shape,
};

use crate::rebuild::Rebuild;

/// The result of a rewrite, or the reason why the operation cannot be rewritten.
pub type RewriteResult<T = InstrId> = Result<T, String>;

/// Writes instructions with the name and the source position of `origin`.
pub struct SizeWriter<'r, 'a> {
    pub rebuild: &'r mut Rebuild<'a>,
    pub origin: &'r Instruction,
}

impl SizeWriter<'_, '_> {
    pub fn add(&mut self, op: Op, shape: Shape, operands: Vec<InstrId>) -> InstrId {
        // Attributes such as shardings hold only for the origin.
        let mut instruction = Instruction::new(self.origin.name.clone(), shape, op, operands);
        instruction.span = self.origin.span;
        if let Some(metadata) = self.origin.extra.as_ref().and_then(|extra| extra.metadata.clone()) {
            instruction.extra =
                Some(Box::new(fusebox_core::hlo::Extra { metadata: Some(metadata), ..Default::default() }));
        }
        self.rebuild.push(instruction)
    }

    pub fn array(&self, id: InstrId) -> ArrayShape {
        let shape = self.rebuild.instruction(id).shape.as_array().cloned();
        shape.unwrap_or_else(|| ArrayShape::new(ElementType::Pred, []))
    }

    /// Adds a scalar constant.
    pub fn scalar(&mut self, ty: ElementType, bytes: Vec<u8>) -> InstrId {
        let literal = Literal::Array(ArrayLiteral { element_type: ty, dims: Vec::new(), data: bytes.into() });
        self.add(Op::Constant(literal), Shape::array(ty, []), Vec::new())
    }

    pub fn zero(&mut self, ty: ElementType) -> InstrId {
        self.scalar(ty, vec![0; ty.byte_size()])
    }

    pub fn s32(&mut self, number: i64) -> RewriteResult {
        let number = i32::try_from(number).map_err(|_| format!("{number} is too large for a size, which is s32"))?;
        Ok(self.scalar(ElementType::S32, number.to_le_bytes().to_vec()))
    }

    /// Applies an operation to two arrays of one shape.
    pub fn binary(&mut self, op: BinaryOp, a: InstrId, b: InstrId) -> InstrId {
        let shape = self.rebuild.instruction(a).shape.clone();
        self.add(Op::Binary(op), shape, vec![a, b])
    }

    pub fn less(&mut self, a: InstrId, b: InstrId) -> InstrId {
        let dims = self.array(a).dims;
        let op = Op::Compare { direction: Comparison::Lt, order: None };
        self.add(op, Shape::array(ElementType::Pred, dims), vec![a, b])
    }

    pub fn select(&mut self, predicate: InstrId, on_true: InstrId, on_false: InstrId) -> InstrId {
        let shape = self.rebuild.instruction(on_true).shape.clone();
        self.add(Op::Select, shape, vec![predicate, on_true, on_false])
    }

    /// Clamps a size between zero and the bound.
    pub fn between(&mut self, size: InstrId, bound: i64) -> RewriteResult {
        let (zero, bound) = (self.s32(0)?, self.s32(bound)?);
        Ok(self.add(Op::Clamp, Shape::array(ElementType::S32, []), vec![zero, size, bound]))
    }

    /// Broadcasts a scalar.
    pub fn everywhere(&mut self, scalar: InstrId, dims: &[i64]) -> InstrId {
        let ty = self.array(scalar).element_type;
        self.add(Op::Broadcast { dimensions: Vec::new() }, Shape::array(ty, dims), vec![scalar])
    }

    pub fn iota(&mut self, dims: &[i64], dimension: usize) -> InstrId {
        self.add(Op::Iota { dimension: dimension as i64 }, Shape::array(ElementType::S32, dims), Vec::new())
    }

    /// Returns a mask for an array of these bounds. The mask is true for elements that are within
    /// the sizes of all dimensions in `sizes`.
    pub fn within(&mut self, dims: &[i64], sizes: &[(usize, InstrId)]) -> InstrId {
        let mut all: Option<InstrId> = None;
        for &(dimension, size) in sizes {
            let (at, size) = (self.iota(dims, dimension), self.everywhere(size, dims));
            let within = self.less(at, size);
            all = Some(all.map_or(within, |all| self.binary(BinaryOp::And, all, within)));
        }
        all.unwrap_or_else(|| {
            let yes = self.scalar(ElementType::Pred, vec![1]);
            self.everywhere(yes, dims)
        })
    }

    /// Replaces the elements beyond some sizes by a scalar.
    pub fn masked(&mut self, value: InstrId, sizes: &[(usize, InstrId)], scalar: InstrId) -> InstrId {
        if sizes.is_empty() {
            return value;
        }
        let dims = self.array(value).dims;
        let (within, scalar) = (self.within(&dims, sizes), self.everywhere(scalar, &dims));
        self.select(within, value, scalar)
    }
}
