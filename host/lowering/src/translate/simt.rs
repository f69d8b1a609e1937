//! What kernels for the simulator ask of it and tell it.
//!
//! | function | meaning |
//! | --- | --- |
//! | `ptr fusebox_simt_shared(i64 number, i64 bytes, i32 element_bytes)` | the memory of a tile |
//! | `void fusebox_simt_barrier(i32 site)` | waits for all threads of the block |
//! | `i64 fusebox_simt_shuffle_down(i64 word, i32 distance, i32 site)` | the word of the lane so far above |
//! | `void fusebox_simt_access(ptr tensor, ptr place, i32 bytes, i32 kind, i32 site)` | before an access |
//! | `void fusebox_simt_turn(i32 site)` | a turn of a loop begins |
//! | `void fusebox_simt_division(i32 site)` | a division has no result |
//! | `void fusebox_simt_index(ptr tensor, i32 dimension, i64 index, i64 size, i32 site)` | an index is out of bounds |
//!
//! `site` numbers the operation in the list that comes with the code.

use super::function::{Done, Function};
use super::memory::{Place, static_tensor};
use super::slot::Tensor;
use super::{Declared, Known, Reach, Variant};
use crate::indices::Ix;
use crate::llvm::{IntPredicate, Op, Ty, Val};
use crate::mlir::{Operation, Type};

/// Alignment of the simulator's tiles in bytes.
const TILE_ALIGNMENT: u32 = 64;

/// What a thread is about to do to an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AccessKind {
    Read = 0,
    Write = 1,
    /// Reads and writes in one step.
    Atomic = 2,
}

impl Function<'_, '_, '_> {
    /// Tells the simulator of an access to `elements` elements in a row.
    pub(super) fn report(&mut self, op: Operation, place: &Place, element: &Type, elements: u32, kind: AccessKind) {
        if !place.tensor.known.reported {
            return;
        }
        let site = self.site(op);
        let llvm = self.llvm();
        let (pointer, int) = (llvm.pointer(0), llvm.int(32));
        let bytes = i64::from(element.element_bytes().unwrap_or(0)) * i64::from(elements);
        let number = |value| llvm.const_int(int, value);
        let arguments = [place.tensor.pointer, place.pointer, number(bytes), number(kind as i64), site];
        self.call_simulator("fusebox_simt_access", &[pointer, pointer, int, int, int], &arguments, None);
    }

    /// Tells the simulator that a turn of the current loop begins, so that a loop that never ends is noticed.
    pub(super) fn report_turn(&mut self) {
        if self.translation.traits.reports_accesses {
            let site = self.current_site();
            let int = self.llvm().int(32);
            self.call_simulator("fusebox_simt_turn", &[int], &[site], None);
        }
    }

    /// Tells the simulator of a division of integers by zero, or of the lowest number by -1: a processor traps there.
    pub(super) fn report_division(&mut self, name: &str, dividend: Val, divisor: Val) -> Done {
        let is_signed = match name {
            "arith.divui" | "arith.remui" => false,
            "arith.divsi" | "arith.remsi" | "arith.floordivsi" | "arith.ceildivsi" => true,
            _ => return Ok(()),
        };
        let llvm = self.llvm();
        let ty = llvm.type_of(divisor);
        let bits = llvm.int_bits(llvm.scalar_type(ty));
        // Wider ones than a word are divided by no instruction.
        if !self.translation.traits.reports_accesses || bits > 64 {
            return Ok(());
        }
        let equals = |value, constant| llvm.compare_int(IntPredicate::LLVMIntEQ, value, constant);
        let mut impossible = equals(divisor, llvm.const_int(ty, 0));
        // Narrower ones than a byte are divided in a wider register, where nothing overflows.
        if is_signed && bits >= 8 {
            let lowest = llvm.binary(Op::LLVMShl, llvm.const_int(ty, 1), llvm.const_int(ty, i64::from(bits) - 1));
            let overflows = llvm.binary(Op::LLVMAnd, equals(dividend, lowest), equals(divisor, llvm.const_int(ty, -1)));
            impossible = llvm.binary(Op::LLVMOr, impossible, overflows);
        }
        if llvm.lanes(ty).is_some() {
            impossible = llvm.call_intrinsic("llvm.vector.reduce.or", &[llvm.type_of(impossible)], &[impossible]);
        }
        let tell = |this: &mut Self| {
            let site = this.current_site();
            let int = this.llvm().int(32);
            this.call_simulator("fusebox_simt_division", &[int], &[site], None);
            Ok(Vec::new())
        };
        self.choose(impossible, tell, |_| Ok(Vec::new()), &[]).map(drop)
    }

    /// Tells the simulator of indices that are not within the tensor. Only those are looked at that are not known to
    /// be: an index too large in one dimension may well be an element of the next row.
    pub(super) fn report_indices(&mut self, op: Operation, tensor: &Tensor, indices: &[Ix], sizes: &[i64]) -> Done {
        if !tensor.known.reported {
            return Ok(());
        }
        let mut wanted: Vec<(usize, Ix)> = indices.iter().copied().enumerate().collect();
        // Of elements in a row, the last one too.
        if let (Some(last), Some(lanes)) = (indices.len().checked_sub(1), lanes_moved(op)) {
            let beyond = self.indices.constant(i64::from(lanes) - 1);
            wanted.push((last, self.indices.add(indices[last], beyond)));
        }
        for (dimension, ix) in wanted {
            let size = sizes[dimension];
            let range = self.indices.range(ix);
            if range.lower >= 0 && range.upper < size {
                continue;
            }
            let site = self.site(op);
            let index = self.index_value(ix, 64);
            let llvm = self.llvm();
            let (pointer, int, word) = (llvm.pointer(0), llvm.int(32), llvm.int(64));
            let (dimension, size) = (llvm.const_int(int, dimension as i64), llvm.const_int(word, size));
            let outside = llvm.compare_int(IntPredicate::LLVMIntUGE, index, size);
            let arguments = [tensor.pointer, dimension, index, size, site];
            let tell = |this: &mut Self| {
                this.call_simulator("fusebox_simt_index", &[pointer, int, word, word, int], &arguments, None);
                Ok(Vec::new())
            };
            self.choose(outside, tell, |_| Ok(Vec::new()), &[])?;
        }
        Ok(())
    }

    /// A tile that the simulator provides, asked for when the kernel starts.
    pub(super) fn simulated_tile(&mut self, op: Operation, number: u64, bytes: u64) -> Done<Tensor> {
        let (_, element) = static_tensor(&op.result(0).ty())?;
        let pointer = self.in_reservations(|this| {
            let llvm = this.llvm();
            let (pointer, int, word) = (llvm.pointer(0), llvm.int(32), llvm.int(64));
            let element_bytes = i64::from(element.element_bytes().unwrap_or(1));
            let arguments = [
                llvm.const_int(word, number as i64),
                llvm.const_int(word, bytes as i64),
                llvm.const_int(int, element_bytes),
            ];
            this.call_simulator("fusebox_simt_shared", &[word, word, int], &arguments, Some(pointer))
        });
        let known = Known { alignment: TILE_ALIGNMENT, invariant: false, reported: true, reach: Reach::Block };
        Ok(Tensor::new(pointer, known))
    }

    pub(super) fn simulated_barrier(&mut self) {
        let site = self.current_site();
        let int = self.llvm().int(32);
        self.call_simulator("fusebox_simt_barrier", &[int], &[site], None);
    }

    /// The integer that the lane `distance` above sends.
    pub(super) fn simulated_shuffle(&mut self, bits: Val, width: u32, distance: i64) -> Val {
        let site = self.current_site();
        let sent = self.resized_as(bits, 64, false);
        let llvm = self.llvm();
        let (int, word) = (llvm.int(32), llvm.int(64));
        let arguments = [sent, llvm.const_int(int, distance), site];
        let received = self.call_simulator("fusebox_simt_shuffle_down", &[word, int, int], &arguments, Some(word));
        self.resized(received, width)
    }

    /// The place of the operation being translated.
    fn current_site(&mut self) -> Val {
        match self.current {
            Some(op) => self.site(op),
            None => self.llvm().const_int(self.llvm().int(32), -1),
        }
    }

    /// The number of an operation's place in the list of places.
    fn site(&mut self, op: Operation) -> Val {
        let text = format!("{}: {} at {}", self.kernel.name, op.name(), op.location());
        let sites = &mut self.translation.sites;
        // The same operation is met again where a loop is unrolled.
        let known = sites.iter().rposition(|known| *known == text);
        let number = known.unwrap_or_else(|| {
            sites.push(text);
            sites.len() - 1
        });
        self.llvm().const_int(self.llvm().int(32), number as i64)
    }

    /// Calls a function of the simulator. What this gives is of meaning only if there is a result.
    fn call_simulator(&mut self, name: &str, parameters: &[Ty], arguments: &[Val], result: Option<Ty>) -> Val {
        let declared = match self.translation.functions.get(&Variant::from(name)) {
            Some(declared) => declared.clone(),
            None => {
                let result = result.unwrap_or(self.llvm().void());
                let signature = self.llvm().signature(result, parameters);
                let function = self.llvm().add_function(name, signature, true);
                let declared = Declared { function, signature, results: Vec::new(), defined: true };
                self.translation.functions.insert(Variant::from(name), declared.clone());
                declared
            }
        };
        self.llvm().call(declared.signature, declared.function, arguments)
    }
}

/// Elements that a transfer of a vector moves.
fn lanes_moved(op: Operation) -> Option<u32> {
    let vector = match op.name() {
        "vector.transfer_read" => op.result(0).ty(),
        "vector.transfer_write" => op.operand(0).ty(),
        _ => return None,
    };
    match vector {
        Type::Vector { lanes, .. } => Some(lanes),
        _ => None,
    }
}
