//! Accesses to tensors, and to memory that replaces tensors after lowering.

use fusebox_core::ir::{Attribute, Float, OpKind, Operation, Region, Scalar, Type, Value as Name};

use super::KernelFault;
use super::buffer::{Buffer, parts};
use super::machine::{Done, Frame, Machine, undefined};
use super::value::Value;
use super::word;

/// A position in memory, with the type of the elements stored there.
struct Place<'f> {
    memory: &'f Buffer,
    /// Offset in bytes.
    at: i64,
    element: Scalar,
}

impl<'k> Machine<'k> {
    pub(super) fn access(&mut self, frame: &mut Frame<'k>, op: &'k Operation) -> Done<Vec<Value>> {
        use OpKind::*;
        let condition = |frame: &Frame<'_>| frame.get(op.operands[0]).word() != 0;
        match op.kind {
            Extract | TransferRead => read(frame, op, &tensor_place(frame, op, 0)?),
            PredicatedExtract if !condition(frame) => Ok(frame.all(&op.operands[1..2])),
            PredicatedExtract => read(frame, op, &tensor_place(frame, op, 2)?),
            Insert | TransferWrite => write(frame, op, 0, &tensor_place(frame, op, 1)?),
            PredicatedInsert if !condition(frame) => Ok(frame.all(&op.operands[2..3])),
            PredicatedInsert => write(frame, op, 1, &tensor_place(frame, op, 2)?),
            ReadTile => read_rows(frame, op, &tensor_place(frame, op, 0)?, row_of_tensor(frame, op.operands[0])),
            WriteTile => write_rows(frame, op, &tensor_place(frame, op, 1)?, row_of_tensor(frame, op.operands[1])),
            Load if is_tile(frame, op.result()) => read_rows(frame, op, &self.place(frame, op, 0)?, stride(op)),
            Load => read(frame, op, &self.place(frame, op, 0)?),
            Store if is_tile(frame, op.operands[0]) => write_rows(frame, op, &self.place(frame, op, 1)?, stride(op)),
            Store | AtomicStore => write(frame, op, 0, &self.place(frame, op, 1)?),
            AtomicCombine => self.combine(frame, op),
            AtomicRmw => self.update(frame, op),
            Empty => Ok(vec![Value::Memory(Buffer::unwritten(bytes_of(frame.function.type_of(op.result()))))]),
            AllocateShared => {
                let bytes = bytes_of(frame.function.type_of(op.result()));
                Ok(vec![Value::Memory(self.block.tile(op, bytes))])
            }
            SharedMemory => Ok(vec![Value::Memory(self.block.tile(op, size(op)))]),
            StackMemory => Ok(vec![Value::Memory(Buffer::unwritten(size(op)))]),
            ConstantMemory => match op.attribute("value") {
                Some(Attribute::Dense(_, bytes)) => Ok(vec![Value::Memory(Buffer::of(bytes.to_vec()))]),
                _ => Err(undefined(op, "it has no value")),
            },
            _ => Err(KernelFault::Unsupported(op.kind.name())),
        }
    }

    /// Returns the memory position that two operands describe. Operand `first` is a pointer; the
    /// next operand is an offset from the pointer, counted in elements.
    fn place<'f>(&self, frame: &'f Frame<'k>, op: &'k Operation, first: usize) -> Done<Place<'f>> {
        let moved = match (op.kind, op.regions.first()) {
            (OpKind::Load, _) => op.result(),
            (_, Some(region)) => region.arguments[0],
            _ => op.operands[0],
        };
        let element = frame.element(moved);
        let Value::Memory(memory) = frame.get(op.operands[first]) else {
            return Err(undefined(op, "it has no pointer"));
        };
        let part = op.integer("complex_part");
        let size = element.byte_size() as i64;
        let position = frame.get(op.operands[first + 1]).index().wrapping_add(op.integer("offset").unwrap_or(0));
        let at = match part {
            Some(part) => position.wrapping_mul(2).wrapping_add(part),
            None => position,
        };
        let at = at.wrapping_mul(size);
        let alignment = op.integer("alignment").unwrap_or(1).max(1);
        // The attribute states the alignment of whole complex numbers. The attribute does not apply
        // to an access to one part of a number.
        if self.block.launch.keeps_promises && part.is_none() && at % alignment != 0 {
            return Err(undefined(op, format!("byte {at} is not aligned to {alignment}, as it promises")));
        }
        Ok(Place { memory, at, element })
    }

    fn combine(&mut self, frame: &Frame<'k>, op: &'k Operation) -> Done<Vec<Value>> {
        let _alone = self.block.updating();
        let place = self.place(frame, op, 1)?;
        let element = match op.attribute("element") {
            Some(Attribute::Type(ty)) if matches!(ty.element(), Scalar::Complex(_)) => place.element,
            Some(Attribute::Type(ty)) => ty.element(),
            _ => place.element,
        };
        let by = match op.attribute("by") {
            Some(Attribute::Str(name)) => OpKind::of_name(name),
            _ => None,
        };
        let by = Operation::new(by.ok_or(KernelFault::Unsupported(op.kind.name()))?, Vec::new(), Vec::new());
        let old = place.read(op, 1)?;
        let both = [old[0], frame.get(op.operands[0]).word()];
        let new = word::apply(&by, element, element, &both).ok_or(KernelFault::Unsupported(op.kind.name()))?;
        place.write(op, &[new.map_err(|reason| undefined(op, reason))?])?;
        Ok(Vec::new())
    }

    /// Replaces an element by the result of the operation's region. The region receives the old
    /// element as its argument.
    fn update(&mut self, frame: &mut Frame<'k>, op: &'k Operation) -> Done<Vec<Value>> {
        let block = self.block;
        let _alone = block.updating();
        let is_tensor = matches!(frame.function.type_of(op.operands[0]), Type::Tensor(..));
        let Place { memory, at, element } =
            if is_tensor { tensor_place(frame, op, 0)? } else { self.place(frame, op, 0)? };
        let place = Place { memory: &memory.clone(), at, element };
        let body: &'k Region = &op.regions[0];
        let old = Value::of_words(place.read(op, 1)?, parts(element) == 1);
        let new = self.region(frame, body, vec![old])?;
        place.write(op, new.first().map_or(&[], Value::words))?;
        Ok(if is_tensor { frame.all(&op.operands[..1]) } else { Vec::new() })
    }
}

impl Place<'_> {
    fn read(&self, op: &Operation, count: usize) -> Done<Vec<u128>> {
        self.memory.read(self.at, self.element, count).map_err(|reason| undefined(op, reason))
    }

    fn write(&self, op: &Operation, words: &[u128]) -> Done<()> {
        self.memory.write(self.at, self.element, words).map_err(|reason| undefined(op, reason))
    }

    /// Returns the position that is `elements` elements after this position.
    fn after(&self, elements: i64) -> Place<'_> {
        Place { at: self.at.wrapping_add(elements.wrapping_mul(self.element.byte_size() as i64)), ..*self }
    }
}

/// Returns the memory position of a tensor's element. Operand number `tensor` is the tensor; the
/// operands after it are the indices.
fn tensor_place<'f>(frame: &'f Frame<'_>, op: &Operation, tensor: usize) -> Done<Place<'f>> {
    let name = op.operands[tensor];
    let (Value::Memory(memory), Some((dims, element))) = (frame.get(name), frame.function.type_of(name).as_tensor())
    else {
        return Err(undefined(op, "it has no tensor"));
    };
    let mut position = 0i64;
    for (&index, &size) in frame.indices(&op.operands[tensor + 1..][..dims.len()]).iter().zip(dims) {
        if !(0..size).contains(&index) {
            return Err(undefined(op, format!("index {index} in a dimension of {size}")));
        }
        position = position.wrapping_mul(size).wrapping_add(index);
    }
    Ok(Place { memory, at: position.wrapping_mul(element.byte_size() as i64), element })
}

fn read(frame: &Frame<'_>, op: &Operation, place: &Place<'_>) -> Done<Vec<Value>> {
    let ty = frame.function.type_of(op.result());
    let words = place.read(op, ty.element_count().unwrap_or(0))?;
    Ok(vec![Value::of_words(words, matches!(ty, Type::Scalar(_)) && parts(place.element) == 1)])
}

/// Writes the operand `value`. Returns the tensor after the write if the operation has a result.
fn write(frame: &Frame<'_>, op: &Operation, value: usize, place: &Place<'_>) -> Done<Vec<Value>> {
    place.write(op, frame.get(op.operands[value]).words())?;
    Ok(op.results.iter().map(|_| Value::Memory(place.memory.clone())).collect())
}

fn read_rows(frame: &Frame<'_>, op: &Operation, place: &Place<'_>, stride: i64) -> Done<Vec<Value>> {
    let &[rows, columns] = frame.function.type_of(op.result()).dims() else {
        return Err(undefined(op, "it gives no tile"));
    };
    let rows = (0..rows).map(|row| place.after(row.wrapping_mul(stride)).read(op, columns as usize));
    Ok(vec![Value::Words(rows.collect::<Done<Vec<_>>>()?.concat())])
}

fn write_rows(frame: &Frame<'_>, op: &Operation, place: &Place<'_>, stride: i64) -> Done<Vec<Value>> {
    let &[_, columns] = frame.function.type_of(op.operands[0]).dims() else {
        return Err(undefined(op, "it writes no tile"));
    };
    let rows = frame.get(op.operands[0]).words().chunks((columns as usize).max(1));
    for (row, words) in (0..).zip(rows) {
        place.after(stride.wrapping_mul(row)).write(op, words)?;
    }
    Ok(op.results.iter().map(|_| Value::Memory(place.memory.clone())).collect())
}

/// Computes the tile product `[m, k] x [k / group, n * group] + [m, n]`, where `group` is the
/// number of factors in a word of 32 bits.
pub(super) fn tile_product(frame: &Frame<'_>, op: &Operation) -> Vec<u128> {
    let [left, right, sum] = [0, 1, 2].map(|operand| op.operands[operand]);
    let dims = |name: Name| frame.function.type_of(name).dims().iter().map(|&dim| dim as usize).collect::<Vec<_>>();
    let (k, n) = (dims(left)[1], dims(sum)[1]);
    let group = (4 / frame.element(left).byte_size().max(1)).max(1);
    let is_unsigned = ["isZextLhs", "isZextRhs"].map(|name| op.attribute(name).is_some());
    let [a, b, before] = [left, right, sum].map(|name| frame.get(name).words());
    let factors = |row: usize, step: usize, column: usize| {
        (a[row * k + step], b[step / group * n * group + column * group + step % group])
    };
    let element = frame.element(sum);
    let sum_of = |(at, &start): (usize, &u128)| {
        let (row, column) = (at / n, at % n);
        let steps = (0..k).map(|step| factors(row, step, column));
        sum_of_products(start, steps, element, is_unsigned)
    };
    before.iter().enumerate().map(sum_of).collect()
}

/// Multiplies corresponding elements of two operands. Each sum belongs to one word of both
/// operands. The products of the elements in this word are added to the sum.
pub(super) fn word_product(frame: &Frame<'_>, op: &Operation) -> Vec<u128> {
    let element = frame.element(op.operands[2]);
    let is_unsigned = ["isZextLhs", "isZextRhs"].map(|name| op.attribute(name).is_some());
    let [a, b, before] = [0, 1, 2].map(|operand| frame.get(op.operands[operand]).words());
    let word = (a.len() / before.len().max(1)).max(1);
    let words = a.chunks(word).zip(b.chunks(word)).zip(before);
    words
        .map(|((a, b), &start)| sum_of_products(start, a.iter().copied().zip(b.iter().copied()), element, is_unsigned))
        .collect()
}

/// Adds products to the sum `start`. For sums of a float type, the factors are `bf16`; for integer
/// sums, the factors are bytes.
fn sum_of_products(
    start: u128,
    factors: impl Iterator<Item = (u128, u128)>,
    sum: Scalar,
    is_unsigned: [bool; 2],
) -> u128 {
    match sum {
        Scalar::Float(float) => {
            let products = factors.map(|(a, b)| word::number(a, Float::BF16) * word::number(b, Float::BF16));
            word::bits(products.fold(word::number(start, float), |sum, product| sum + product), float)
        }
        _ => {
            let wide = |word, is_unsigned| if is_unsigned { word as i128 } else { word::signed(word, 8) };
            let products = factors.map(|(a, b)| wide(a, is_unsigned[0]) * wide(b, is_unsigned[1]));
            word::unsigned(products.fold(word::signed(start, 32), |sum, product| sum + product) as u128, 32)
        }
    }
}

fn is_tile(frame: &Frame<'_>, name: Name) -> bool {
    frame.function.type_of(name).as_tile().is_some()
}

fn row_of_tensor(frame: &Frame<'_>, tensor: Name) -> i64 {
    frame.function.type_of(tensor).dims().last().copied().unwrap_or(0)
}

fn stride(op: &Operation) -> i64 {
    op.integer("stride").unwrap_or(0)
}

fn size(op: &Operation) -> usize {
    op.integer("bytes").and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0)
}

fn bytes_of(ty: &Type) -> usize {
    ty.element_count().unwrap_or(0).saturating_mul(ty.element().byte_size())
}
