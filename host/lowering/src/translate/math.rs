//! `math`: what is an instruction everywhere stays one, the rest are calls of the math library.

use super::Variant;
use super::function::{Done, Function};
use super::slot::{float_format, kept_as_bits};
use crate::error::Unsupported;
use crate::llvm::{FastMath, Op, Ty, Val};
use crate::math as library;
use crate::mlir::{FloatFormat, Operation};
use llvm_sys::LLVMRealPredicate;

impl Function<'_, '_, '_> {
    pub(super) fn math(&mut self, op: Operation) -> Done {
        let operands = op.operands().map(|operand| self.plain(operand)).collect::<Done<Vec<Val>>>()?;
        let format = float_format(&op.operand(0).ty());
        if format.is_some_and(kept_as_bits) {
            return Unsupported::because("math below f32 is written as extf, the operation, and truncf");
        }
        let flags = self.fast_math(op);
        let value = match self.instruction(op.name(), &operands) {
            Some(value) => self.llvm().with_flags(value, flags),
            None => self.library_call(op, format, &operands, flags)?,
        };
        self.rounding.follow(op.name(), &operands, value);
        self.bind_plain(op, value);
        Ok(())
    }

    /// Operations that every target has or that a few exact instructions make up.
    fn instruction(&self, name: &str, operands: &[Val]) -> Option<Val> {
        let llvm = self.llvm();
        let a = operands[0];
        let ty = llvm.type_of(a);
        let intrinsic = |name| Some(llvm.call_intrinsic(name, &[ty], operands));
        // The second operand says whether zero, or the smallest number, may be undefined.
        let with_flag = |name| Some(llvm.call_intrinsic(name, &[ty], &[a, llvm.const_int(llvm.int(1), 0)]));
        match name {
            "math.absf" => intrinsic("llvm.fabs"),
            "math.sqrt" => intrinsic("llvm.sqrt"),
            "math.floor" => intrinsic("llvm.floor"),
            "math.ceil" => intrinsic("llvm.ceil"),
            "math.trunc" => intrinsic("llvm.trunc"),
            "math.roundeven" => intrinsic("llvm.roundeven"),
            "math.fma" => intrinsic("llvm.fma"),
            "math.copysign" => intrinsic("llvm.copysign"),
            "math.ctpop" => intrinsic("llvm.ctpop"),
            "math.ctlz" => with_flag("llvm.ctlz"),
            "math.cttz" => with_flag("llvm.cttz"),
            "math.absi" => with_flag("llvm.abs"),
            "math.round" => Some(self.round_half_away(a, ty)),
            "math.isnan" => Some(llvm.compare_float(LLVMRealPredicate::LLVMRealUNO, a, a)),
            "math.isinf" => Some(self.compare_magnitude(a, ty, LLVMRealPredicate::LLVMRealOEQ)),
            "math.isfinite" => Some(self.compare_magnitude(a, ty, LLVMRealPredicate::LLVMRealONE)),
            _ => None,
        }
    }

    fn compare_magnitude(&self, a: Val, ty: Ty, predicate: LLVMRealPredicate) -> Val {
        let llvm = self.llvm();
        let magnitude = llvm.call_intrinsic("llvm.fabs", &[ty], &[a]);
        llvm.compare_float(predicate, magnitude, llvm.const_float(ty, f64::INFINITY))
    }

    /// Rounds halves away from zero: what is lost by cutting off decides, which is exact.
    fn round_half_away(&self, a: Val, ty: Ty) -> Val {
        let llvm = self.llvm();
        let cut = llvm.call_intrinsic("llvm.trunc", &[ty], &[a]);
        let lost = llvm.call_intrinsic("llvm.fabs", &[ty], &[llvm.binary(Op::LLVMFSub, a, cut)]);
        let up = llvm.compare_float(LLVMRealPredicate::LLVMRealOGE, lost, llvm.const_float(ty, 0.5));
        let one = llvm.call_intrinsic("llvm.copysign", &[ty], &[llvm.const_float(ty, 1.0), a]);
        let rounded = llvm.select(up, llvm.binary(Op::LLVMFAdd, cut, one), cut);
        llvm.call_intrinsic("llvm.copysign", &[ty], &[rounded, a])
    }

    pub(super) fn library_call(
        &mut self,
        op: Operation,
        format: Option<FloatFormat>,
        operands: &[Val],
        flags: FastMath,
    ) -> Done<Val> {
        let bits = format.map_or(0, FloatFormat::bits);
        let Some(symbol) = library::symbol_for(op.name(), bits) else {
            return Unsupported::because("the math library has no function for it");
        };
        let ty = self.llvm().type_of(operands[0]);
        let scalar = self.llvm().scalar_type(ty);
        let declared = match self.translation.functions.get(&Variant::from(symbol)) {
            Some(declared) => declared.clone(),
            None => {
                self.translation.wanted.insert(symbol);
                let declared = self.declare(
                    Variant::from(symbol),
                    &vec![scalar; operands.len()],
                    vec![super::slot::Shape::Plain(scalar)],
                );
                // The definition is written for a vectoriser that sees all of it.
                self.llvm().add_attribute(declared.function, u32::MAX, "alwaysinline", 0);
                declared
            }
        };
        let llvm = self.llvm();
        let call =
            |operands: &[Val]| llvm.with_flags(llvm.call(declared.signature, declared.function, operands), flags);
        let Some(lanes) = llvm.lanes(ty) else { return Ok(call(operands)) };
        let each = (0..lanes).fold(llvm.undefined(ty), |all, lane| {
            let lane = llvm.const_int(llvm.int(32), i64::from(lane));
            let scalars: Vec<Val> = operands.iter().map(|&operand| llvm.lane(operand, lane)).collect();
            llvm.with_lane(all, call(&scalars), lane)
        });
        Ok(each)
    }
}
