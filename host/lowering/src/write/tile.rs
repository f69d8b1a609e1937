//! Writes operations on tile registers as intrinsics. LLVM chooses the registers and configures
//! their shapes.

use fusebox_core::ir::{OpKind, Operation, Scalar, Value};

use super::function::Body;
use crate::error::{Done, Required, Unsupported};
use crate::llvm::Val;
use crate::word_products::are_unsigned;

impl<'s> Body<'_, '_, 's> {
    /// Returns the number of rows of a tile and the bytes of a row, as operands of intrinsics. All
    /// tiles of a kernel must have the same shape. LLVM configures the shapes of the tile registers
    /// before the registers are used. If a kernel had tiles of two shapes, LLVM might find too few
    /// free registers and would then abort the process.
    fn shape_of(&mut self, tile: Value) -> Done<[Val; 2]> {
        let ([rows, columns], element) = self.source.type_of(tile).as_tile().required("it has no tile")?;
        let available = self.translation.target.tile_products;
        if !(available.bf16 || available.int8) {
            return Unsupported::because("the target has no tile registers");
        }
        let shape = [rows, columns * element.byte_size() as i64];
        if *self.translation.tile_shape.get_or_insert(shape) != shape {
            return Unsupported::because(
                "all tile registers of a kernel must have equal numbers of rows and of bytes per row",
            );
        }
        let llvm = self.llvm();
        Ok(shape.map(|size| llvm.const_int(llvm.int(16), size)))
    }

    pub(super) fn tile_operation(&mut self, op: &'s Operation) -> Done<Val> {
        let [rows, bytes] = self.shape_of(op.result())?;
        if op.kind == OpKind::TileZero {
            return Ok(self.llvm().call_intrinsic("llvm.x86.tilezero.internal", &[], &[rows, bytes]));
        }
        let [_, steps] = self.shape_of(op.operands[0])?;
        let available = self.translation.target.tile_products;
        let is_unsigned = are_unsigned(op);
        let (name, is_available) = match (op.kind, is_unsigned) {
            (OpKind::TileMulF, _) => ("llvm.x86.tdpbf16ps.internal", available.bf16),
            (_, [false, false]) => ("llvm.x86.tdpbssd.internal", available.int8),
            (_, [false, true]) => ("llvm.x86.tdpbsud.internal", available.int8),
            (_, [true, false]) => ("llvm.x86.tdpbusd.internal", available.int8),
            (_, [true, true]) => ("llvm.x86.tdpbuud.internal", available.int8),
        };
        if !is_available {
            return Unsupported::because("the target has no instruction for it");
        }
        let operands = self.operands(op)?;
        let (&[left, right], &[sum]) = operands.split_at(2.min(operands.len())) else {
            return Unsupported::because("it takes three tiles");
        };
        Ok(self.llvm().call_intrinsic(name, &[], &[rows, bytes, steps, sum, left, right]))
    }

    pub(super) fn load_tile(&mut self, op: &'s Operation) -> Done<Val> {
        let [rows, bytes] = self.shape_of(op.result())?;
        let (pointer, stride) = self.rows_of_tile(op, 0, op.result())?;
        Ok(self.llvm().call_intrinsic("llvm.x86.tileloadd64.internal", &[], &[rows, bytes, pointer, stride]))
    }

    pub(super) fn store_tile(&mut self, op: &'s Operation) -> Done {
        let [rows, bytes] = self.shape_of(op.operands[0])?;
        let (pointer, stride) = self.rows_of_tile(op, 1, op.operands[0])?;
        let tile = self.value(op.operands[0])?;
        self.llvm().call_intrinsic("llvm.x86.tilestored64.internal", &[], &[rows, bytes, pointer, stride, tile]);
        Ok(())
    }

    /// Returns the address of a tile's first row and the stride between rows in bytes. Operands
    /// `at` and `at + 1` are the pointer and the index of the tile.
    fn rows_of_tile(&mut self, op: &Operation, at: usize, tile: Value) -> Done<(Val, Val)> {
        let size = self.source.type_of(tile).element().byte_size() as i64;
        let element = self.translation.type_of(&Scalar::Int(8 * size as u32).into())?;
        let address = self.address_of(op, at, element)?;
        let stride = op.integer("stride").and_then(|stride| stride.checked_mul(size)).required("it has no stride")?;
        let llvm = self.llvm();
        Ok((address.pointer, llvm.const_int(llvm.int(64), stride)))
    }
}
