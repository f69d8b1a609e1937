//! `amx` operations: products of small matrices in tile registers.
//!
//! A tile has at most 16 rows of 64 bytes. Only the cpu has them, and only where
//! [`NarrowProducts`](crate::device::NarrowProducts) say so.

use super::vector::zero_extended;
use super::{FunctionBuilder, OpKind, Scalar, Type, Value};

impl FunctionBuilder {
    /// `amx.tile_zero`: a tile of zeros.
    #[track_caller]
    pub fn tile_zero(&mut self, dims: [i64; 2], element: Scalar) -> Value {
        self.op1(OpKind::TileZero, &[], Vec::new(), Type::tile(dims, element))
    }

    /// `xla_gpu.read_tile`: rows and columns of the tensor's last two dimensions, the first of them at these indices.
    #[track_caller]
    pub fn read_tile(&mut self, tensor: Value, indices: &[Value], dims: [i64; 2]) -> Value {
        let ty = Type::tile(dims, self.type_of(tensor).element());
        let operands = [&[tensor], indices].concat();
        self.op1(OpKind::ReadTile, &operands, Vec::new(), ty)
    }

    /// `xla_gpu.write_tile`: the tensor with the tile's elements, the first of them at these indices.
    #[track_caller]
    pub fn write_tile(&mut self, tile: Value, tensor: Value, indices: &[Value]) -> Value {
        let ty = self.type_of(tensor).clone();
        let operands = [&[tile, tensor], indices].concat();
        self.op1(OpKind::WriteTile, &operands, Vec::new(), ty)
    }

    /// `amx.tile_mulf`: `left * right + sum`, of tiles `[m, k]`, `[k / 2, n * 2]` and `[m, n]`: the right one has two elements
    /// of a column side by side. Products of bf16 are summed in f32; subnormal numbers count as zero.
    #[track_caller]
    pub fn tile_mulf(&mut self, left: Value, right: Value, sum: Value) -> Value {
        let ty = self.type_of(sum).clone();
        self.op1(OpKind::TileMulF, &[left, right, sum], Vec::new(), ty)
    }

    /// `amx.tile_muli`: the same of bytes, four of a column side by side, summed in i32. `is_unsigned` says it of the left
    /// and of the right ones.
    #[track_caller]
    pub fn tile_muli(&mut self, left: Value, right: Value, sum: Value, is_unsigned: [bool; 2]) -> Value {
        let ty = self.type_of(sum).clone();
        self.op1(OpKind::TileMulI, &[left, right, sum], zero_extended(is_unsigned), ty)
    }
}
