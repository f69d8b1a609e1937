//! Operations that create or move elements without arithmetic. An operation that would change
//! nothing is not added: the method returns the operand.

use fusebox_core::hlo::{ElementType, InstrId, Op, PaddingDim, Shape, SliceDim};

use crate::Builder;

impl Builder<'_> {
    /// Adds an array in which the value of each element is its index along `dimension`.
    pub fn iota(&mut self, element_type: ElementType, dims: &[i64], dimension: usize) -> InstrId {
        let shape = Shape::array(element_type, dims);
        self.add_shaped(Op::Iota { dimension: dimension as i64 }, shape, [])
    }

    /// Repeats a scalar in an array of these sizes. Returns the scalar itself if `dims` is empty.
    pub fn spread(&mut self, scalar: InstrId, dims: &[i64]) -> InstrId {
        if dims.is_empty() { scalar } else { self.broadcast(scalar, dims, &[]) }
    }

    /// Repeats an array. Dimension n of the operand becomes dimension `dimensions[n]` of the
    /// result.
    pub fn broadcast(&mut self, operand: InstrId, dims: &[i64], dimensions: &[i64]) -> InstrId {
        let Some(array) = self.array(operand) else { return self.not_an_array(operand) };
        if array.dims == dims && dimensions.iter().copied().eq(0..dims.len() as i64) {
            return operand;
        }
        let shape = Shape::array(array.element_type, dims);
        self.add_shaped(Op::Broadcast { dimensions: dimensions.to_vec() }, shape, [operand])
    }

    /// Reshapes an array to the dimensions `dims`. The elements keep their row-major order.
    pub fn reshape(&mut self, operand: InstrId, dims: &[i64]) -> InstrId {
        let Some(array) = self.array(operand) else { return self.not_an_array(operand) };
        if array.dims == dims {
            return operand;
        }
        let shape = Shape::array(array.element_type, dims);
        self.add_shaped(Op::Reshape, shape, [operand])
    }

    /// Reorders the dimensions of an array. Dimension n of the result is dimension
    /// `permutation[n]` of the operand.
    pub fn transpose(&mut self, operand: InstrId, permutation: &[i64]) -> InstrId {
        if permutation.is_sorted() {
            return operand;
        }
        self.add(Op::Transpose { permutation: permutation.to_vec() }, [operand])
    }

    /// Adds a slice of an array.
    pub fn slice(&mut self, operand: InstrId, dims: Vec<SliceDim>) -> InstrId {
        let sizes = self.dims(operand);
        // In a dimension of one element, the stride has no effect.
        let is_whole = |(dim, &size): (&SliceDim, &i64)| {
            *dim == SliceDim::all(size) || size == 1 && (dim.start, dim.limit) == (0, 1)
        };
        if dims.len() == sizes.len() && dims.iter().zip(&sizes).all(is_whole) {
            return operand;
        }
        self.add(Op::Slice { dims }, [operand])
    }

    /// Adds the slice of an array whose indices along `dimension` are at least `start` and less
    /// than `limit`.
    pub fn slice_along(&mut self, operand: InstrId, dimension: usize, start: i64, limit: i64) -> InstrId {
        let mut dims: Vec<SliceDim> = self.dims(operand).into_iter().map(SliceDim::all).collect();
        match dims.get_mut(dimension) {
            Some(dim) => *dim = SliceDim { start, limit, stride: 1 },
            None => return self.not_an_array(operand),
        }
        self.slice(operand, dims)
    }

    /// Adds elements with the value of `fill` before, between and after those of an array.
    pub fn pad(&mut self, operand: InstrId, fill: InstrId, dims: Vec<PaddingDim>) -> InstrId {
        let is_empty = |dim: &PaddingDim| *dim == PaddingDim { low: 0, high: 0, interior: 0 };
        if dims.iter().all(is_empty) {
            return operand;
        }
        self.add(Op::Pad { dims }, [operand, fill])
    }

    /// Pads an array in one dimension. A negative `low` or `high` removes elements.
    pub fn pad_along(&mut self, operand: InstrId, fill: InstrId, dimension: usize, low: i64, high: i64) -> InstrId {
        let mut dims = vec![PaddingDim { low: 0, high: 0, interior: 0 }; self.dims(operand).len()];
        match dims.get_mut(dimension) {
            Some(dim) => (dim.low, dim.high) = (low, high),
            None => return self.not_an_array(operand),
        }
        self.pad(operand, fill, dims)
    }

    /// Concatenates arrays along a dimension. If there is only one array, returns that array.
    pub fn concatenate(&mut self, operands: Vec<InstrId>, dimension: usize) -> InstrId {
        match operands[..] {
            [single] => single,
            _ => self.add(Op::Concatenate { dimension: dimension as i64 }, operands),
        }
    }

    /// Adds a slice of an array. The values of the instructions `starts` are the indices at which
    /// the slice begins.
    pub fn dynamic_slice(&mut self, operand: InstrId, starts: &[InstrId], sizes: &[i64]) -> InstrId {
        let operands: Vec<InstrId> = [operand].iter().chain(starts).copied().collect();
        self.add(Op::DynamicSlice { sizes: sizes.to_vec() }, operands)
    }

    /// Replaces a part of an array by `update`. The values of the instructions `starts` are the
    /// indices at which the replaced part begins.
    pub fn dynamic_update_slice(&mut self, operand: InstrId, update: InstrId, starts: &[InstrId]) -> InstrId {
        let operands: Vec<InstrId> = [operand, update].iter().chain(starts).copied().collect();
        self.add(Op::DynamicUpdateSlice, operands)
    }
}
