//! `arith` on floats.

use llvm_sys::LLVMRealPredicate;

use super::function::{Done, Function};
use super::slot::{float_format, kept_as_bits};
use crate::error::Unsupported;
use crate::llvm::{FastMath, Op, Val};
use crate::mlir::{FloatFormat, Operation, Type};

impl Function<'_, '_, '_> {
    pub(super) fn float_arithmetic(&mut self, op: Operation) -> Done {
        let Some(format) = float_format(&op.operand(0).ty()) else {
            return Unsupported::because("its operands are no floats");
        };
        let operands = op.operands().map(|operand| self.plain(operand)).collect::<Done<Vec<Val>>>()?;
        if kept_as_bits(format) {
            return self.narrow_arithmetic(op, format, &operands);
        }
        let flags = self.fast_math(op);
        let value = self.wide_arithmetic(op, &operands, flags)?;
        self.rounding.follow(op.name(), &operands, value);
        self.bind_plain(op, value);
        Ok(())
    }

    /// Operations that do not round are done in f32; for the others the IR says where to round.
    fn narrow_arithmetic(&mut self, op: Operation, format: FloatFormat, operands: &[Val]) -> Done {
        let exact = matches!(
            op.name(),
            "arith.cmpf" | "arith.maximumf" | "arith.minimumf" | "arith.maxnumf" | "arith.minnumf" | "arith.negf"
        );
        if !exact {
            return Unsupported::because("arithmetic below f32 is written as extf, the operation, and truncf");
        }
        let wide: Vec<Val> = operands.iter().map(|&operand| self.widened_from(operand, format)).collect();
        let value = self.wide_arithmetic(op, &wide, FastMath::default())?;
        self.rounding.follow(op.name(), &wide, value);
        let value = if op.name() == "arith.cmpf" { value } else { self.narrowed(value, format) };
        self.bind_plain(op, value);
        Ok(())
    }

    fn wide_arithmetic(&mut self, op: Operation, operands: &[Val], flags: FastMath) -> Done<Val> {
        let a = operands[0];
        let simple = |this: &Self, op| this.llvm().with_flags(this.llvm().binary(op, a, operands[1]), flags);
        let extreme = |this: &Self, name| {
            let llvm = this.llvm();
            llvm.with_flags(llvm.call_intrinsic(name, &[llvm.type_of(a)], &[a, operands[1]]), flags)
        };
        Ok(match op.name() {
            "arith.addf" => simple(self, Op::LLVMFAdd),
            "arith.subf" => simple(self, Op::LLVMFSub),
            "arith.mulf" => simple(self, Op::LLVMFMul),
            "arith.divf" => simple(self, Op::LLVMFDiv),
            "arith.remf" => self.library_call(op, float_format(&op.operand(0).ty()), operands, flags)?,
            "arith.maximumf" => extreme(self, "llvm.maximum"),
            "arith.minimumf" => extreme(self, "llvm.minimum"),
            "arith.maxnumf" => extreme(self, "llvm.maxnum"),
            "arith.minnumf" => extreme(self, "llvm.minnum"),
            "arith.negf" => self.llvm().negate_float(a, flags),
            "arith.cmpf" => {
                let predicate = op.attribute("predicate").and_then(|it| it.integer()).and_then(float_predicate);
                let Some(predicate) = predicate else { return Unsupported::because("its predicate is unknown") };
                self.llvm().with_flags(self.llvm().compare_float(predicate, a, operands[1]), flags)
            }
            _ => return Unsupported::because("the operation is not part of the kernel IR"),
        })
    }

    /// The fast-math flags of an operation. Attributes are uniqued, so each is read once.
    pub(super) fn fast_math(&mut self, op: Operation) -> FastMath {
        let Some(attribute) = op.attribute("fastmath") else { return FastMath::default() };
        let known = &mut self.translation.fast_math;
        *known.entry(attribute.key()).or_insert_with(|| fast_math_of(&attribute.text()))
    }

    /// Conversions from, to, and between floats.
    pub(super) fn convert_float(&mut self, op: Operation) -> Done {
        let value = self.plain(op.operand(0))?;
        let (from, to) = (op.operand(0).ty(), op.result(0).ty());
        let result = match (op.name(), float_format(&from), float_format(&to)) {
            ("arith.extf" | "arith.truncf", Some(from), Some(to)) => self.refloated(value, from, to),
            ("arith.sitofp", _, Some(to)) => self.float_of_integer(value, to, true),
            ("arith.uitofp", _, Some(to)) => self.float_of_integer(value, to, false),
            ("arith.fptosi", Some(from), _) => self.integer_of_float(value, from, &to, Op::LLVMFPToSI)?,
            ("arith.fptoui", Some(from), _) => self.integer_of_float(value, from, &to, Op::LLVMFPToUI)?,
            _ => return Unsupported::because(format!("it converts {from:?} to {to:?}")),
        };
        self.bind_plain(op, result);
        Ok(())
    }

    fn integer_of_float(&mut self, value: Val, from: FloatFormat, to: &Type, op: Op) -> Done<Val> {
        let wide = if kept_as_bits(from) { self.widened(value, from) } else { value };
        let target = self.type_of(to)?;
        Ok(self.llvm().cast(op, wide, target))
    }

    /// The format's type, as a vector if `like` is one.
    pub(super) fn float_type(&self, format: FloatFormat, like: Val) -> crate::llvm::Ty {
        let llvm = self.llvm();
        let scalar = match format {
            FloatFormat::F64 => llvm.double(),
            FloatFormat::F32 => llvm.float(),
            narrow => llvm.int(8 * narrow.bytes()),
        };
        llvm.shaped_like(scalar, llvm.type_of(like))
    }

    /// As [`Self::widened`], remembering where the number is from.
    fn widened_from(&mut self, bits: Val, format: FloatFormat) -> Val {
        let wide = self.widened(bits, format);
        self.rounding.set_format(wide, format);
        wide
    }

    fn refloated(&mut self, value: Val, from: FloatFormat, to: FloatFormat) -> Val {
        let wide = if kept_as_bits(from) { self.widened_from(value, from) } else { value };
        let wide_is_double = from == FloatFormat::F64;
        match to {
            FloatFormat::F64 if !wide_is_double => {
                let ty = self.float_type(FloatFormat::F64, value);
                self.llvm().cast(Op::LLVMFPExt, wide, ty)
            }
            FloatFormat::F32 if wide_is_double => {
                let ty = self.float_type(FloatFormat::F32, value);
                self.llvm().cast(Op::LLVMFPTrunc, wide, ty)
            }
            FloatFormat::F32 | FloatFormat::F64 => wide,
            narrow if wide_is_double => {
                let odd = self.rounded_to_odd(wide);
                self.narrowed(odd, narrow)
            }
            narrow => self.narrowed(wide, narrow),
        }
    }

    fn float_of_integer(&mut self, value: Val, to: FloatFormat, signed: bool) -> Val {
        let op = if signed { Op::LLVMSIToFP } else { Op::LLVMUIToFP };
        if !kept_as_bits(to) {
            let ty = self.float_type(to, value);
            return self.llvm().cast(op, value, ty);
        }
        let bits = self.llvm().int_bits(self.llvm().type_of(value));
        if bits <= 24 {
            let ty = self.float_type(FloatFormat::F32, value);
            let wide = self.llvm().cast(op, value, ty);
            return self.narrowed(wide, to);
        }
        // Through f64, exactly up to 53 bits; of larger numbers the low bits only decide about rounding.
        let value = if bits > 53 { self.with_sticky_low_bits(value) } else { value };
        let ty = self.float_type(FloatFormat::F64, value);
        let wide = self.llvm().cast(op, value, ty);
        let odd = self.rounded_to_odd(wide);
        self.narrowed(odd, to)
    }
}

fn float_predicate(number: i64) -> Option<LLVMRealPredicate> {
    use LLVMRealPredicate::*;
    const IN_ORDER: [LLVMRealPredicate; 16] = [
        LLVMRealPredicateFalse,
        LLVMRealOEQ,
        LLVMRealOGT,
        LLVMRealOGE,
        LLVMRealOLT,
        LLVMRealOLE,
        LLVMRealONE,
        LLVMRealORD,
        LLVMRealUEQ,
        LLVMRealUGT,
        LLVMRealUGE,
        LLVMRealULT,
        LLVMRealULE,
        LLVMRealUNE,
        LLVMRealUNO,
        LLVMRealPredicateTrue,
    ];
    IN_ORDER.get(usize::try_from(number).ok()?).copied()
}

/// From `#arith.fastmath<reassoc,contract>`.
fn fast_math_of(text: &str) -> FastMath {
    let flags = text.split_once('<').map_or("", |(_, flags)| flags.trim_end_matches('>'));
    let bits = flags.split(',').fold(0, |bits, flag| {
        bits | match flag.trim() {
            "reassoc" => 1,
            "nnan" => 2,
            "ninf" => 4,
            "nsz" => 8,
            "arcp" => 16,
            "contract" => 32,
            "afn" => 64,
            "fast" => 127,
            _ => 0,
        }
    });
    FastMath(bits)
}
