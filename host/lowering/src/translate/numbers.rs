//! Constants, bit casts, and complex numbers.

use super::function::{Done, Function};
use super::narrow;
use super::slot::{Slot, Tensor, float_format, kept_as_bits};
use super::{Known, Reach};
use crate::error::Unsupported;
use crate::llvm::{Op, Val};
use crate::mlir::{Attribute, FloatFormat, Operation, Type};

/// Alignment of constant tensors in bytes.
const CONSTANT_ALIGNMENT: u32 = 64;

impl Function<'_, '_, '_> {
    pub(super) fn constant(&mut self, op: Operation) -> Done {
        let Some(attribute) = op.attribute("value") else { return Unsupported::because("it has no value") };
        let slot = self.constant_slot(attribute, &op.result(0).ty())?;
        self.bind(op.result(0), slot);
        Ok(())
    }

    fn constant_slot(&mut self, attribute: Attribute, ty: &Type) -> Done<Slot> {
        let unreadable = || Unsupported(format!("the constant {} is not readable", attribute.text()));
        Ok(match ty {
            Type::Index => Slot::Index(self.indices.constant(attribute.integer().ok_or_else(unreadable)?)),
            Type::Integer(_) => {
                let value = attribute.integer().ok_or_else(unreadable)?;
                Slot::Plain(self.llvm().const_int(self.type_of(ty)?, value))
            }
            Type::Float(format) => {
                Slot::Plain(self.float_constant(*format, attribute.float().ok_or_else(unreadable)?)?)
            }
            Type::Vector { lanes, element } => {
                let (bytes, splat) = attribute.dense_bytes().ok_or_else(unreadable)?;
                let size = if **element == Type::Index { 8 } else { element.element_bytes().ok_or_else(unreadable)? };
                self.vector_constant(&bytes, size as usize, splat, *lanes, element)?
            }
            Type::Tensor { element, .. } => {
                let (bytes, splat) = attribute.dense_bytes().ok_or_else(unreadable)?;
                if splat {
                    return Ok(Slot::Splat(Box::new(self.element_constant(&bytes, element)?)));
                }
                let space = self.translation.traits.global_space;
                let pointer = self.llvm().add_constant_bytes(&bytes, CONSTANT_ALIGNMENT, space);
                let (alignment, reach) = (CONSTANT_ALIGNMENT, Reach::Kernel);
                Slot::Tensor(Tensor::new(pointer, Known { alignment, invariant: true, reported: false, reach }))
            }
            other => return Unsupported::because(format!("constants of type {other:?} are not handled")),
        })
    }

    fn vector_constant(&mut self, bytes: &[u8], size: usize, splat: bool, lanes: u32, element: &Type) -> Done<Slot> {
        let ty = self.llvm().vector(self.type_of(element)?, lanes);
        let mut vector = self.llvm().undefined(ty);
        for lane in 0..lanes as usize {
            let start = if splat { 0 } else { lane * size };
            let value = match self.element_constant(&bytes[start..start + size], element)? {
                Slot::Plain(value) => value,
                Slot::Index(ix) => self.index_value(ix, 64),
                _ => return Unsupported::because("vectors of complex numbers are not handled"),
            };
            let llvm = self.llvm();
            vector = llvm.with_lane(vector, value, llvm.const_int(llvm.int(32), lane as i64));
        }
        Ok(Slot::Plain(vector))
    }

    /// An element from its bytes in memory.
    fn element_constant(&mut self, bytes: &[u8], element: &Type) -> Done<Slot> {
        let bits = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
        let real = |this: &Self, bytes: &[u8], format: FloatFormat| -> Done<Val> {
            let llvm = this.llvm();
            Ok(match format {
                FloatFormat::F32 => {
                    llvm.cast(Op::LLVMBitCast, llvm.const_int(llvm.int(32), bits(bytes) as i64), llvm.float())
                }
                FloatFormat::F64 => {
                    llvm.cast(Op::LLVMBitCast, llvm.const_int(llvm.int(64), bits(bytes) as i64), llvm.double())
                }
                _ => llvm.const_int(this.type_of(&Type::Float(format))?, bits(bytes) as i64),
            })
        };
        Ok(match element {
            Type::Index => Slot::Index(self.indices.constant(bits(bytes) as i64)),
            Type::Integer(_) => Slot::Plain(self.llvm().const_int(self.type_of(element)?, bits(bytes) as i64)),
            Type::Float(format) => Slot::Plain(real(self, bytes, *format)?),
            Type::Complex(part) => {
                let (re, im) = bytes.split_at(bytes.len() / 2);
                Slot::Complex(real(self, re, *part)?, real(self, im, *part)?)
            }
            other => return Unsupported::because(format!("constants of {other:?} are not handled")),
        })
    }

    pub(super) fn float_constant(&self, format: FloatFormat, value: f64) -> Done<Val> {
        let ty = self.type_of(&Type::Float(format))?;
        Ok(if kept_as_bits(format) {
            self.llvm().const_int(ty, narrow::encode(format, value))
        } else {
            self.llvm().const_float(ty, value)
        })
    }

    /// `arith.bitcast`. Floats that are kept as bits already are what is asked for, up to their width.
    pub(super) fn bitcast(&mut self, op: Operation) -> Done {
        let value = self.plain(op.operand(0))?;
        let (from, to) = (op.operand(0).ty(), op.result(0).ty());
        let target = self.type_of(&to)?;
        let bits = |ty: &Type| float_format(ty).is_some_and(kept_as_bits) || super::slot::integer_bits(ty).is_some();
        let result = if bits(&from) && bits(&to) {
            let width = self.llvm().int_bits(target);
            self.resized_as(value, width, false)
        } else {
            self.llvm().cast(Op::LLVMBitCast, value, target)
        };
        self.bind_plain(op, result);
        Ok(())
    }

    pub(super) fn complex(&mut self, op: Operation) -> Done {
        match op.name() {
            "complex.create" => {
                let (re, im) = (self.plain(op.operand(0))?, self.plain(op.operand(1))?);
                self.bind(op.result(0), Slot::Complex(re, im));
            }
            "complex.constant" => {
                let parts = op.attribute("value").and_then(|it| it.array()).unwrap_or_default();
                let Type::Complex(format) = op.result(0).ty() else {
                    return Unsupported::because("its type is not handled");
                };
                let [Some(re), Some(im)] = [0, 1].map(|part| parts.get(part).and_then(|it| it.float())) else {
                    return Unsupported::because("its value is not readable");
                };
                let (re, im) = (self.float_constant(format, re)?, self.float_constant(format, im)?);
                self.bind(op.result(0), Slot::Complex(re, im));
            }
            "complex.re" | "complex.im" => {
                let Slot::Complex(re, im) = self.slot(op.operand(0))? else {
                    return Unsupported::because("its operand is no complex number");
                };
                self.bind_plain(op, if op.name() == "complex.re" { re } else { im });
            }
            _ => return Unsupported::because("only create, constant, re and im are part of the kernel IR"),
        }
        Ok(())
    }
}
