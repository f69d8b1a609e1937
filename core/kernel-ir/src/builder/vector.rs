//! `vector` operations, on vectors of one dimension.
//!
//! `arith` operations and loops accept vectors in place of scalars. A vector's elements are
//! integers or floats. Reads and writes access adjacent elements in the tensor's last dimension.
//! All elements that a read or write accesses must be in bounds.

use super::{Attribute, Combination, FunctionBuilder, OpKind, Scalar, Type, Value};

/// Name of the attribute that marks a write as bypassing the caches.
const PAST_CACHES: &str = "fusebox.past_caches";

impl FunctionBuilder {
    /// `vector.transfer_read`: reads `lanes` adjacent elements. `indices` addresses the first
    /// element.
    #[track_caller]
    pub fn vector_read(&mut self, tensor: Value, indices: &[Value], lanes: i64) -> Value {
        let element = self.type_of(tensor).element();
        // The operation requires a value to replace elements out of bounds, although all elements
        // are in bounds.
        let padding = self.zero(&element.into());
        let operands = [&[tensor], indices, &[padding]].concat();
        let segments = [1, indices.len() as i32, 1, 0];
        let ty = Type::vector(&[lanes], element);
        self.op1(OpKind::TransferRead, &operands, transfer(segments, indices.len()), ty)
    }

    /// `vector.transfer_write`: writes a vector to adjacent elements and returns the tensor.
    /// `indices` addresses the first element.
    #[track_caller]
    pub fn vector_write(&mut self, vector: Value, tensor: Value, indices: &[Value]) -> Value {
        self.write_row(vector, tensor, indices, None)
    }

    /// Like [`vector_write`](Self::vector_write), but for elements that are not read again soon. On
    /// machines that support writes past the caches, the elements go directly to memory. A write
    /// past the caches is faster than a write into the caches if the kernel writes whole cache
    /// lines, and if the kernel writes more data in total than the caches hold.
    #[track_caller]
    pub fn vector_write_past_caches(&mut self, vector: Value, tensor: Value, indices: &[Value]) -> Value {
        self.write_row(vector, tensor, indices, Some((PAST_CACHES, Attribute::Unit)))
    }

    #[track_caller]
    fn write_row(
        &mut self,
        vector: Value,
        tensor: Value,
        indices: &[Value],
        further: Option<(&'static str, Attribute)>,
    ) -> Value {
        let operands = [&[vector, tensor], indices].concat();
        let segments = [1, 1, indices.len() as i32, 0];
        let attributes = transfer(segments, indices.len()).into_iter().chain(further).collect();
        let ty = self.type_of(tensor).clone();
        self.op1(OpKind::TransferWrite, &operands, attributes, ty)
    }

    /// `vector.shuffle`: a vector of lanes selected from two vectors of the same type. `lanes`
    /// lists the numbers of the selected lanes. The lanes of the second vector are numbered after
    /// the lanes of the first vector.
    #[track_caller]
    pub fn vector_shuffle(&mut self, first: Value, second: Value, lanes: &[i64]) -> Value {
        let mask = vec![("mask", Attribute::I64Array(lanes.to_vec()))];
        let ty = Type::vector(&[lanes.len() as i64], self.type_of(first).element());
        self.op1(OpKind::Shuffle, &[first, second], mask, ty)
    }

    /// `vector.broadcast`: a vector with this element in every lane.
    #[track_caller]
    pub fn vector_broadcast(&mut self, element: Value, lanes: i64) -> Value {
        let ty = Type::vector(&[lanes], self.type_of(element).element());
        self.op1(OpKind::Broadcast, &[element], Vec::new(), ty)
    }

    /// `vector.extract`: the element in a lane whose number is known at compile time.
    #[track_caller]
    pub fn vector_extract(&mut self, vector: Value, lane: i64) -> Value {
        let element = self.type_of(vector).element();
        self.op1(OpKind::VectorExtract, &[vector], position(lane), element.into())
    }

    /// `vector.insert`: the vector with `element` in a lane whose number is known at compile time.
    #[track_caller]
    pub fn vector_insert(&mut self, element: Value, vector: Value, lane: i64) -> Value {
        let ty = self.type_of(vector).clone();
        self.op1(OpKind::VectorInsert, &[element, vector], position(lane), ty)
    }

    /// `vector.from_elements`: a one-dimensional vector of these elements, all of one type.
    #[track_caller]
    pub fn vector_from_elements(&mut self, elements: &[Value]) -> Value {
        let element = elements.first().map_or(Scalar::Index, |&first| self.type_of(first).element());
        let ty = Type::vector(&[elements.len() as i64], element);
        self.op1(OpKind::FromElements, elements, Vec::new(), ty)
    }

    /// `vector.reduction`: combines all lanes into one element, with the current fastmath flags.
    /// The lanes are combined in order unless the flags allow another order.
    #[track_caller]
    pub fn vector_reduction(&mut self, combination: Combination, vector: Value) -> Value {
        let attributes = [("kind", Attribute::Combination(combination))].into_iter().chain(self.flags()).collect();
        let element = self.type_of(vector).element();
        self.op1(OpKind::Reduction, &[vector], attributes, element.into())
    }

    /// `xla_gpu.word_mulf`: multiplies each word of `left` by the corresponding word of `right`,
    /// element by element. Each pair of words has one f32 sum, to which the operation adds the
    /// pair's products. A word consists of two adjacent `bf16`. Subnormal numbers may be treated as
    /// zero. Only cpus whose device description has `word_products` support this operation.
    #[track_caller]
    pub fn word_mulf(&mut self, left: Value, right: Value, sum: Value) -> Value {
        let ty = self.type_of(sum).clone();
        self.op1(OpKind::WordMulF, &[left, right, sum], Vec::new(), ty)
    }

    /// `xla_gpu.word_muli`: like [`word_mulf`](Self::word_mulf), but for words of four adjacent
    /// bytes and i32 sums. `is_unsigned` states whether the left and the right bytes are unsigned.
    #[track_caller]
    pub fn word_muli(&mut self, left: Value, right: Value, sum: Value, is_unsigned: [bool; 2]) -> Value {
        let ty = self.type_of(sum).clone();
        self.op1(OpKind::WordMulI, &[left, right, sum], zero_extended(is_unsigned), ty)
    }
}

/// Returns attributes that mark the unsigned factors of an integer product.
pub(super) fn zero_extended(is_unsigned: [bool; 2]) -> Vec<(&'static str, Attribute)> {
    let flags = ["isZextLhs", "isZextRhs"].into_iter().zip(is_unsigned);
    flags.filter(|(_, is_set)| *is_set).map(|(name, _)| (name, Attribute::Unit)).collect()
}

fn position(lane: i64) -> Vec<(&'static str, Attribute)> {
    vec![("static_position", Attribute::I64Array(vec![lane]))]
}

/// Returns the attributes of a transfer along the last of `rank` dimensions.
fn transfer(segments: [i32; 4], rank: usize) -> Vec<(&'static str, Attribute)> {
    let dims: Vec<String> = (0..rank).map(|dim| format!("d{dim}")).collect();
    let last = dims.last().cloned().unwrap_or_default();
    let map = format!("affine_map<({}) -> ({last})>", dims.join(", "));
    vec![
        ("in_bounds", Attribute::Array(vec![Attribute::Bool(true)])),
        ("operandSegmentSizes", Attribute::I32Array(segments.to_vec())),
        ("permutation_map", Attribute::Raw(map)),
    ]
}
