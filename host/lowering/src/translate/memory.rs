//! Tensors become memory.

use fusebox_core::plugin::limits::{MOST_SIMULATED_STACK_BYTES, MOST_STACK_BYTES};

use super::function::{Done, Function};
use super::simt::AccessKind;
use super::slot::{Slot, Tensor, integer_bits};
use super::{Known, Reach};
use crate::Target;
use crate::error::Unsupported;
use crate::indices::Ix;
use crate::llvm::{IntPredicate, Ty, Val};
use crate::mlir::{FloatFormat, Operation, Type, Value};

/// Alignment of memory reserved on the stack in bytes.
const STACK_ALIGNMENT: u32 = 64;

/// An element in memory.
pub(super) struct Place {
    pub(super) pointer: Val,
    pub(super) alignment: u32,
    pub(super) tensor: Tensor,
}

impl Function<'_, '_, '_> {
    pub(super) fn tensor_operation(&mut self, op: Operation) -> Done {
        match op.name() {
            "tensor.extract" => {
                let element = self.read(op, op.operand(0), 1)?;
                self.bind(op.result(0), element);
                Ok(())
            }
            "tensor.insert" => {
                self.write_element(op, op.operand(0), op.operand(1), 2)?;
                let tensor = self.slot(op.operand(1))?;
                self.bind(op.result(0), tensor);
                Ok(())
            }
            "tensor.empty" => self.empty_tensor(op),
            _ => Unsupported::because("only extract, insert and empty are part of the kernel IR"),
        }
    }

    fn empty_tensor(&mut self, op: Operation) -> Done {
        let bytes = tensor_bytes(&op.result(0).ty())?;
        let tensor = self.stack_tensor(bytes)?;
        self.bind(op.result(0), Slot::Tensor(tensor));
        Ok(())
    }

    /// Memory of this thread's own.
    pub(super) fn stack_tensor(&mut self, bytes: u64) -> Done<Tensor> {
        self.kernel.stack_taken = self.kernel.stack_taken.saturating_add(bytes);
        let most = match self.translation.target {
            Target::Simt => MOST_SIMULATED_STACK_BYTES,
            _ => MOST_STACK_BYTES,
        };
        if self.kernel.stack_taken > most {
            return Unsupported::because(format!(
                "a thread's own tensors up to this one take {} bytes; kernels have at most {most}",
                self.kernel.stack_taken
            ));
        }
        let pointer = self.in_reservations(|this| {
            let byte = this.llvm().int(8);
            this.llvm().stack_array(byte, bytes, STACK_ALIGNMENT)
        });
        let (alignment, reach) = (STACK_ALIGNMENT, Reach::Thread);
        Ok(Tensor::new(pointer, Known { alignment, invariant: false, reported: false, reach }))
    }

    pub(super) fn predicated_extract(&mut self, op: Operation) -> Done {
        let condition = self.plain(op.operand(0))?;
        let fallback = self.slot(op.operand(1))?;
        let slots = self.choose(
            condition,
            |this| Ok(vec![this.read(op, op.operand(2), 3)?]),
            |_| Ok(vec![fallback]),
            &[op.result(0).ty()],
        )?;
        for slot in slots {
            self.bind(op.result(0), slot);
        }
        Ok(())
    }

    pub(super) fn predicated_insert(&mut self, op: Operation) -> Done {
        let condition = self.plain(op.operand(0))?;
        let write = |this: &mut Self| {
            this.write_element(op, op.operand(1), op.operand(2), 3)?;
            Ok(Vec::new())
        };
        self.choose(condition, write, |_| Ok(Vec::new()), &[])?;
        let tensor = self.slot(op.operand(2))?;
        self.bind(op.result(0), tensor);
        Ok(())
    }

    /// The element of `tensor` at the operands from `first` on.
    fn read(&mut self, op: Operation, tensor: Value, first: usize) -> Done<Slot> {
        if let Slot::Splat(element) = self.slot(tensor)? {
            return Ok(*element);
        }
        let (_, element) = static_tensor(&tensor.ty())?;
        let place = self.place(op, tensor, first)?;
        self.report(op, &place, &element, 1, AccessKind::Read);
        self.read_place(&place, &element)
    }

    /// The element at a place.
    pub(super) fn read_place(&mut self, place: &Place, element: &Type) -> Done<Slot> {
        match element {
            Type::Complex(part) => {
                let (re, im) = self.parts(place, *part)?;
                Ok(Slot::Complex(
                    self.read_plain(&re, &Type::Float(*part))?,
                    self.read_plain(&im, &Type::Float(*part))?,
                ))
            }
            other => Ok(Slot::Plain(self.read_plain(place, other)?)),
        }
    }

    fn write_element(&mut self, op: Operation, value: Value, tensor: Value, first: usize) -> Done {
        let (_, element) = static_tensor(&tensor.ty())?;
        let place = self.place(op, tensor, first)?;
        if place.tensor.known.invariant {
            return Unsupported::because("it writes a tensor that is read-only");
        }
        self.report(op, &place, &element, 1, AccessKind::Write);
        let value = self.slot(value)?;
        self.write_place(&place, value, &element)
    }

    /// Puts an element at a place.
    pub(super) fn write_place(&mut self, place: &Place, value: Slot, element: &Type) -> Done {
        match (value, element) {
            (Slot::Complex(re, im), Type::Complex(part)) => {
                let (at_re, at_im) = self.parts(place, *part)?;
                self.write_plain(&at_re, re, &Type::Float(*part))?;
                self.write_plain(&at_im, im, &Type::Float(*part))?;
                Ok(())
            }
            (Slot::Plain(value), element) => self.write_plain(place, value, element).map(|_| ()),
            _ => Unsupported::because("what it writes is no element"),
        }
    }

    /// Where an element is. Indices are the operands from `first` on.
    pub(super) fn place(&mut self, op: Operation, tensor: Value, first: usize) -> Done<Place> {
        let (shape, element) = static_tensor(&tensor.ty())?;
        let Some(bytes) = element.element_bytes() else { return Unsupported::because("its elements are not handled") };
        let coordinates =
            op.operands().skip(first).take(shape.len()).map(|index| self.index(index)).collect::<Done<Vec<Ix>>>()?;
        let mut position = self.indices.constant(0);
        for (coordinate, &size) in coordinates.iter().zip(&shape) {
            position = self.indices.scaled(position, size);
            position = self.indices.add(position, *coordinate);
        }
        let tensor = self.tensor(tensor)?;
        self.report_indices(op, &tensor, &coordinates, &shape)?;
        let offset_divisor = self.indices.divisibility(position).saturating_mul(u64::from(bytes));
        let alignment = common_power_of_two(offset_divisor, tensor.known.alignment);
        let pointer = self.element_address(tensor.pointer, &element, position)?;
        Ok(Place { pointer, alignment, tensor })
    }

    /// Address arithmetic with the constant last, so that neighbours share the rest.
    fn element_address(&mut self, base: Val, element: &Type, position: Ix) -> Done<Val> {
        let ty = self.memory_type(element)?;
        let (variable, constant) = self.indices.split_constant(position);
        let mut pointer = base;
        if self.indices.as_constant(variable) != Some(0) {
            let index = self.index_value(variable, 64);
            pointer = self.llvm().element_pointer(ty, pointer, index);
        }
        if constant != 0 {
            let index = self.llvm().const_int(self.llvm().int(64), constant);
            pointer = self.llvm().element_pointer(ty, pointer, index);
        }
        Ok(pointer)
    }

    /// The type of an element as it lies in memory.
    pub(super) fn memory_type(&self, element: &Type) -> Done<Ty> {
        let llvm = self.llvm();
        Ok(match element {
            Type::Integer(bits) => llvm.int(8 * bits.div_ceil(8)),
            Type::Complex(part) => llvm.array(self.type_of(&Type::Float(*part))?, 2),
            Type::Vector { lanes, element } => llvm.vector(self.memory_type(element)?, *lanes),
            other => self.type_of(other)?,
        })
    }

    /// The integer, the float, or the vector of them at a place.
    pub(super) fn read_plain(&mut self, place: &Place, element: &Type) -> Done<Val> {
        let ty = self.memory_type(element)?;
        let value = self.llvm().load(ty, place.pointer, place.alignment);
        if place.tensor.known.invariant && self.translation.traits.marks_invariant_loads {
            self.llvm().set_metadata(value, "invariant.load", &[]);
        }
        Ok(match integer_bits(element) {
            // Anything but zero is true.
            Some(1) => {
                let zero = self.llvm().const_int(ty, 0);
                self.llvm().compare_int(IntPredicate::LLVMIntNE, value, zero)
            }
            Some(bits) => self.resized(value, bits),
            None => value,
        })
    }

    /// Writes an integer, a float or a vector of them; gives the store.
    pub(super) fn write_plain(&mut self, place: &Place, value: Val, element: &Type) -> Done<Val> {
        let ty = self.memory_type(element)?;
        let value = match integer_bits(element) {
            Some(_) => self.resized_as(value, self.llvm().int_bits(ty), false),
            None => value,
        };
        Ok(self.llvm().store(value, place.pointer, place.alignment))
    }

    /// Where real and imaginary part are.
    pub(super) fn parts(&mut self, place: &Place, part: FloatFormat) -> Done<(Place, Place)> {
        let ty = self.type_of(&Type::Float(part))?;
        let one = self.llvm().const_int(self.llvm().int(64), 1);
        let second = self.llvm().element_pointer(ty, place.pointer, one);
        let of = |pointer, alignment| Place { pointer, alignment, tensor: place.tensor };
        Ok((of(place.pointer, place.alignment), of(second, place.alignment.min(part.bytes()))))
    }
}

/// The largest power of two that divides both; `divisor` 0 stands for a multiple of everything.
fn common_power_of_two(divisor: u64, alignment: u32) -> u32 {
    let of_divisor = if divisor == 0 { 63 } else { divisor.trailing_zeros() };
    1 << of_divisor.min(alignment.trailing_zeros()).min(30)
}

/// Size of a tensor in memory.
pub(super) fn tensor_bytes(ty: &Type) -> Done<u64> {
    let (shape, element) = static_tensor(ty)?;
    let Some(bytes) = element.element_bytes() else { return Unsupported::because("its elements are not handled") };
    let bytes = shape.iter().try_fold(i64::from(bytes), |bytes, &size| bytes.checked_mul(size));
    match bytes.and_then(|bytes| u64::try_from(bytes).ok()) {
        Some(bytes) => Ok(bytes),
        None => Unsupported::because("its tensor is larger than any memory"),
    }
}

pub(super) fn static_tensor(ty: &Type) -> Done<(Vec<i64>, Type)> {
    match ty {
        Type::Tensor { shape, element } if shape.iter().all(|&size| size >= 0) => {
            Ok((shape.clone(), (**element).clone()))
        }
        _ => Unsupported::because("its tensor is not statically shaped"),
    }
}
