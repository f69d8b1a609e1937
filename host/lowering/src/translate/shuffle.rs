//! `xla_gpu.shuffle_reduce`: reduction over the lanes of a warp, without memory.
//!
//! Lanes exchange words of 32 bits: narrower values are extended, wider ones go in pieces. The combiner's body is
//! written once per step. On the cpu a warp is one lane, which has the result already.

use super::function::{Done, Function};
use super::slot::Slot;
use crate::Target;
use crate::error::Unsupported;
use crate::llvm::{Op, Ty, Val};
use crate::mlir::Operation;

impl Function<'_, '_, '_> {
    pub(super) fn shuffle_reduce(&mut self, op: Operation) -> Done {
        let mut values = op.operands().map(|value| self.slot(value)).collect::<Done<Vec<Slot>>>()?;
        if !self.is_single_thread()? {
            let Some(callee) = op.attribute("callee").and_then(|callee| callee.symbol()) else {
                return Unsupported::because("the combiner is not a function's name");
            };
            let Some(mut distance) = op.attribute("max_distance").and_then(|it| it.integer()) else {
                return Unsupported::because("it has no distance");
            };
            let lanes = self.lanes_taking_part(distance)?;
            while distance > 0 {
                values = self.combined_with_lane(callee, values, distance, lanes)?;
                distance /= 2;
            }
        }
        for (result, value) in op.results().zip(values) {
            self.bind(result, value);
        }
        Ok(())
    }

    /// Lanes that take part: a whole warp, or a block that is smaller than one.
    fn lanes_taking_part(&self, distance: i64) -> Done<u32> {
        let (warp, threads) = (self.translation.traits.warp, self.kernel.threads);
        if threads > warp && threads % warp != 0 {
            return Unsupported::because(format!("a block of {threads} threads is not made of warps of {warp}"));
        }
        let lanes = warp.min(threads);
        if 2 * distance > i64::from(lanes) {
            return Unsupported::because(format!(
                "a distance of {distance} reaches over more than the {lanes} lanes of a warp"
            ));
        }
        Ok(lanes)
    }

    /// Each lane's values combined with those of the lane so far above it.
    fn combined_with_lane(&mut self, callee: &str, own: Vec<Slot>, distance: i64, lanes: u32) -> Done<Vec<Slot>> {
        let mut arguments = own.clone();
        for slot in own {
            let moved = match slot {
                Slot::Plain(value) => Slot::Plain(self.of_lane(value, distance, lanes)?),
                Slot::Complex(re, im) => {
                    Slot::Complex(self.of_lane(re, distance, lanes)?, self.of_lane(im, distance, lanes)?)
                }
                Slot::Index(ix) => {
                    let value = self.index_value(ix, 64);
                    let moved = self.of_lane(value, distance, lanes)?;
                    Slot::Index(self.leaf(moved, fusebox_core::indexing::Interval::ALL))
                }
                Slot::Tensor(_) | Slot::Splat(_) => return Unsupported::because("lanes do not exchange tensors"),
            };
            arguments.push(moved);
        }
        let results = self.applied(callee, &arguments)?;
        if results.len() * 2 != arguments.len() {
            return Unsupported::because(format!("@{callee} gives other than as many values as are reduced"));
        }
        Ok(results)
    }

    fn of_lane(&mut self, value: Val, distance: i64, lanes: u32) -> Done<Val> {
        let ty = self.llvm().type_of(value);
        let Some(width) = self.llvm().lanes(ty) else { return self.scalar_of_lane(value, distance, lanes) };
        let mut moved = self.llvm().undefined(ty);
        for lane in 0..width {
            let position = self.llvm().const_int(self.llvm().int(32), i64::from(lane));
            let element = self.llvm().lane(value, position);
            let element = self.scalar_of_lane(element, distance, lanes)?;
            moved = self.llvm().with_lane(moved, element, position);
        }
        Ok(moved)
    }

    fn scalar_of_lane(&mut self, value: Val, distance: i64, lanes: u32) -> Done<Val> {
        let ty = self.llvm().type_of(value);
        let bits = self.as_bits(value);
        let width = self.llvm().int_bits(self.llvm().type_of(bits));
        if self.translation.target == Target::Simt {
            let moved = self.simulated_shuffle(bits, width, distance);
            return Ok(self.of_bits(moved, ty));
        }
        let llvm = self.llvm();
        let word = llvm.int(32);
        let moved = if width <= 32 {
            let moved = self.word_of_lane(self.resized_as(bits, 32, false), distance, lanes)?;
            self.resized(moved, width)
        } else {
            let wide = llvm.int(64);
            let bits = self.resized_as(bits, 64, false);
            let shift = llvm.const_int(wide, 32);
            let low = llvm.cast(Op::LLVMTrunc, bits, word);
            let high = llvm.cast(Op::LLVMTrunc, llvm.binary(Op::LLVMLShr, bits, shift), word);
            let low = self.word_of_lane(low, distance, lanes)?;
            let high = self.word_of_lane(high, distance, lanes)?;
            let high = llvm.binary(Op::LLVMShl, llvm.cast(Op::LLVMZExt, high, wide), shift);
            let both = llvm.binary(Op::LLVMOr, high, llvm.cast(Op::LLVMZExt, low, wide));
            self.resized(both, width)
        };
        Ok(self.of_bits(moved, ty))
    }

    /// A word of the lane that is so far above this one.
    fn word_of_lane(&self, value: Val, distance: i64, lanes: u32) -> Done<Val> {
        let llvm = self.llvm();
        let word = llvm.int(32);
        let constant = |value: i64| llvm.const_int(word, value);
        match self.translation.target {
            Target::Nvptx { .. } => {
                let mask = if lanes >= 32 { -1 } else { (1 << lanes) - 1 };
                let arguments = [constant(mask), value, constant(distance), constant(31)];
                Ok(llvm.call_intrinsic("llvm.nvvm.shfl.sync.down.i32", &[], &arguments))
            }
            Target::Amdgpu { .. } => {
                let below = llvm.call_intrinsic("llvm.amdgcn.mbcnt.lo", &[], &[constant(-1), constant(0)]);
                let lane = llvm.call_intrinsic("llvm.amdgcn.mbcnt.hi", &[], &[constant(-1), below]);
                let from = llvm.binary(Op::LLVMAdd, lane, constant(distance));
                let address = llvm.binary(Op::LLVMShl, from, constant(2));
                Ok(llvm.call_intrinsic("llvm.amdgcn.ds.bpermute", &[], &[address, value]))
            }
            Target::Cpu | Target::Simt => Unsupported::because("its lanes do not exchange words of 32 bits"),
        }
    }

    /// An integer or float as an integer of its width.
    pub(super) fn as_bits(&self, value: Val) -> Val {
        let llvm = self.llvm();
        match llvm.type_of(value) {
            ty if ty == llvm.float() => llvm.cast(Op::LLVMBitCast, value, llvm.int(32)),
            ty if ty == llvm.double() => llvm.cast(Op::LLVMBitCast, value, llvm.int(64)),
            _ => value,
        }
    }

    /// The integer or float of these bits.
    pub(super) fn of_bits(&self, bits: Val, ty: Ty) -> Val {
        let llvm = self.llvm();
        if ty == llvm.float() || ty == llvm.double() { llvm.cast(Op::LLVMBitCast, bits, ty) } else { bits }
    }
}
