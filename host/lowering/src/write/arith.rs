//! Writes arithmetic. Each arithmetic operation becomes an instruction or an intrinsic of LLVM.

use fusebox_core::ir::{Attribute, OpKind, Operation, Scalar, Type};
use llvm_sys::LLVMRealPredicate;

use super::function::Body;
use crate::error::{Done, Unsupported};
use crate::llvm::{IntPredicate, Op, Val};

/// The LLVM instruction or intrinsic that an operation becomes.
enum Instruction {
    Binary(Op),
    Cast(Op),
    /// An intrinsic that is overloaded on the type of its operands.
    Intrinsic(&'static str),
    /// Like `Intrinsic`, with a second operand. The second operand states whether the result may be
    /// undefined for zero or for the smallest number.
    Defined(&'static str),
}

fn instruction(kind: OpKind) -> Option<Instruction> {
    use Instruction::{Binary, Cast, Defined, Intrinsic};
    Some(match kind {
        OpKind::AddI => Binary(Op::LLVMAdd),
        OpKind::SubI => Binary(Op::LLVMSub),
        OpKind::MulI => Binary(Op::LLVMMul),
        OpKind::DivSI => Binary(Op::LLVMSDiv),
        OpKind::DivUI => Binary(Op::LLVMUDiv),
        OpKind::RemSI => Binary(Op::LLVMSRem),
        OpKind::RemUI => Binary(Op::LLVMURem),
        OpKind::AndI => Binary(Op::LLVMAnd),
        OpKind::OrI => Binary(Op::LLVMOr),
        OpKind::XorI => Binary(Op::LLVMXor),
        OpKind::ShlI => Binary(Op::LLVMShl),
        OpKind::ShrSI => Binary(Op::LLVMAShr),
        OpKind::ShrUI => Binary(Op::LLVMLShr),
        OpKind::MaxSI => Intrinsic("llvm.smax"),
        OpKind::MinSI => Intrinsic("llvm.smin"),
        OpKind::MaxUI => Intrinsic("llvm.umax"),
        OpKind::MinUI => Intrinsic("llvm.umin"),
        OpKind::AddF => Binary(Op::LLVMFAdd),
        OpKind::SubF => Binary(Op::LLVMFSub),
        OpKind::MulF => Binary(Op::LLVMFMul),
        OpKind::DivF => Binary(Op::LLVMFDiv),
        OpKind::MaximumF => Intrinsic("llvm.maximum"),
        OpKind::MinimumF => Intrinsic("llvm.minimum"),
        OpKind::MaxNumF => Intrinsic("llvm.maxnum"),
        OpKind::MinNumF => Intrinsic("llvm.minnum"),
        OpKind::ExtSI => Cast(Op::LLVMSExt),
        OpKind::ExtUI => Cast(Op::LLVMZExt),
        OpKind::TruncI => Cast(Op::LLVMTrunc),
        OpKind::ExtF => Cast(Op::LLVMFPExt),
        OpKind::TruncF => Cast(Op::LLVMFPTrunc),
        OpKind::SIToFP => Cast(Op::LLVMSIToFP),
        OpKind::UIToFP => Cast(Op::LLVMUIToFP),
        OpKind::FPToSI => Cast(Op::LLVMFPToSI),
        OpKind::FPToUI => Cast(Op::LLVMFPToUI),
        OpKind::Bitcast => Cast(Op::LLVMBitCast),
        OpKind::AbsF => Intrinsic("llvm.fabs"),
        OpKind::Sqrt => Intrinsic("llvm.sqrt"),
        OpKind::Floor => Intrinsic("llvm.floor"),
        OpKind::Ceil => Intrinsic("llvm.ceil"),
        OpKind::Trunc => Intrinsic("llvm.trunc"),
        OpKind::RoundEven => Intrinsic("llvm.roundeven"),
        OpKind::Fma | OpKind::VectorFma => Intrinsic("llvm.fma"),
        OpKind::CopySign => Intrinsic("llvm.copysign"),
        OpKind::CtPop => Intrinsic("llvm.ctpop"),
        OpKind::Ctlz => Defined("llvm.ctlz"),
        OpKind::Cttz => Defined("llvm.cttz"),
        OpKind::AbsI => Defined("llvm.abs"),
        _ => return None,
    })
}

/// Whether LLVM has the operation both for scalars and, lane by lane, for vectors.
pub(super) fn is_by_element(kind: OpKind) -> bool {
    matches!(kind, OpKind::NegF | OpKind::CmpI | OpKind::CmpF | OpKind::Select) || instruction(kind).is_some()
}

impl<'s> Body<'_, '_, 's> {
    pub(super) fn arithmetic(&mut self, op: &'s Operation) -> Done<Val> {
        let operands = self.operands(op)?;
        let flags = self.flags(op);
        let llvm = self.llvm();
        let value = match (op.kind, instruction(op.kind)) {
            (OpKind::NegF, _) => llvm.negate_float(operands[0], flags),
            (OpKind::CmpI, _) => match op.integer("predicate").and_then(integer_predicate) {
                Some(predicate) => llvm.compare_int(predicate, operands[0], operands[1]),
                None => return Unsupported::because("its predicate is unknown"),
            },
            (OpKind::CmpF, _) => match op.integer("predicate").and_then(float_predicate) {
                Some(predicate) => llvm.compare_float(predicate, operands[0], operands[1]),
                None => return Unsupported::because("its predicate is unknown"),
            },
            (OpKind::Select, _) => llvm.select(operands[0], operands[1], operands[2]),
            (OpKind::IndexCast, _) => self.id_cast(op, operands[0])?,
            (OpKind::ExtUI, _) if op.attribute("nonNeg").is_some() => {
                llvm.zext_non_negative(operands[0], self.type_of(op.result())?)
            }
            (_, Some(Instruction::Binary(instruction))) => match op.attribute("overflowFlags") {
                Some(Attribute::Raw(flags)) if flags.contains("nsw") => {
                    llvm.binary_nsw(instruction, operands[0], operands[1])
                }
                _ => llvm.binary(instruction, operands[0], operands[1]),
            },
            (_, Some(Instruction::Cast(instruction))) => {
                llvm.cast(instruction, operands[0], self.type_of(op.result())?)
            }
            (_, Some(Instruction::Intrinsic(name))) => {
                llvm.call_intrinsic(name, &[llvm.type_of(operands[0])], &operands)
            }
            (_, Some(Instruction::Defined(name))) => {
                let no = llvm.const_int(llvm.int(1), 0);
                llvm.call_intrinsic(name, &[llvm.type_of(operands[0])], &[operands[0], no])
            }
            (_, None) => return Unsupported::because("the operation is not part of this stage"),
        };
        Ok(self.llvm().with_flags(value, flags))
    }

    /// Casts the id of a block or thread to the integer type of the result. The target determines
    /// the id's width. Returns the value unchanged if the result is not an integer.
    fn id_cast(&self, op: &Operation, value: Val) -> Done<Val> {
        let Type::Scalar(Scalar::Int(bits)) = *self.source.type_of(op.result()) else { return Ok(value) };
        let llvm = self.llvm();
        let (own, ty) = (llvm.int_bits(llvm.type_of(value)), llvm.int(bits));
        Ok(match own.cmp(&bits) {
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Less => llvm.zext_non_negative(value, ty),
            std::cmp::Ordering::Greater => llvm.cast(Op::LLVMTrunc, value, ty),
        })
    }
}

fn integer_predicate(number: i64) -> Option<IntPredicate> {
    use IntPredicate::*;
    const IN_ORDER: [IntPredicate; 10] = [
        LLVMIntEQ, LLVMIntNE, LLVMIntSLT, LLVMIntSLE, LLVMIntSGT, LLVMIntSGE, LLVMIntULT, LLVMIntULE, LLVMIntUGT,
        LLVMIntUGE,
    ];
    IN_ORDER.get(usize::try_from(number).ok()?).copied()
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
