//! Rewrites loads and stores: of single elements, of vectors of contiguous elements, and of tile
//! registers.

use fusebox_core::builder::IntPredicate;
use fusebox_core::ir::{Attribute, OpKind, Operation, Scalar, Type, Value};

use super::{Memory, Slot, Tensor, static_tensor};
use crate::error::{Done, Required, Unsupported};
use crate::stages::rewrite::Stage;
use crate::stages::writer::Attributes;

/// Kind of an access to an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AccessKind {
    Read = 0,
    Write = 1,
    /// An atomic update, which reads and writes the element.
    Atomic = 2,
}

/// Position of elements in memory.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) tensor: Tensor,
    /// Index of the first element, in elements of the tensor.
    pub(super) position: Value,
    pub(super) element: Scalar,
    /// The part of a complex number, if only one part is accessed: 0 is the real part, 1 is the
    /// imaginary part.
    part: Option<i64>,
}

impl<'s> Memory<'s, '_> {
    pub(super) fn extract(&mut self, op: &'s Operation) -> Done {
        let slots = if op.kind == OpKind::Extract {
            vec![self.read(op, 0)?]
        } else {
            let condition = self.value(op.operands[0])?;
            let fallback = self.rewriter.slot(op.operands[1])?;
            let types = self.rewriter.source_types(&op.results);
            self.choose(condition, |this| Ok(vec![this.read(op, 2)?]), |_| Ok(vec![fallback]), &types)?
        };
        self.rewriter.bind_all(&op.results, slots);
        Ok(())
    }

    /// Reads an element of the tensor that is operand number `tensor`. The operands after the
    /// tensor are the element's indices.
    fn read(&mut self, op: &'s Operation, tensor: usize) -> Done<Slot> {
        if let Slot::Splat(bytes) = self.rewriter.slot(op.operands[tensor])? {
            let (_, element) = static_tensor(self.rewriter.source.type_of(op.operands[tensor]))?;
            return self.element_constant(&bytes, element).map(Slot::Value);
        }
        let place = self.place(op, tensor, 1)?;
        self.report(op, &place, 1, AccessKind::Read);
        self.read_place(&place, &Type::Scalar(place.element)).map(Slot::Value)
    }

    fn element_constant(&mut self, bytes: &[u8], element: Scalar) -> Done<Value> {
        let bits = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
        Ok(match element {
            Scalar::Float(float) => self.out().constant(Attribute::Float(bits(bytes), float), element.into()),
            Scalar::Complex(part) => {
                let (re, im) = bytes.split_at(bytes.len() / 2);
                let [re, im] = [re, im].map(|bytes| {
                    let ty = Type::Scalar(Scalar::Float(part));
                    self.out().constant(Attribute::Float(bits(bytes), part), ty)
                });
                self.out().op(OpKind::ComplexCreate, &[re, im], Vec::new(), element.into())
            }
            Scalar::Int(_) | Scalar::Index => self.out().int(bits(bytes) as i64, &element.into()),
        })
    }

    pub(super) fn insert(&mut self, op: &'s Operation) -> Done {
        if op.kind == OpKind::Insert {
            self.write_element(op, 0)?;
        } else {
            let condition = self.value(op.operands[0])?;
            let write = |this: &mut Self| this.write_element(op, 1).map(|()| Vec::new());
            self.choose(condition, write, |_| Ok(Vec::new()), &[])?;
        }
        let tensor = self.rewriter.slot(op.operands[if op.kind == OpKind::Insert { 1 } else { 2 }])?;
        self.rewriter.bind(op.result(), tensor);
        Ok(())
    }

    /// Writes an element. Operand number `value` is the element's new value, and the operand after
    /// it is the tensor.
    fn write_element(&mut self, op: &'s Operation, value: usize) -> Done {
        let place = self.written_place(op, value + 1, 1)?;
        self.report(op, &place, 1, AccessKind::Write);
        let value = self.value(op.operands[value])?;
        self.write_place(&place, value);
        Ok(())
    }

    /// Reads elements that are adjacent in the last dimension.
    pub(super) fn read_row(&mut self, op: &'s Operation) -> Done {
        let ty = self.rewriter.source.type_of(op.result()).clone();
        let lanes = row_lanes(op, &ty, self.rewriter.source.type_of(op.operands[0]))?;
        let place = self.place(op, 0, lanes)?;
        self.report(op, &place, lanes, AccessKind::Read);
        let value = self.read_place(&place, &ty)?;
        self.rewriter.bind(op.result(), Slot::Value(value));
        Ok(())
    }

    pub(super) fn write_row(&mut self, op: &'s Operation) -> Done {
        let ty = self.rewriter.source.type_of(op.operands[0]).clone();
        let lanes = row_lanes(op, &ty, self.rewriter.source.type_of(op.operands[1]))?;
        let place = self.written_place(op, 1, lanes)?;
        self.report(op, &place, lanes, AccessKind::Write);
        let vector = self.value(op.operands[0])?;
        let vector = self.as_stored(vector);
        let mut attributes = attributes_of(&place);
        // The hint is only for the cpu. On a GPU, threads exchange data through the caches, and in
        // the simulator the hint has no benefit.
        if self.kernel.target.is_cpu() && op.attribute("fusebox.past_caches").is_some() {
            attributes.push(("past_caches".into(), Attribute::Unit));
        }
        self.out().act(OpKind::Store, &[vector, place.tensor.pointer, place.position], attributes);
        let tensor = self.rewriter.slot(op.operands[1])?;
        self.rewriter.bind(op.result(), tensor);
        Ok(())
    }

    /// Reads the rows of a tile register from the tensor's last two dimensions.
    pub(super) fn read_tile(&mut self, op: &'s Operation) -> Done {
        let ty = self.rewriter.source.type_of(op.result()).clone();
        let place = self.place(op, 0, 1)?;
        let attributes = self.rows_apart(&place, self.rewriter.source.type_of(op.operands[0]))?;
        let tile = self.out().op(OpKind::Load, &[place.tensor.pointer, place.position], attributes, ty);
        self.rewriter.bind(op.result(), Slot::Value(tile));
        Ok(())
    }

    pub(super) fn write_tile(&mut self, op: &'s Operation) -> Done {
        let place = self.written_place(op, 1, 1)?;
        let attributes = self.rows_apart(&place, self.rewriter.source.type_of(op.operands[1]))?;
        let tile = self.value(op.operands[0])?;
        self.out().act(OpKind::Store, &[tile, place.tensor.pointer, place.position], attributes);
        let tensor = self.rewriter.slot(op.operands[1])?;
        self.rewriter.bind(op.result(), tensor);
        Ok(())
    }

    /// Returns the attributes of an access to a tile. The stride between the rows of the tile is
    /// the length of the tensor's last dimension.
    fn rows_apart(&self, place: &Place, tensor: &Type) -> Done<Attributes> {
        if place.tensor.known.reported {
            return Unsupported::because("the simulator has no tile registers");
        }
        let (dims, _) = static_tensor(tensor)?;
        let row = dims.last().copied().required("its tensor has no dimensions")?;
        Ok([attributes_of(place), vec![("stride".into(), Attribute::i64(row))]].concat())
    }

    /// Returns a position like [`Self::place`]. Fails if the tensor is read-only.
    pub(super) fn written_place(&mut self, op: &'s Operation, tensor: usize, lanes: u32) -> Done<Place> {
        let place = self.place(op, tensor, lanes)?;
        if place.tensor.known.invariant {
            Unsupported::because("it writes a tensor that is read-only")
        } else {
            Ok(place)
        }
    }

    /// Returns the position of `lanes` elements of the tensor that is operand number `tensor`. The
    /// operands after the tensor are the first element's indices.
    pub(super) fn place(&mut self, op: &'s Operation, tensor: usize, lanes: u32) -> Done<Place> {
        let (dims, element) = static_tensor(self.rewriter.source.type_of(op.operands[tensor]))?;
        let indices = &op.operands[tensor + 1..tensor + 1 + dims.len()];
        let indices = indices.iter().map(|&index| self.value(index)).collect::<Done<Vec<Value>>>()?;
        let tensor = self.tensor(op.operands[tensor])?;
        if tensor.known.reported {
            self.report_indices(op, tensor, &indices, dims, lanes);
        }
        let mut position: Option<Value> = None;
        for (&index, &size) in indices.iter().zip(dims) {
            position = Some(match position {
                None => index,
                Some(position) => {
                    let size = self.out().index(size);
                    let scaled = self.out().binary(OpKind::MulI, position, size);
                    self.out().binary(OpKind::AddI, scaled, index)
                }
            });
        }
        let position = position.unwrap_or_else(|| self.out().index(0));
        Ok(Place { tensor, position, element, part: None })
    }

    /// Writes the loads of an integer, a float, a complex number, or a vector of integers or
    /// floats.
    pub(super) fn read_place(&mut self, place: &Place, ty: &Type) -> Done<Value> {
        if let Scalar::Complex(_) = place.element {
            let [re, im] = self.parts(place).map(|part| self.load(&part, &Type::Scalar(part.element)));
            return Ok(self.out().op(OpKind::ComplexCreate, &[re, im], Vec::new(), ty.clone()));
        }
        let loaded = self.load(place, &ty.with_element(stored(place.element)));
        Ok(match place.element {
            // Every value except zero is true.
            Scalar::Int(1) => {
                let zero_type = self.out().type_of(loaded).clone();
                let zero = self.out().int(0, &zero_type);
                self.out().compare(IntPredicate::Ne, loaded, zero)
            }
            Scalar::Int(bits) => self.out().resized(loaded, bits, true),
            _ => loaded,
        })
    }

    pub(super) fn write_place(&mut self, place: &Place, value: Value) {
        if let Scalar::Complex(part) = place.element {
            for (kind, at) in [OpKind::ComplexRe, OpKind::ComplexIm].into_iter().zip(self.parts(place)) {
                let value = self.out().op(kind, &[value], Vec::new(), Scalar::Float(part).into());
                self.out().act(OpKind::Store, &[value, at.tensor.pointer, at.position], attributes_of(&at));
            }
            return;
        }
        let value = self.as_stored(value);
        self.out().act(OpKind::Store, &[value, place.tensor.pointer, place.position], attributes_of(place));
    }

    fn load(&mut self, place: &Place, ty: &Type) -> Value {
        let mut attributes = attributes_of(place);
        if place.tensor.known.invariant && self.kernel.target.marks_invariant_loads {
            attributes.push(("invariant".into(), Attribute::Unit));
        }
        self.out().op(OpKind::Load, &[place.tensor.pointer, place.position], attributes, ty.clone())
    }

    /// Resizes an integer to its width in memory. Returns values that are not integers unchanged.
    fn as_stored(&mut self, value: Value) -> Value {
        match stored(self.out().type_of(value).element()) {
            Scalar::Int(bits) => self.out().resized(value, bits, false),
            _ => value,
        }
    }

    /// Returns the position of the real part and the position of the imaginary part.
    pub(super) fn parts(&self, place: &Place) -> [Place; 2] {
        let element = match place.element {
            Scalar::Complex(part) => Scalar::Float(part),
            other => other,
        };
        [0, 1].map(|part| Place { element, part: Some(part), ..*place })
    }

    /// Writes an operation that informs the simulator of an access. The access covers `elements`
    /// contiguous elements.
    pub(super) fn report(&mut self, op: &'s Operation, place: &Place, elements: u32, kind: AccessKind) {
        if !place.tensor.known.reported {
            return;
        }
        let bytes = place.element.byte_size() as i64 * i64::from(elements);
        let mut attributes = attributes_of(place);
        attributes.extend([
            ("element_bytes".into(), Attribute::i64(place.element.byte_size() as i64)),
            ("bytes".into(), Attribute::i64(bytes)),
            ("kind".into(), Attribute::i64(kind as i64)),
            ("site".into(), self.site(op)),
        ]);
        self.out().act(OpKind::ReportAccess, &[place.tensor.pointer, place.position], attributes);
    }

    /// Writes operations that inform the simulator of each index that is outside of the tensor. A
    /// check of the address would not suffice: an index that is too large in one dimension may
    /// address an element of the next row. The stage `indices` drops the reports for indices that
    /// are known to be inside the tensor.
    fn report_indices(&mut self, op: &'s Operation, tensor: Tensor, indices: &[Value], dims: &[i64], lanes: u32) {
        let mut wanted: Vec<(usize, Value)> = indices.iter().copied().enumerate().collect();
        // For contiguous elements, also check the last one.
        if let Some(last) = indices.len().checked_sub(1).filter(|_| lanes > 1) {
            let beyond = self.out().index(i64::from(lanes) - 1);
            wanted.push((last, self.out().binary(OpKind::AddI, indices[last], beyond)));
        }
        for (dimension, index) in wanted {
            let attributes = vec![
                ("dimension".into(), Attribute::i64(dimension as i64)),
                ("size".into(), Attribute::i64(dims[dimension])),
                ("site".into(), self.site(op)),
            ];
            self.out().act(OpKind::ReportIndex, &[tensor.pointer, index], attributes);
        }
    }

    /// Returns the location of an operation, for the simulator.
    pub(super) fn site(&self, op: &Operation) -> Attribute {
        Attribute::Str(format!("{}: {} at {}", self.kernel.facts.name, op.kind, op.place))
    }
}

/// Returns the attributes of an access: the alignment of the tensor's memory, and the part of a
/// complex number.
pub(super) fn attributes_of(place: &Place) -> Attributes {
    let mut attributes: Attributes =
        vec![("alignment".into(), Attribute::i64(i64::from(place.tensor.known.alignment)))];
    attributes.extend(place.part.map(|part| ("complex_part".into(), Attribute::i64(part))));
    attributes
}

/// Returns the type of an element in memory. The type in memory has a whole number of bytes.
pub(super) fn stored(element: Scalar) -> Scalar {
    match element {
        Scalar::Int(bits) => Scalar::Int(8 * bits.div_ceil(8)),
        other => other,
    }
}

/// Returns the number of lanes of a vector transfer. Fails if the transfer accesses elements that
/// are not contiguous.
fn row_lanes(op: &Operation, vector: &Type, tensor: &Type) -> Done<u32> {
    let (dims, _) = static_tensor(tensor)?;
    let Type::Vector(lanes, _) = vector else { return Unsupported::because("it moves no vector of one dimension") };
    let along = op.attribute("permutation_map").map(|map| map.to_string()).unwrap_or_default();
    // Besides the indices, the operands are the tensor, and the vector or the padding value.
    if dims.is_empty() || op.operands.len() != dims.len() + 2 || !along.contains(&format!("-> (d{})>", dims.len() - 1))
    {
        return Unsupported::because("only elements along the last dimension are moved, and without a mask");
    }
    match op.attribute("in_bounds") {
        Some(Attribute::Array(bounds)) if bounds.as_slice() == [Attribute::Bool(true)] => Ok(lanes[0] as u32),
        _ => Unsupported::because("elements that are moved must be in bounds"),
    }
}
