//! Writes operations on tile registers, and products of words, as calls of LLVM's intrinsics.

use fusebox_core::ir::{OpKind, Operation, Value};

use super::body::{Body, name};
use crate::error::{Done, Required, Unsupported};
use crate::word_products::{REGISTER_BYTES, WordProduct, are_unsigned};

impl Body<'_, '_, '_> {
    /// Returns the number of rows, and the bytes of a row, of a tile. Returns `None` if the value
    /// is not a tile.
    pub(super) fn tile(&self, value: Value) -> Option<[i64; 2]> {
        let ([rows, columns], element) = self.source.type_of(value).as_tile()?;
        Some([rows, columns * element.byte_size() as i64])
    }

    /// Returns the shape of a tile, as operands of intrinsics. All tiles of a kernel must have the
    /// same shape. If a kernel had tiles of two shapes, LLVM might find too few free registers, and
    /// would then abort the process.
    fn shape(&mut self, tile: Value) -> Done<[String; 2]> {
        let shape = self.tile(tile).required("it has no tile")?;
        let available = self.kernel.target.tile_products;
        if !(available.bf16 || available.int8) {
            return Unsupported::because("the target has no tile registers");
        }
        if *self.kernel.tile_shape.get_or_insert(shape) != shape {
            return Unsupported::because("the kernel's tile registers have several shapes");
        }
        Ok(shape.map(|size| self.integer(size, "i16")))
    }

    pub(super) fn tile_operation(&mut self, op: &Operation) -> Done {
        let [rows, bytes] = self.shape(op.result())?;
        let result = name(op.result());
        if op.kind == OpKind::TileZero {
            self.line(&format!(
                "{result} = llvm.call_intrinsic \"llvm.x86.tilezero.internal\"({rows}, {bytes}) : (i16, i16) -> \
                 !llvm.x86_amx"
            ));
            return Ok(());
        }
        let &[left, right, sum] = op.operands.as_slice() else { return Unsupported::because("it takes three tiles") };
        let [_, steps] = self.shape(left)?;
        let available = self.kernel.target.tile_products;
        let (intrinsic, is_available) = match (op.kind, are_unsigned(op)) {
            (OpKind::TileMulF, _) => ("tdpbf16ps", available.bf16),
            (_, [false, false]) => ("tdpbssd", available.int8),
            (_, [false, true]) => ("tdpbsud", available.int8),
            (_, [true, false]) => ("tdpbusd", available.int8),
            (_, [true, true]) => ("tdpbuud", available.int8),
        };
        if !is_available {
            return Unsupported::because("the target has no instruction for it");
        }
        let (left, right, sum) = (name(left), name(right), name(sum));
        self.line(&format!(
            "{result} = llvm.call_intrinsic \"llvm.x86.{intrinsic}.internal\"({rows}, {bytes}, {steps}, {sum}, {left}, \
             {right}) : (i16, i16, i16, !llvm.x86_amx, !llvm.x86_amx, !llvm.x86_amx) -> !llvm.x86_amx"
        ));
        Ok(())
    }

    pub(super) fn load_tile(&mut self, op: &Operation) -> Done {
        let [rows, bytes] = self.shape(op.result())?;
        let (pointer, stride) = self.rows(op, 0, op.result())?;
        let result = name(op.result());
        self.line(&format!(
            "{result} = llvm.call_intrinsic \"llvm.x86.tileloadd64.internal\"({rows}, {bytes}, {pointer}, {stride}) : \
             (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx"
        ));
        Ok(())
    }

    pub(super) fn store_tile(&mut self, op: &Operation) -> Done {
        let [rows, bytes] = self.shape(op.operands[0])?;
        let (pointer, stride) = self.rows(op, 1, op.operands[0])?;
        let tile = name(op.operands[0]);
        self.line(&format!(
            "llvm.call_intrinsic \"llvm.x86.tilestored64.internal\"({rows}, {bytes}, {pointer}, {stride}, {tile}) : \
             (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()"
        ));
        Ok(())
    }

    /// Returns the address of a tile's first row and the stride between rows in bytes. Operands
    /// `at` and `at + 1` are the pointer and the index of the tile.
    fn rows(&mut self, op: &Operation, at: usize, tile: Value) -> Done<(String, String)> {
        let size = self.source.type_of(tile).element().byte_size() as i64;
        let address = self.address_of(op, at, &format!("i{}", 8 * size))?;
        let stride = op.integer("stride").and_then(|stride| stride.checked_mul(size)).required("it has no stride")?;
        Ok((address.pointer, self.integer(stride, "i64")))
    }

    /// Writes an instruction that multiplies words and adds the products to sums. The instruction
    /// operates on registers of 64 bytes.
    pub(super) fn word_product(&mut self, op: &Operation) -> Done {
        let available = self.kernel.target.word_products;
        let product = WordProduct::of(op, self.source.type_of(op.result()), available)?;
        let &[left, right, sum] = op.operands.as_slice() else { return Unsupported::because("it takes three vectors") };
        let mut factors = [(name(left), self.type_of(left)?), (name(right), self.type_of(right)?)];
        if op.kind == OpKind::WordMulF {
            // The factor's elements are integers with the bits of the `bf16` numbers.
            let floats = format!("vector<{}xbf16>", REGISTER_BYTES / 2);
            factors = factors.map(|(value, ty)| {
                (self.result_of(&format!("llvm.bitcast {value} : {ty} to {floats}")), floats.clone())
            });
        }
        if product.is_turned {
            factors.reverse();
        }
        let [(first, first_type), (second, second_type)] = factors;
        let (result, sum, ty) = (name(op.result()), name(sum), self.type_of(sum)?);
        self.line(&format!(
            "{result} = llvm.call_intrinsic \"{}\"({sum}, {first}, {second}) : ({ty}, {first_type}, \
             {second_type}) -> {ty}",
            product.intrinsic
        ));
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use fusebox_core::device::NarrowProducts;

    use crate::llvm::Module;
    use crate::stages::KernelFunctions;
    use crate::targets::TargetInfo;
    use crate::upstream::Upstream;
    use crate::{KernelSource, Target, read_kernel};

    /// A loop that carries a tile in a register.
    const TILES: &str = r#"
"func.func"() ({
^bb0(%a: !llvm.ptr, %b: !llvm.ptr, %out: !llvm.ptr):
  %i = "arith.constant"() {value = 0 : i64} : () -> i64
  %one = "arith.constant"() {value = 1 : i64} : () -> i64
  %end = "arith.constant"() {value = 3 : i64} : () -> i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 64 : i64, stride = 64 : i64} : (!llvm.ptr, i64) -> !amx.tile<16x64xi8>
  %y = "xla_gpu.load"(%b, %i) {alignment = 64 : i64, stride = 64 : i64} : (!llvm.ptr, i64) -> !amx.tile<16x64xi8>
  %start = "amx.tile_zero"() : () -> !amx.tile<16x16xi32>
  %sum = "scf.for"(%i, %end, %one, %start) ({
  ^bb0(%n: i64, %now: !amx.tile<16x16xi32>):
    %next = "amx.tile_muli"(%x, %y, %now) {isZextLhs} : (!amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>) -> !amx.tile<16x16xi32>
    "scf.yield"(%next) : (!amx.tile<16x16xi32>) -> ()
  }) : (i64, i64, i64, !amx.tile<16x16xi32>) -> !amx.tile<16x16xi32>
  "xla_gpu.store"(%sum, %out, %i) {alignment = 64 : i64, stride = 16 : i64} : (!amx.tile<16x16xi32>, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> (), fusebox.entry} : () -> ()
"#;

    /// Converts a kernel. The conversion also works on a machine without tile registers, because
    /// the conversion only generates LLVM IR.
    fn converted(kernel: &KernelSource, products: NarrowProducts) -> Result<String, String> {
        let info = TargetInfo { tile_products: products, ..Target::cpu().info().clone() };
        let llvm = Module::new("tiles");
        let functions = KernelFunctions { functions: kernel.functions.clone() };
        let mut upstream = Upstream::new(&info, false);
        upstream.add_kernel(&llvm, &functions, &kernel.facts(), true).map_err(|error| error.to_string())?;
        llvm.verify().unwrap();
        Ok(llvm.text())
    }

    #[test]
    fn tiles_are_intrinsics() {
        let kernel = read_kernel("k", TILES, None).unwrap();
        let text = converted(&kernel, NarrowProducts { bf16: false, int8: true }).unwrap();
        for part in [
            "x86_amx @llvm.x86.tileloadd64.internal(i16 16, i16 64, ptr %0, i64 64)",
            "phi x86_amx",
            "x86_amx @llvm.x86.tdpbusd.internal(i16 16, i16 64, i16 64, x86_amx %",
            "void @llvm.x86.tilestored64.internal(i16 16, i16 64, ptr %2, i64 64, x86_amx %",
        ] {
            assert!(text.contains(part), "no `{part}` in:\n{text}");
        }
        let refused = converted(&kernel, NarrowProducts::default()).unwrap_err();
        assert!(refused.contains("the target has no tile registers"), "{refused}");
    }

    #[test]
    fn tiles_of_two_shapes_are_refused() {
        let kernel = read_kernel("k", &TILES.replace("16x64xi8", "8x64xi8"), None).unwrap();
        let refused = converted(&kernel, NarrowProducts { bf16: false, int8: true }).unwrap_err();
        assert!(refused.contains("have several shapes"), "{refused}");
    }
}
