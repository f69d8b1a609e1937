//! Writes loads, stores, allocations, and operations on memory that the threads of a block share.

use fusebox_core::ir::{Attribute, MatrixProduct, OpKind, Operation, Scalar, Type, Value};

use super::function::Body;
use crate::error::{Done, Unsupported};
use crate::llvm::{Op, Val};
use crate::targets::{GpuCode, TileProduct};

/// Largest number of bytes that a GPU thread reads or writes in one access.
const WIDEST: u64 = 16;

/// Rounds up the size of an allocation, so that a GPU's reads of the last values stay inside the
/// allocation. LLVM's code generator for GPUs reads three elements as four if their address is
/// aligned.
fn padded(bytes: u64) -> u64 {
    bytes.next_multiple_of(WIDEST.min(bytes.max(1).next_power_of_two()))
}

/// Address of an access.
pub(super) struct Address {
    pub(super) pointer: Val,
    pub(super) alignment: u32,
}

impl<'s> Body<'_, '_, 's> {
    /// Computes an address from operands `at` and `at + 1`, which are a pointer and an index. The
    /// index counts elements of the type of `like`. Adds the constant offset last, so that accesses
    /// that differ only in this offset reuse the rest of the address.
    pub(super) fn address(&mut self, op: &Operation, at: usize, like: Value) -> Done<Address> {
        let element = self.translation.type_of(&Type::Scalar(self.source.type_of(like).element()))?;
        self.address_of(op, at, element)
    }

    /// Computes an address like [`Self::address`]. The index counts elements of the type `element`.
    pub(super) fn address_of(&mut self, op: &Operation, at: usize, element: crate::llvm::Ty) -> Done<Address> {
        let (base, index) = (self.value(op.operands[at])?, self.value(op.operands[at + 1])?);
        let llvm = self.llvm();
        let part = op.integer("complex_part");
        let float = element;
        let element = if part.is_some() { llvm.array(float, 2) } else { float };
        let mut pointer = base;
        if index != llvm.const_int(llvm.int(64), 0) {
            pointer = llvm.element_pointer(element, pointer, index);
        }
        let offset = op.integer("offset").unwrap_or(0);
        if offset != 0 {
            pointer = llvm.element_pointer(element, pointer, llvm.const_int(llvm.int(64), offset));
        }
        if part == Some(1) {
            pointer = llvm.element_pointer(float, pointer, llvm.const_int(llvm.int(64), 1));
        }
        let alignment = op.integer("alignment").and_then(|it| u32::try_from(it).ok()).unwrap_or(1).max(1);
        Ok(Address { pointer, alignment })
    }

    pub(super) fn load(&mut self, op: &'s Operation) -> Done<Val> {
        let ty = self.source.type_of(op.result());
        let address = self.address(op, 0, op.result())?;
        let ty = self.translation.type_of(ty)?;
        let value = self.llvm().load(ty, address.pointer, address.alignment);
        if op.attribute("invariant").is_some() {
            self.llvm().set_metadata(value, "invariant.load", &[]);
        }
        Ok(value)
    }

    pub(super) fn effect(&mut self, op: &'s Operation) -> Done {
        match op.kind {
            OpKind::Store if self.source.type_of(op.operands[0]).as_tile().is_some() => self.store_tile(op),
            OpKind::Store => self.store(op),
            OpKind::Barrier => self.barrier(op),
            OpKind::AtomicCombine => self.atomic_combine(op),
            OpKind::AtomicStore => self.atomic_store(op),
            _ => self.exchange_loop(op),
        }
    }

    fn store(&mut self, op: &'s Operation) -> Done {
        let value = self.value(op.operands[0])?;
        let address = self.address(op, 1, op.operands[0])?;
        let llvm = self.llvm();
        let ty = llvm.type_of(value);
        // Stores an integer of 16 bytes as a vector of two integers, which GPUs write in one
        // transaction.
        let wide = matches!(self.source.type_of(op.operands[0]), Type::Scalar(scalar) if scalar.bits() == 128);
        let value = if wide {
            llvm.cast(Op::LLVMBitCast, value, llvm.vector(llvm.int(llvm.int_bits(ty) / 2), 2))
        } else {
            value
        };
        let store = llvm.store(value, address.pointer, address.alignment);
        if op.attribute("past_caches").is_some() {
            llvm.mark_past_caches(store);
            self.translation.past_caches = true;
        }
        Ok(())
    }

    pub(super) fn memory(&mut self, op: &'s Operation) -> Done<Val> {
        let number = |name| op.integer(name).and_then(|it| u64::try_from(it).ok()).unwrap_or(0);
        let is_gpu = self.translation.target.gpu.is_some();
        let padded = |bytes: u64| if is_gpu { padded(bytes) } else { bytes };
        let (bytes, alignment) = (padded(number("bytes")), number("alignment") as u32);
        let space = match *self.source.type_of(op.result()) {
            Type::Pointer(space) => space,
            _ => 0,
        };
        let llvm = self.llvm();
        match op.kind {
            OpKind::StackMemory => Ok(llvm.stack_array(llvm.int(8), bytes, alignment)),
            OpKind::SharedMemory if self.translation.target.reports_accesses => Ok(self.simulated_tile(op)),
            OpKind::SharedMemory => Ok(llvm.add_shared_bytes(bytes, alignment, space)),
            _ => match op.attribute("value") {
                Some(Attribute::Dense(_, value)) => {
                    let mut value = value.to_vec();
                    value.resize(padded(value.len() as u64) as usize, 0);
                    Ok(llvm.add_constant_bytes(&value, 64, space))
                }
                _ => Unsupported::because("it has no value"),
            },
        }
    }

    fn barrier(&mut self, op: &'s Operation) -> Done {
        match &self.translation.target.gpu {
            Some(gpu) => {
                if let (Some(tiles), true) = (gpu.tiles, op.attribute("readies_tiles").is_some()) {
                    (tiles.ready)(self.llvm());
                }
                (gpu.barrier)(self.llvm());
            }
            None => self.simulated_barrier(op),
        }
        Ok(())
    }

    pub(super) fn matrix_product(&mut self, op: &'s Operation) -> Done {
        let Some(product) = MatrixProduct::of_operation(op) else {
            return Unsupported::because("it is none of the known products");
        };
        let operands = self.operands(op)?;
        let results = match &self.translation.target.gpu {
            Some(GpuCode { matrix_product: Some(written), .. }) => written(self.llvm(), product, &operands),
            Some(_) => return Unsupported::because("the target has no products of matrices"),
            None => self.simulated_product(op, product, &operands),
        };
        self.bind_all(&op.results, &results);
        Ok(())
    }

    pub(super) fn tile_product(&mut self, op: &'s Operation) -> Done {
        let sums = op.results.len();
        let Some(Attribute::Type(Type::Scalar(Scalar::Float(element)))) = op.attribute("element") else {
            return Unsupported::because("its elements are unknown");
        };
        let (Some(&[a, b]), Some(&[left_along, right_along])) = (op.integers("strides"), op.integers("along_steps"))
        else {
            return Unsupported::because("it needs the attributes `strides` and `along_steps`");
        };
        let bytes = i64::from(element.bytes());
        let product = TileProduct {
            element: *element,
            columns: op.integer("columns").unwrap_or(0),
            steps: op.integer("steps").unwrap_or(0),
            strides: [a, b].map(|stride| stride.saturating_mul(bytes)),
            along_steps: [left_along, right_along].map(|along| along != 0),
        };
        let ty = self.llvm().int(8 * element.bytes());
        let left = self.address_of(op, sums, ty)?.pointer;
        let right = self.address_of(op, sums + 2, ty)?.pointer;
        let values = op.operands[..sums].iter().map(|&sum| self.value(sum)).collect::<Done<Vec<Val>>>()?;
        let results = match &self.translation.target.gpu {
            Some(GpuCode { tiles: Some(tiles), .. }) => (tiles.product)(self.llvm(), &product, [left, right], &values),
            Some(_) => return Unsupported::because("the target has no products of tiles"),
            None => self.simulated_tile_product(op, &product, [left, right], &values)?,
        };
        self.bind_all(&op.results, &results);
        Ok(())
    }

    pub(super) fn shuffle_down(&mut self, op: &'s Operation) -> Done<Val> {
        let word = self.value(op.operands[0])?;
        let (Some(distance), Some(lanes)) = (op.integer("distance"), op.integer("lanes")) else {
            return Unsupported::because("it has no distance or no lanes");
        };
        Ok(match &self.translation.target.gpu {
            Some(gpu) => (gpu.word_of_lane)(self.llvm(), word, distance, lanes),
            None => self.simulated_shuffle(op, word, distance),
        })
    }
}
