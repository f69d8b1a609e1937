//! Checks elementwise operations on special values, for which the exact definition of an operation
//! matters. Special values are zeros of both signs, infinities, NaN, the smallest and the largest
//! number of each type, zero as a divisor, and shifts beyond the width. Four engines compute every
//! operation that the verifier accepts for a type: kernels for the cpu, simulated kernels, the
//! reference interpreter and constant folding. The engines must agree, except where `exceptions.rs`
//! gives a reason.

mod cases;
mod closeness;
mod engines;
mod exceptions;
mod folding;
mod powers;
mod products;
mod refusals;
mod subnormals;
mod values;

use std::ops::Range;

use fusebox_core::hlo::{ArrayLiteral, ElementType};

use cases::{OperandSet, OperationsModule, TestedOperation};
use closeness::{is_close, show};
use engines::Engine;
use exceptions::EXCEPTIONS;

/// The differences that were found for a type.
struct DifferenceReport {
    case: OperationsModule,
    faults: Vec<String>,
    excused: Vec<bool>,
}

impl DifferenceReport {
    /// Compares a result with several expected results. Each element must equal the element of one
    /// of them. `places` is the range of the operands that the elements belong to.
    fn compare(&mut self, who: &str, number: usize, places: Range<usize>, found: &[u8], expected: &[&[u8]]) {
        let step = &self.case.steps[number];
        let ty = step.result;
        let size = ty.byte_size();
        let values = |i: usize| expected.iter().map(move |values| &values[i * size..(i + 1) * size]);
        let count = expected[0].len() / size;
        let pairs = found.chunks(size).take(count).enumerate().map(|(i, found)| (found, values(i)));
        let parts = step.parts.unwrap_or(1) as usize;
        // The smallest number of this type is subnormal in f32, the type of the computation.
        // Kernels for the cpu flush this number to zero, but the type has no zero.
        let is_smallest =
            |ty: ElementType, element: &[u8]| ty == ElementType::F8E8M0FNU && who != "Simt" && element == [0];
        let is_right = |a: &[u8], b: &[u8]| is_close(ty, a, b) || is_smallest(ty, a) || is_smallest(ty, b);
        let has_smallest = |i: usize| {
            let operands = operands_at(&self.case, step, places.start + i / parts);
            operands.iter().any(|operand| is_smallest(self.case.element, operand))
        };
        let wrong =
            pairs.enumerate().filter(|(i, (a, values))| !values.clone().any(|b| is_right(a, b)) && !has_smallest(*i));
        let wrong = wrong.filter_map(|(i, (a, mut values))| Some((i, (a, values.next()?))));
        // Report only a few elements, because an operation that fails often fails for many operands
        // in the same way.
        let wrong: Vec<_> = wrong.take(3).collect();
        if wrong.is_empty() {
            return;
        }
        if let Some(exception) = EXCEPTIONS.iter().position(|exception| exception.covers(self.case.element, step)) {
            self.excused[exception] = true;
            return;
        }
        self.faults.extend(wrong.into_iter().map(|(i, (a, b))| {
            let operands = operands(&self.case, step, places.start + i / parts);
            format!("{who}: {ty} {} of {operands}: {} instead of {}", step.operation, show(ty, a), show(ty, b))
        }));
    }

    fn compare_all(&mut self, who: &str, found: &[ArrayLiteral], expected: &[&[ArrayLiteral]]) {
        for (number, found) in found.iter().enumerate() {
            let expected: Vec<&[u8]> = expected.iter().map(|results| &results[number].data[..]).collect();
            self.compare(who, number, 0..0, &found.data, &expected);
        }
    }

    /// Compares folded results with the results of the kernels. Folding does not flush subnormal
    /// operands.
    fn compare_folded(&mut self, computed: &[ArrayLiteral], exact: &[ArrayLiteral], flushed: &[ArrayLiteral]) {
        for folded in folding::fold(&self.case) {
            for (number, computed) in computed.iter().enumerate() {
                let Some(found) = &folded.results[number] else { continue };
                let places = folded.places(self.case.steps[number].values);
                let size = found.element_type.byte_size();
                let [computed, exact, flushed] = [computed, &exact[number], &flushed[number]]
                    .map(|result| result.data[places.start * size..places.end * size].chunks(size));
                let of_subnormal = exact.zip(flushed).zip(computed.clone()).map(|((exact, flushed), computed)| {
                    if is_close(found.element_type, computed, flushed) { exact } else { computed }
                });
                let (of_subnormal, computed) =
                    (of_subnormal.collect::<Vec<_>>().concat(), computed.collect::<Vec<_>>().concat());
                self.compare("Folding", number, places, &found.data, &[&computed, &of_subnormal]);
            }
        }
    }
}

/// Returns the operands from which an element of a result was computed, as text.
fn operands(case: &OperationsModule, step: &TestedOperation, place: usize) -> String {
    let operands = operands_at(case, step, place).into_iter().map(|bytes| show(case.element, bytes));
    let names = if operands.len() == 1 { ["u"].iter() } else { ["x", "y", "z"].iter() };
    names.zip(operands).map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

/// Returns the bytes of the operands from which an element of a result was computed.
fn operands_at<'c>(case: &'c OperationsModule, step: &TestedOperation, place: usize) -> Vec<&'c [u8]> {
    let inputs = match step.values {
        OperandSet::Single => &case.inputs[..1],
        OperandSet::Paired => &case.inputs[1..4],
    };
    let at = |input: &'c ArrayLiteral| input.data.chunks(input.element_type.byte_size()).nth(place).unwrap_or_default();
    inputs.iter().map(at).collect()
}

/// Computes all operations on the type with all engines and compares the results.
fn check(element: ElementType) {
    let case = OperationsModule::all(element);
    let text = case.text();
    let [expected, on_cpu, simulated] =
        [Engine::Interpreter, Engine::Cpu, Engine::Simt].map(|engine| engine.run(&text, &case.inputs));
    let flushed_inputs: Vec<ArrayLiteral> = case.inputs.iter().map(values::with_zeros_for_subnormals).collect();
    let flushed = Engine::Interpreter.run(&text, &flushed_inputs);
    let mut report = DifferenceReport { case, faults: Vec::new(), excused: vec![false; EXCEPTIONS.len()] };
    report.compare_all("Cpu", &on_cpu, &[&expected, &flushed]);
    report.compare_all("Simt", &simulated, &[&expected]);
    report.compare_folded(&on_cpu, &expected, &flushed);
    let DifferenceReport { mut faults, excused, .. } = report;
    for (exception, excused) in EXCEPTIONS.iter().zip(excused) {
        if exception.element == element.name() && !excused {
            faults.push(format!("{exception:?} no longer occurs; take it off the list"));
        }
    }
    assert!(
        faults.is_empty(),
        "{element}: {} differences\n{}",
        faults.len(),
        faults[..faults.len().min(60)].join("\n")
    );
}

macro_rules! tests {
    ($($name:ident: $($ty:literal),+;)*) => {
        $(#[test]
        fn $name() {
            [$($ty),+].iter().for_each(|ty| check(ty.parse().unwrap()));
        })*

        #[test]
        fn every_type_is_among_them() {
            let tested = [$($($ty),+),*];
            for ty in ElementType::ALL {
                assert!(tested.contains(&ty.name()), "{ty}");
            }
        }
    };
}

tests! {
    f64: "f64";
    f32: "f32";
    f16: "f16";
    bf16: "bf16";
    c64: "c64";
    c128: "c128";
    eight_bit_floats_with_infinities: "f8e3m4", "f8e4m3", "f8e5m2";
    eight_bit_floats_with_nan_alone: "f8e4m3fn", "f8e4m3b11fnuz", "f8e4m3fnuz", "f8e5m2fnuz", "f8e8m0fnu";
    narrower_floats: "f4e2m1fn", "f6e2m3fn", "f6e3m2fn";
    signed_integers: "s8", "s16", "s32", "s64";
    unsigned_integers: "u8", "u16", "u32", "u64";
    narrow_integers: "pred", "s1", "s2", "s4", "u1", "u2", "u4";
}
