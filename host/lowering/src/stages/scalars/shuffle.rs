//! Rewrites the exchange of values between the lanes of a warp. Lanes exchange words of 32 bits,
//! and on the simulator words of 64 bits. The stage extends values that are narrower than a word,
//! and splits values that are wider than a word.

use fusebox_core::ir::{OpKind, Operation, Scalar, Type, Value};

use super::{Scalars, Slot};
use crate::error::Done;
use crate::stages::rewrite::Stage;

impl<'s> Scalars<'s, '_> {
    pub(super) fn shuffle_down(&mut self, op: &'s Operation) -> Done {
        let slot = match self.rewriter.slot(op.operands[0])? {
            Slot::Value(value) => Slot::Value(self.of_lane(op, value)),
            Slot::Complex(re, im) => Slot::Complex(self.of_lane(op, re), self.of_lane(op, im)),
        };
        self.rewriter.bind(op.result(), slot);
        Ok(())
    }

    fn of_lane(&mut self, op: &'s Operation, value: Value) -> Value {
        let ty = self.out().type_of(value).clone();
        let Type::Vector(lanes, element) = &ty else { return self.scalar_of_lane(op, value) };
        let lanes: i64 = lanes.iter().product();
        let moved = (0..lanes).map(|lane| {
            let element = self.lane(value, lane, *element);
            self.scalar_of_lane(op, element)
        });
        let moved: Vec<Value> = moved.collect();
        self.out().op(OpKind::FromElements, &moved, Vec::new(), ty.clone())
    }

    fn scalar_of_lane(&mut self, op: &'s Operation, value: Value) -> Value {
        let element = self.out().type_of(value).element();
        let bits = self.out().cast(OpKind::Bitcast, value, Scalar::Int(element.bits()));
        let (width, word) = (element.bits(), if self.target.reports_accesses { 64 } else { 32 });
        let moved = if width <= word {
            let moved = self.word_of_lane(op, bits, word);
            self.out().resized(moved, width, false)
        } else {
            let wide = self.out().resized(bits, 2 * word, false);
            let high = self.out().formula(&[wide], |wide| wide[0].shrui(i64::from(word)));
            let [low, high] = [wide, high].map(|half| self.word_of_lane(op, half, word));
            let out = self.out();
            let (low, high) = (out.resized(low, 2 * word, false), out.resized(high, 2 * word, false));
            let both = out.formula(&[high, low], |halves| halves[0].shli(i64::from(word)) | halves[1]);
            out.resized(both, width, false)
        };
        self.out().cast(OpKind::Bitcast, moved, element)
    }

    fn word_of_lane(&mut self, op: &'s Operation, bits: Value, word: u32) -> Value {
        let bits = self.out().resized(bits, word, false);
        self.out().op(OpKind::ShuffleDown, &[bits], op.attributes.clone(), Scalar::Int(word).into())
    }
}
