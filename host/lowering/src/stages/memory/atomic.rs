//! Rewrites `xla_gpu.atomic_rmw`, the update of an element that several threads may update.
//!
//! If the region matches an atomic instruction of the target, the update becomes that instruction.
//! Any other update becomes a compare-and-exchange loop, whose region computes the new bits of the
//! element from the old bits. If no other thread can access the element, the update becomes a read,
//! the operations of the region, and a write.

use fusebox_core::builder::IntPredicate;
use fusebox_core::ir::{Attribute, OpKind, Operation, Region, Scalar, Type, Value};

use super::access::{AccessKind, Place, attributes_of, stored};
use super::recognise::{Body, Update};
use super::{Memory, Reach, Slot};
use crate::error::{Done, Unsupported};
use crate::stages::rewrite::Stage;
use crate::stages::writer::Attributes;

impl<'s> Memory<'s, '_> {
    pub(super) fn atomic_update(&mut self, op: &'s Operation) -> Done {
        let [body] = op.regions.as_slice() else { return Unsupported::because("it has no body") };
        let place = self
            .written_place(op, 0, 1)
            .map_err(|Unsupported(reason)| Unsupported(reason.replace("it writes", "it updates")))?;
        self.report(op, &place, 1, AccessKind::Atomic);
        // The simulator runs one thread at a time, so it needs no atomic instructions.
        if place.tensor.known.reach == Reach::Thread || self.kernel.target.reports_accesses {
            let old = self.read_place(&place, &place.element.into())?;
            let new = self.updated(body, old)?;
            self.write_place(&place, new);
        } else {
            self.shared_update(&place, body)?;
        }
        let tensor = self.rewriter.slot(op.operands[0])?;
        self.rewriter.bind(op.result(), tensor);
        Ok(())
    }

    fn shared_update(&mut self, place: &Place, region: &'s Region) -> Done {
        let body = Body::of(region, self.rewriter.source);
        let update = body.update(place.element, &self.kernel.target.atomics);
        if update != Update::Other {
            let free = region.operations.iter().filter(|op| op.kind != OpKind::LoopYield);
            for op in free.filter(|op| !op.results.iter().any(|result| body.depends(*result))) {
                self.single(op)?;
            }
        }
        match update {
            Update::Overwrite(value) => self.overwrite(place, value),
            Update::Combine(kind, value) => {
                let value = self.value(value)?;
                self.combine(place, kind, value);
                Ok(())
            }
            Update::Parts(kind, values) => {
                for (place, value) in self.parts(place).into_iter().zip(values) {
                    let value = self.value(value)?;
                    self.combine(&place, kind, value);
                }
                Ok(())
            }
            Update::Other => self.exchange_loop(place, region),
        }
    }

    fn atomic_attributes(&self, place: &Place) -> Attributes {
        let mut attributes = attributes_of(place);
        let threads = self.kernel.target.threads_around(place.tensor.known.reach == Reach::Kernel);
        attributes.push(("threads".into(), Attribute::str(threads)));
        attributes
    }

    fn combine(&mut self, place: &Place, kind: OpKind, value: Value) {
        let mut attributes = self.atomic_attributes(place);
        attributes.push(("by".into(), Attribute::str(kind.name())));
        attributes.push(("element".into(), Attribute::Type(place.element.into())));
        self.out().act(OpKind::AtomicCombine, &[value, place.tensor.pointer, place.position], attributes);
    }

    /// Overwrites an element. If several threads overwrite the element at once, the element gets
    /// the value of one of these threads.
    fn overwrite(&mut self, place: &Place, value: Value) -> Done {
        let value = self.value(value)?;
        let bits = self.encoded(value, place.element);
        let operands = [bits, place.tensor.pointer, place.position];
        if place.element.byte_size() <= self.kernel.target.atomics.bytes as usize {
            let attributes = self.atomic_attributes(place);
            self.out().act(OpKind::AtomicStore, &operands, attributes);
        } else {
            // GPUs write 16 aligned bytes in one transaction.
            self.out().act(OpKind::Store, &operands, attributes_of(place));
        }
        Ok(())
    }

    fn exchange_loop(&mut self, place: &Place, body: &'s Region) -> Done {
        let bytes = place.element.byte_size();
        if bytes > self.kernel.target.atomics.bytes as usize {
            return Unsupported::because(format!(
                "an element has {bytes} bytes; only sums of its parts are atomic on this target"
            ));
        }
        let bits = Type::Scalar(Scalar::Int(8 * bytes as u32));
        let attributes = self.atomic_attributes(place);
        let expected = self.out().open(&[bits])[0];
        let old = self.decoded(expected, place.element);
        let new = self.updated(body, old)?;
        let new = self.encoded(new, place.element);
        let region = self.out().close_with(OpKind::LoopYield, vec![new]);
        let operands = vec![place.tensor.pointer, place.position];
        self.out().push(OpKind::AtomicRmw, operands, attributes, &[], vec![region]);
        Ok(())
    }

    /// Writes the region's operations and returns the new element that they compute from the old
    /// element.
    fn updated(&mut self, body: &'s Region, old: Value) -> Done<Value> {
        let new = self.region(body, vec![Slot::Value(old)])?;
        match new.first() {
            Some(Slot::Value(new)) => Ok(*new),
            _ => Unsupported::because("its body yields nothing"),
        }
    }

    /// Converts an element to its bits in memory.
    fn encoded(&mut self, value: Value, element: Scalar) -> Value {
        match (element, stored(element)) {
            (Scalar::Complex(part), _) => {
                let half = part.bits();
                self.out().formula(&[value], |value| {
                    let wide = Scalar::Int(2 * half);
                    let re = value[0].re().to_bits().extui(wide);
                    let im = value[0].im().to_bits().extui(wide);
                    im.shli(i64::from(half)) | re
                })
            }
            (_, Scalar::Int(bits)) => self.out().resized(value, bits, false),
            (Scalar::Float(float), _) if float.bits() < 8 => {
                let bits = self.out().cast(OpKind::Bitcast, value, Scalar::Int(float.bits()));
                self.out().resized(bits, 8, false)
            }
            (float, _) => self.out().cast(OpKind::Bitcast, value, Scalar::Int(float.bits())),
        }
    }

    /// Converts the bits of an element in memory to the element.
    fn decoded(&mut self, bits: Value, element: Scalar) -> Value {
        match element {
            Scalar::Int(1) => {
                let ty = self.out().type_of(bits).clone();
                let zero = self.out().int(0, &ty);
                self.out().compare(IntPredicate::Ne, bits, zero)
            }
            Scalar::Int(narrow) => self.out().resized(bits, narrow, true),
            Scalar::Complex(part) => {
                let half = part.bits();
                self.out().formula(&[bits], |bits| {
                    let high = bits[0].shrui(i64::from(half));
                    let [re, im] = [bits[0], high].map(|bits| bits.trunci(Scalar::Int(half)).to_float());
                    re.complex(im)
                })
            }
            float => {
                let bits = self.out().resized(bits, float.bits(), false);
                self.out().cast(OpKind::Bitcast, bits, float)
            }
        }
    }
}
