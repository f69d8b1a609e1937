//! Whose results are right.

use fusebox_core::cost;
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{ArrayLiteral, ElementType, FloatFormat, Literal};
use fusebox_run::inputs::{self, InputChoice};
use fusebox_runtime::{Executable, Program};

use super::Settings;
use super::database::{Figures, Outcome};
use super::made::Made;
use crate::WorkshopError;

/// Most additions of a fusion that the interpreter judges: some tenths of a second.
const MOST_INTERPRETED: f64 = 2e6;

/// A program whose result is right.
pub struct Racer {
    /// Its place in the fixed order.
    pub place: usize,
    pub name: String,
    pub predicted_us: f64,
    pub executable: Executable,
}

/// What is known before anything is measured.
pub struct Judged {
    /// Those whose results are right, in the fixed order.
    pub racers: Vec<Racer>,
    /// The others, with their places.
    pub refused: Vec<(usize, Figures)>,
    /// What they all run on.
    pub inputs: Vec<ArrayLiteral>,
}

/// Runs every program and compares what it gives: with the interpreter where that does not take long; else with the first
/// program by an emitter that comes with fusebox, or if there is none, with the first.
///
/// # Errors
/// If there are no inputs.
pub fn all(
    made: Vec<Made>,
    fusion: &Fusion,
    choice: &InputChoice,
    settings: &Settings<'_>,
) -> Result<Judged, WorkshopError> {
    let shapes: Vec<_> =
        fusion.computation().parameters().iter().map(|&id| fusion.computation().instruction(id)).collect();
    let shapes: Vec<_> = shapes.into_iter().map(|parameter| parameter.shape.clone()).collect();
    let values = inputs::load(choice, &shapes)?;
    let inputs = inputs::arrays(&values);
    let run = |executable: &Executable| -> Result<Literal, String> {
        let program = Program::load(executable.clone(), &settings.run).map_err(|error| error.to_string());
        program?.run(&inputs).map_err(|error| error.to_string())
    };
    let mut expected = interpreted(fusion, &values);
    if expected.is_none() {
        let mut by_trust: Vec<&Made> = made.iter().collect();
        by_trust.sort_by_key(|made| !made.is_bundled);
        expected = by_trust.iter().find_map(|made| run(&made.program.as_ref().ok()?.0).ok());
    }
    let (mut racers, mut refused) = (Vec::new(), Vec::new());
    for Made { place, name, program, .. } in made {
        let checked = program.and_then(|(executable, predicted_us)| {
            let found = run(&executable)?;
            match expected.as_ref().and_then(|expected| difference(&found, expected)) {
                Some(difference) => Err(format!("its result is wrong: {difference}")),
                None => Ok((executable, predicted_us)),
            }
        });
        match checked {
            Ok((executable, predicted_us)) => racers.push(Racer { place, name, predicted_us, executable }),
            Err(reason) => refused.push((place, Figures::of(name, f64::NAN, Outcome::Refused(reason)))),
        }
    }
    Ok(Judged { racers, refused, inputs })
}

/// What the interpreter gives, if that takes little time and it can.
fn interpreted(fusion: &Fusion, inputs: &[Literal]) -> Option<Literal> {
    let additions: f64 = fusion.module.computations.iter().map(cost::of_computation).sum();
    match additions <= MOST_INTERPRETED {
        true => fusebox_interpreter::evaluate(&fusion.module, inputs).ok(),
        false => None,
    }
}

/// The first element that is not as close as sums in another order are, in words.
fn difference(found: &Literal, expected: &Literal) -> Option<String> {
    let arrays = found.leaves().into_iter().zip(expected.leaves()).enumerate();
    arrays.into_iter().find_map(|(result, (found, expected))| {
        let (found, expected) = (found.as_array()?, expected.as_array()?);
        array_difference(found, expected).map(|differs| format!("result {result}: {differs}"))
    })
}

fn array_difference(found: &ArrayLiteral, expected: &ArrayLiteral) -> Option<String> {
    if found.shape() != expected.shape() {
        return Some(format!("{} instead of {}", found.shape(), expected.shape()));
    }
    if found.data == expected.data {
        return None;
    }
    let part = found.element_type.real_part();
    let parts = || found.data.chunks_exact(part.byte_size()).zip(expected.data.chunks_exact(part.byte_size()));
    let Some(format) = FloatFormat::of(part) else {
        let element = parts().position(|(found, expected)| found != expected)?;
        return Some(format!("element {element} differs"));
    };
    let number = |bytes: &[u8]| format.decode(bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte)));
    let usual = usual_size(parts().map(|(_, expected)| number(expected)));
    let is_close = |found: f64, expected: f64| {
        found == expected
            || found.is_nan() && expected.is_nan()
            || (found - expected).abs() <= tolerance(part) * (usual + expected.abs())
    };
    let numbers = parts().map(|(found, expected)| (number(found), number(expected)));
    let (element, (found, expected)) = numbers.enumerate().find(|(_, (a, b))| !is_close(*a, *b))?;
    Some(format!("element {element} is {found:e} instead of {expected:e}"))
}

/// The root of the mean square of all finite numbers: what rounding errors of sums that nearly cancel are measured by.
fn usual_size(numbers: impl Iterator<Item = f64>) -> f64 {
    let finite = numbers.filter(|number| number.is_finite());
    let (sum, count) = finite.fold((0.0, 0.0), |(sum, count), number| (sum + number * number, count + 1.0));
    if count > 0.0 { f64::sqrt(sum / count) } else { 0.0 }
}

/// What may be lost by rounding, of an element's usual size.
fn tolerance(part: ElementType) -> f64 {
    match part {
        ElementType::F64 => 1e-12,
        ElementType::F32 => 2e-5,
        ElementType::F16 => 5e-3,
        ElementType::BF16 => 3e-2,
        _ => 0.15,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f32]) -> Literal {
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Literal::Array(ArrayLiteral::new(ElementType::F32, vec![values.len() as i64], data).unwrap())
    }

    #[test]
    fn rounding_is_no_difference_and_all_else_is() {
        let expected = floats(&[100.0, 1e-6, -50.0, f32::NAN, f32::INFINITY]);
        let of = |found: &[f32]| difference(&floats(found), &expected);
        assert_eq!(
            of(&[100.000_1, 2e-5, -50.0, f32::NAN, f32::INFINITY]),
            None,
            "what cancels is as exact as the rest"
        );
        assert!(of(&[100.1, 1e-6, -50.0, f32::NAN, f32::INFINITY]).unwrap().starts_with("result 0: element 0 is 1.00"));
        for wrong in [
            [100.0, 1e-6, -50.0, 0.0, f32::INFINITY],
            [100.0, 1e-6, -50.0, f32::NAN, f32::NEG_INFINITY],
            [100.0, 1e-6, -50.0, f32::NAN, 1e30],
            [f32::NAN, 1e-6, -50.0, f32::NAN, f32::INFINITY],
        ] {
            assert!(of(&wrong).is_some(), "{wrong:?}");
        }
    }

    #[test]
    fn integers_are_exact() {
        let integers = |value: i32| {
            Literal::Array(ArrayLiteral::new(ElementType::S32, vec![1], value.to_le_bytes().to_vec()).unwrap())
        };
        assert_eq!(difference(&integers(7), &integers(7)), None);
        assert_eq!(difference(&integers(7), &integers(8)).unwrap(), "result 0: element 0 differs");
    }
}
