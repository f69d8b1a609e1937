//! Rewrites every value as an integer, an `f32`, an `f64`, a vector of these, or a pointer.
//!
//! A float whose format has no arithmetic instructions is represented by its bits. A complex number
//! is represented by two floats. Math functions without an instruction become calls of the math
//! library. Values that the lanes of a warp exchange become integers of the width of a word.

mod floats;
mod integers;
mod math;
mod narrow;
mod rounding;
mod shuffle;

use fusebox_core::ir::{Attribute, Float, Function, OpKind, Operation, Scalar, Type, Value};

use self::rounding::Rounding;
use super::rewrite::{Rewriter, Stage};
use super::{KernelFunctions, StageError, lanes};
use crate::error::{Done, Unsupported};
use crate::targets::TargetInfo;

pub(super) fn lower(kernel: &KernelFunctions, target: &TargetInfo) -> Result<KernelFunctions, StageError> {
    kernel.each(|_, function| {
        let mut function = lowered(function, target)?;
        if target.is_cpu() {
            lanes::in_vectors(&mut function);
        }
        Ok(function)
    })
}

/// Lowers one function of a kernel or of the math library.
pub(crate) fn lowered(function: &Function, target: &TargetInfo) -> Result<Function, StageError> {
    Scalars { rewriter: Rewriter::new(function), rounding: Rounding::default(), target }.written()
}

/// Representation of a value of the source function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    Value(Value),
    /// Real and imaginary part.
    Complex(Value, Value),
}

struct Scalars<'s, 'k> {
    rewriter: Rewriter<'s, Slot>,
    rounding: Rounding,
    target: &'k TargetInfo,
}

/// Whether a float is represented by its bits.
fn kept_as_bits(float: Float) -> bool {
    !matches!(float, Float::F32 | Float::F64)
}

/// Returns the scalar type that represents elements of the type `element`.
fn kept(element: Scalar) -> Scalar {
    match element {
        Scalar::Float(float) if kept_as_bits(float) => Scalar::Int(8 * float.bytes()),
        other => other,
    }
}

impl<'s> Stage<'s> for Scalars<'s, '_> {
    type Slot = Slot;

    fn rewriter(&mut self) -> &mut Rewriter<'s, Slot> {
        &mut self.rewriter
    }

    fn passed(&self, ty: &Type) -> Done<Vec<Type>> {
        Ok(match (ty, ty.element()) {
            (Type::Scalar(_), Scalar::Complex(part)) => vec![Scalar::Float(part).into(); 2],
            (_, Scalar::Complex(_)) => return Unsupported::because(format!("values of type {ty} are not handled")),
            (_, element) => vec![ty.with_element(kept(element))],
        })
    }

    fn values(&mut self, slot: &Slot) -> Done<Vec<Value>> {
        Ok(match *slot {
            Slot::Value(value) => vec![value],
            Slot::Complex(re, im) => vec![re, im],
        })
    }

    fn slot_of(&mut self, _: &Type, values: &[Value], _: &[Slot]) -> Done<Slot> {
        Ok(match *values {
            [re, im] => Slot::Complex(re, im),
            _ => Slot::Value(values[0]),
        })
    }

    fn operation(&mut self, op: &'s Operation) -> Done {
        use OpKind::*;
        match op.kind {
            Constant => self.constant(op),
            ComplexCreate | ComplexConstant | ComplexRe | ComplexIm => self.complex(op),
            AddF | SubF | MulF | DivF | RemF | MaximumF | MinimumF | MaxNumF | MinNumF | NegF | CmpF => {
                self.float_arithmetic(op)
            }
            ExtF | TruncF | SIToFP | UIToFP | FPToSI | FPToUI => self.convert(op),
            Bitcast => self.bitcast(op),
            Select => self.select(op),
            FloorDivSI | CeilDivSI => self.round_quotient(op),
            MulSIExtended | MulUIExtended => self.multiply_extended(op),
            ShuffleDown => self.shuffle_down(op),
            VectorFma | Reduction => self.plain_vector(op),
            kind if kind.name().starts_with("math.") => self.math(op),
            If => self.if_else(op),
            IndexSwitch => self.index_switch(op),
            For => self.same_loop(op, 3, 1),
            While => self.while_loop(op, |_| ()),
            AtomicRmw => {
                let operands = self.operands(op)?;
                super::copy_atomic(self, op, operands, op.attributes.clone())
            }
            StackMemory | SharedMemory | ConstantMemory | ThreadId | BlockId => self.at_beginning(op),
            _ => self.copied(op),
        }
    }
}

impl<'s> Scalars<'s, '_> {
    fn value(&self, value: Value) -> Done<Value> {
        match self.rewriter.slot(value)? {
            Slot::Value(value) => Ok(value),
            Slot::Complex(..) => Unsupported::because("an operand is no integer, float or vector"),
        }
    }

    fn operands(&self, op: &Operation) -> Done<Vec<Value>> {
        op.operands.iter().map(|&operand| self.value(operand)).collect()
    }

    fn bind_value(&mut self, op: &'s Operation, value: Value) {
        self.rewriter.bind(op.result(), Slot::Value(value));
    }

    /// Returns the float format of a source value's elements. Returns `None` if the elements are
    /// not floats.
    fn float_of(&self, value: Value) -> Option<Float> {
        match self.rewriter.source.type_of(value).element() {
            Scalar::Float(float) => Some(float),
            _ => None,
        }
    }

    /// Returns the type that represents a value of the source function.
    fn kept_type(&self, value: Value) -> Type {
        let ty = self.rewriter.source.type_of(value);
        ty.with_element(kept(ty.element()))
    }

    fn at_beginning(&mut self, op: &'s Operation) -> Done {
        let ty = self.rewriter.source.type_of(op.result()).clone();
        let value = self.out().at_beginning(op.kind, op.attributes.clone(), ty);
        self.bind_value(op, value);
        Ok(())
    }

    fn constant(&mut self, op: &'s Operation) -> Done {
        let ty = self.kept_type(op.result());
        let value = match op.attribute("value") {
            Some(Attribute::Float(bits, float)) if kept_as_bits(*float) => self.out().int(*bits as i64, &ty),
            Some(Attribute::Dense(_, bytes)) => {
                let value = Attribute::Dense(ty.clone(), bytes.clone());
                self.out().constant(value, ty)
            }
            _ => self.out().constant_like(op, &ty)?,
        };
        self.bind_value(op, value);
        Ok(())
    }

    fn complex(&mut self, op: &'s Operation) -> Done {
        let slot = match op.kind {
            OpKind::ComplexCreate => Slot::Complex(self.value(op.operands[0])?, self.value(op.operands[1])?),
            OpKind::ComplexConstant => {
                let Some(Attribute::Array(parts)) = op.attribute("value") else {
                    return Unsupported::because("its value is not readable");
                };
                let parts: Vec<Value> = parts
                    .iter()
                    .filter_map(|part| match part {
                        Attribute::Float(_, float) => {
                            Some(self.rewriter.out.constant(part.clone(), Scalar::Float(*float).into()))
                        }
                        _ => None,
                    })
                    .collect();
                let [re, im] = parts[..] else { return Unsupported::because("its value is not readable") };
                Slot::Complex(re, im)
            }
            _ => {
                let Slot::Complex(re, im) = self.rewriter.slot(op.operands[0])? else {
                    return Unsupported::because("its operand is no complex number");
                };
                Slot::Value(if op.kind == OpKind::ComplexRe { re } else { im })
            }
        };
        self.rewriter.bind(op.result(), slot);
        Ok(())
    }

    /// Rewrites a bitcast. If integers represent both types, only the width may change.
    fn bitcast(&mut self, op: &'s Operation) -> Done {
        let value = self.value(op.operands[0])?;
        let to = self.kept_type(op.result());
        let from = self.out().type_of(value).clone();
        let both_bits = matches!(from.element(), Scalar::Int(_)) && matches!(to.element(), Scalar::Int(_));
        let value = if both_bits {
            self.out().resized(value, to.element().bits(), false)
        } else {
            self.out().cast(OpKind::Bitcast, value, to.element())
        };
        self.bind_value(op, value);
        Ok(())
    }

    fn select(&mut self, op: &'s Operation) -> Done {
        let condition = self.value(op.operands[0])?;
        let slot = match (self.rewriter.slot(op.operands[1])?, self.rewriter.slot(op.operands[2])?) {
            (Slot::Value(a), Slot::Value(b)) => {
                let value = self.out().select(condition, a, b);
                self.rounding.follow(op.kind, &[a, b], value);
                Slot::Value(value)
            }
            (Slot::Complex(re, im), Slot::Complex(other_re, other_im)) => {
                let re = self.out().select(condition, re, other_re);
                Slot::Complex(re, self.out().select(condition, im, other_im))
            }
            _ => return Unsupported::because("it selects between values of different kinds"),
        };
        self.rewriter.bind(op.result(), slot);
        Ok(())
    }

    /// Copies an operation on vectors. Fails for elements that are represented by their bits.
    fn plain_vector(&mut self, op: &'s Operation) -> Done {
        match self.float_of(op.operands[0]) {
            Some(float) if kept_as_bits(float) => {
                Unsupported::because("arithmetic below f32 is written as extf, the operation, and truncf")
            }
            _ => self.copied(op),
        }
    }
}
