//! Functions of the simulator that kernels call.
//!
//! | function | meaning |
//! | --- | --- |
//! | `ptr fusebox_simt_shared(i64 offset, i64 bytes, i32 element_bytes)` | the memory of a tile |
//! | `void fusebox_simt_barrier(i32 site)` | waits for all threads of the block |
//! | `i64 fusebox_simt_shuffle_down(i64 word, i32 distance, i32 site)` | the word `distance` lanes above |
//! | `void fusebox_simt_multiply(i32 product, i32 site, i64 words…)` | a warp's matrix product, of the lanes' words and sums |
//! | `i64 fusebox_simt_sum(i32 number)` | a sum of the thread's last product |
//! | `void fusebox_simt_multiply_tiles(ptr left, ptr its place, ptr right, ptr its place, ptr sums, i32 columns, i32 steps, i32 strides…, i32 along steps…, i32 is f16, i32 site)` | adds a product of tiles to the thread's sums |
//! | `void fusebox_simt_access(ptr tensor, ptr place, i32 bytes, i32 kind, i32 site)` | checks an access |
//! | `void fusebox_simt_turn(i32 site)` | an iteration of a loop begins |
//! | `void fusebox_simt_division(i32 site)` | a division has no result |
//! | `void fusebox_simt_index(ptr tensor, i32 dimension, i64 index, i64 size, i32 site)` | an index is out of bounds |
//!
//! `site` is the number of the operation's location in the list of locations that accompanies the
//! code.

use fusebox_core::ir::{Attribute, Float, MOST_PRODUCT_WORDS, MatrixProduct, OpKind, Operation};

use super::Declared;
use super::function::Body;
use crate::error::{Done, Unsupported};
use crate::llvm::{Op, Ty, Val};
use crate::targets::TileProduct;

impl<'s> Body<'_, '_, 's> {
    pub(super) fn report(&mut self, op: &'s Operation) -> Done {
        let site = self.site(op);
        let llvm = self.llvm();
        let (pointer, int, word) = (llvm.pointer(0), llvm.int(32), llvm.int(64));
        let number = |name: &str, ty| llvm.const_int(ty, op.integer(name).unwrap_or(0));
        match op.kind {
            OpKind::ReportAccess => {
                let (bytes, kind) = (number("bytes", int), number("kind", int));
                let element =
                    llvm.int(8 * op.integer("element_bytes").and_then(|it| u32::try_from(it).ok()).unwrap_or(1));
                let address = self.address_of(op, 0, element)?;
                let arguments = [self.value(op.operands[0])?, address.pointer, bytes, kind, site];
                self.call_simulator("fusebox_simt_access", &[pointer, pointer, int, int, int], &arguments, None);
            }
            OpKind::ReportIndex => {
                let (dimension, size) = (number("dimension", int), number("size", word));
                let operands = self.operands(op)?;
                let arguments = [operands[0], dimension, operands[1], size, site];
                self.call_simulator("fusebox_simt_index", &[pointer, int, word, word, int], &arguments, None);
            }
            OpKind::ReportTurn => _ = self.call_simulator("fusebox_simt_turn", &[int], &[site], None),
            _ => _ = self.call_simulator("fusebox_simt_division", &[int], &[site], None),
        }
        Ok(())
    }

    /// Writes the call by which the simulator allocates a tile.
    pub(super) fn simulated_tile(&mut self, op: &'s Operation) -> Val {
        let llvm = self.llvm();
        let (pointer, int, word) = (llvm.pointer(0), llvm.int(32), llvm.int(64));
        let number = |name: &str, ty| llvm.const_int(ty, op.integer(name).unwrap_or(0));
        let arguments = [number("offset", word), number("bytes", word), number("element_bytes", int)];
        self.call_simulator("fusebox_simt_shared", &[word, word, int], &arguments, Some(pointer))
    }

    pub(super) fn simulated_barrier(&mut self, op: &'s Operation) {
        let site = self.site(op);
        let int = self.llvm().int(32);
        self.call_simulator("fusebox_simt_barrier", &[int], &[site], None);
    }

    /// Writes a shuffle. Returns the word of the lane whose number is larger than this lane's by
    /// `distance`.
    pub(super) fn simulated_shuffle(&mut self, op: &'s Operation, word: Val, distance: i64) -> Val {
        let site = self.site(op);
        let llvm = self.llvm();
        let (int, long) = (llvm.int(32), llvm.int(64));
        let arguments = [word, llvm.const_int(int, distance), site];
        self.call_simulator("fusebox_simt_shuffle_down", &[long, int, int], &arguments, Some(long))
    }

    /// Writes a warp's product of matrices. A first call passes the words of all operands to the
    /// simulator. After the first call, one more call for each sum returns the new sum.
    pub(super) fn simulated_product(
        &mut self,
        op: &'s Operation,
        product: MatrixProduct,
        operands: &[Val],
    ) -> Vec<Val> {
        let site = self.site(op);
        let llvm = self.llvm();
        let (int, long) = (llvm.int(32), llvm.int(64));
        let [left, right, sums] = product.words().map(|count| count as usize);
        let word_bits = 8 * product.pack() as u32 * product.factor().byte_size() as u32;
        let sum_bits = product.sum().bits();
        let as_word = |(number, &value): (usize, &Val)| {
            let bits = llvm.int(if number < left + right { word_bits } else { sum_bits });
            llvm.cast(Op::LLVMZExt, llvm.cast(Op::LLVMBitCast, value, bits), long)
        };
        let mut arguments = vec![llvm.const_int(int, product.number()), site];
        arguments.extend(operands.iter().enumerate().map(as_word));
        arguments.resize(2 + MOST_PRODUCT_WORDS, llvm.const_int(long, 0));
        let parameters = [vec![int; 2], vec![long; MOST_PRODUCT_WORDS]].concat();
        self.call_simulator("fusebox_simt_multiply", &parameters, &arguments, None);
        let first = operands.len() - sums;
        (0..sums)
            .map(|number| {
                let (number_of_sum, own) = (self.llvm().const_int(int, number as i64), operands[first + number]);
                let word = self.call_simulator("fusebox_simt_sum", &[int], &[number_of_sum], Some(long));
                let llvm = self.llvm();
                let bits = llvm.cast(Op::LLVMTrunc, word, llvm.int(sum_bits));
                llvm.cast(Op::LLVMBitCast, bits, llvm.type_of(own))
            })
            .collect()
    }

    /// Writes a product of tiles. The simulator reads the thread's sums from memory of the thread
    /// and writes the new sums there.
    pub(super) fn simulated_tile_product(
        &mut self,
        op: &'s Operation,
        product: &TileProduct,
        places: [Val; 2],
        sums: &[Val],
    ) -> Done<Vec<Val>> {
        let (site, count) = (self.site(op), sums.len());
        let Some(&room) = op.operands.get(count + 4) else { return Unsupported::because("it has no room for sums") };
        let (room, left, right) =
            (self.value(room)?, self.value(op.operands[count])?, self.value(op.operands[count + 2])?);
        let llvm = self.llvm();
        let (pointer, int, long) = (llvm.pointer(0), llvm.int(32), llvm.int(64));
        let place = |number: usize| llvm.element_pointer(int, room, llvm.const_int(long, number as i64));
        for (number, &sum) in sums.iter().enumerate() {
            llvm.store(sum, place(number), 4);
        }
        let places_of_sums: Vec<Val> = (0..count).map(place).collect();
        let types: Vec<Ty> = sums.iter().map(|&sum| llvm.type_of(sum)).collect();
        let numbers = [
            product.columns,
            product.steps,
            product.strides[0],
            product.strides[1],
            i64::from(product.along_steps[0]),
            i64::from(product.along_steps[1]),
            i64::from(product.element == Float::F16),
        ];
        let mut arguments = vec![left, places[0], right, places[1], room];
        arguments.extend(numbers.map(|number| llvm.const_int(int, number)));
        arguments.push(site);
        let parameters = [vec![pointer; 5], vec![int; numbers.len() + 1]].concat();
        self.call_simulator("fusebox_simt_multiply_tiles", &parameters, &arguments, None);
        let llvm = self.llvm();
        Ok(places_of_sums.into_iter().zip(types).map(|(place, ty)| llvm.load(ty, place, 4)).collect())
    }

    /// Returns the number of an operation's location in the list of locations.
    fn site(&mut self, op: &Operation) -> Val {
        let text = match op.attribute("site") {
            Some(Attribute::Str(site)) => site.clone(),
            _ => op.place.to_string(),
        };
        let sites = &mut self.translation.sites;
        // An unrolled loop contains copies of the same operation. All copies get the same number.
        let known = sites.iter().rposition(|known| *known == text);
        let number = known.unwrap_or_else(|| {
            sites.push(text);
            sites.len() - 1
        });
        self.llvm().const_int(self.llvm().int(32), number as i64)
    }

    /// Calls a function of the simulator. The returned value is meaningful only if `result` is a
    /// type.
    fn call_simulator(&mut self, name: &'static str, parameters: &[Ty], arguments: &[Val], result: Option<Ty>) -> Val {
        let declared = match self.translation.shared.get(name) {
            Some(declared) => declared.clone(),
            None => {
                let llvm = &self.translation.llvm;
                let signature = llvm.signature(result.unwrap_or(llvm.void()), parameters);
                let function = llvm.add_function(name, signature, true);
                let declared = Declared { function, signature, results: usize::from(result.is_some()) };
                self.translation.shared.insert(name, declared.clone());
                declared
            }
        };
        self.llvm().call(declared.signature, declared.function, arguments)
    }
}
