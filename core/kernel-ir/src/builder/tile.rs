//! `amx` operations: products of small matrices in tile registers.
//!
//! A tile has at most 16 rows of 64 bytes. Only cpus have tile registers. In the device
//! description, `NarrowProducts` states which products of tiles a cpu supports.

use super::vector::zero_extended;
use super::{FunctionBuilder, OpKind, Scalar, Type, Value};

impl FunctionBuilder {
    /// `amx.tile_zero`: a tile of zeros.
    #[track_caller]
    pub fn tile_zero(&mut self, dims: [i64; 2], element: Scalar) -> Value {
        self.op1(OpKind::TileZero, &[], Vec::new(), Type::tile(dims, element))
    }

    /// `xla_gpu.read_tile`: reads a tile from the tensor's last two dimensions. `indices` addresses
    /// the tile's first element.
    #[track_caller]
    pub fn read_tile(&mut self, tensor: Value, indices: &[Value], dims: [i64; 2]) -> Value {
        let ty = Type::tile(dims, self.type_of(tensor).element());
        let operands = [&[tensor], indices].concat();
        self.op1(OpKind::ReadTile, &operands, Vec::new(), ty)
    }

    /// `xla_gpu.write_tile`: writes a tile to the tensor's last two dimensions and returns the
    /// tensor. `indices` addresses the tile's first element.
    #[track_caller]
    pub fn write_tile(&mut self, tile: Value, tensor: Value, indices: &[Value]) -> Value {
        let ty = self.type_of(tensor).clone();
        let operands = [&[tile, tensor], indices].concat();
        self.op1(OpKind::WriteTile, &operands, Vec::new(), ty)
    }

    /// `amx.tile_mulf`: `left * right + sum` for tiles `[m, k]`, `[k / 2, n * 2]` and `[m, n]`. In
    /// the right tile, two consecutive elements of a column are adjacent. Products of bf16 are
    /// summed in f32. Subnormal numbers are treated as zero.
    #[track_caller]
    pub fn tile_mulf(&mut self, left: Value, right: Value, sum: Value) -> Value {
        let ty = self.type_of(sum).clone();
        self.op1(OpKind::TileMulF, &[left, right, sum], Vec::new(), ty)
    }

    /// `amx.tile_muli`: like [`tile_mulf`](Self::tile_mulf), but multiplies bytes and sums the
    /// products in i32. In the right tile, four consecutive elements of a column are adjacent.
    /// `is_unsigned` states whether the left and the right bytes are unsigned.
    #[track_caller]
    pub fn tile_muli(&mut self, left: Value, right: Value, sum: Value, is_unsigned: [bool; 2]) -> Value {
        let ty = self.type_of(sum).clone();
        self.op1(OpKind::TileMulI, &[left, right, sum], zero_extended(is_unsigned), ty)
    }
}
