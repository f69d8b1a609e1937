//! Checks that a function is the same after it has been printed and parsed.

use fusebox_core::builder::{FunctionBuilder, OpKind, Type};
use fusebox_core::ir::{Function, Place, Region};
use fusebox_kernel_text::parse;
use proptest::prelude::*;

use crate::built::{Choices, function};

/// Returns the parsed function `read`. If an operation of `made` has no location, removes the
/// location of the same operation in `read`, because this location refers to the parsed text.
fn with_places_of(made: &Function, mut read: Function) -> Function {
    fn clear(made: &Region, read: &mut Region) {
        for (made, read) in made.operations.iter().zip(&mut read.operations) {
            if made.place == Place::default() {
                read.place = Place::default();
            }
            made.regions.iter().zip(&mut read.regions).for_each(|(made, read)| clear(made, read));
        }
    }
    clear(&made.body, &mut read.body);
    read
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_the_builder_makes_survives(choices in prop::collection::vec(any::<u32>(), 0..300)) {
        let made = function(&mut Choices(&choices));
        let text = format!("{made:#}");
        let read = parse("k", &text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(read.len(), 1);
        prop_assert_eq!(read[0].to_string(), made.to_string());
        prop_assert_eq!(&with_places_of(&made, read[0].clone()), &made);
        let all_places = format!("{:#}", read[0]);
        prop_assert_eq!(format!("{:#}", parse("other", &all_places).unwrap()[0]), all_places);
    }

    /// Checks that the parser reads or refuses slightly damaged text, and does nothing else.
    #[test]
    fn damaged_text_is_read_or_refused(
        choices in prop::collection::vec(any::<u32>(), 0..100),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..6),
    ) {
        let mut bytes = function(&mut Choices(&choices)).to_string().into_bytes();
        for (at, byte, remove) in damage {
            let at = at.index(bytes.len());
            if remove { _ = bytes.remove(at) } else { bytes[at] = byte }
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(read) = parse("k", &text) {
            let printed: String = read.iter().map(Function::to_string).collect();
            let again: String = parse("k", &printed).unwrap().iter().map(Function::to_string).collect();
            prop_assert_eq!(printed, again);
        }
    }
}

/// Checks that numbers of values are kept. If the caller fills regions out of order, the numbers of
/// values are out of order too.
#[test]
fn numbers_of_values_are_kept() {
    let mut b = FunctionBuilder::new("f");
    let (region, arguments) = b.detached(&[Type::INDEX, Type::F32]);
    let start = b.float(1.0, fusebox_core::builder::Scalar::F32);
    let (zero, one) = (b.index(0), b.index(1));
    b.enter(region);
    let next = b.addf(arguments[1], start);
    b.op(OpKind::Yield, &[next], Vec::new(), &[], Vec::new());
    let region = b.leave();
    let results = b.op(OpKind::For, &[zero, one, one, start], Vec::new(), &[Type::F32], vec![region]);
    b.ret(&results);
    let made = b.finish().unwrap();
    let read = parse("k", &format!("{made:#}")).unwrap();
    assert_eq!(with_places_of(&made, read[0].clone()), made);
}

/// Checks the numbers of renumbered functions. Passes leave gaps in the numbering, and the text
/// does not show these gaps.
#[test]
fn renumbered_functions_have_the_numbers_of_their_text() {
    let mut b = FunctionBuilder::new("f");
    let (x, unused) = (b.argument(Type::F32), b.index(3));
    let sum = b.addf(x, x);
    b.ret(&[sum]);
    let mut made = b.finish().unwrap();
    made.body.operations.retain(|operation| !operation.results.contains(&unused));
    let read = |function: &Function| with_places_of(function, parse("k", &function.to_string()).unwrap().remove(0));
    assert_ne!(read(&made), made);
    made.renumber();
    assert_eq!(read(&made), made);
    assert_eq!(made.types, [Type::F32, Type::F32]);
}
