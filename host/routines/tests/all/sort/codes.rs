//! Sorts all codes of the types of at most 16 bits. A code is the bits of one value.

use std::cmp::Ordering;

use bytemuck::cast_slice;
use fusebox_core::hlo::{ElementType, FloatFormat, Specials};

use super::{parameters, sort, sorted};
use crate::support::{Random, module};

/// The comparators of these tests. Each has an ascending and a descending form.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Comparator {
    /// Compares integers, or floats in total order: `-NaN < -inf < … < -0 < +0 < … < inf < NaN`.
    TotalOrder,
    /// Compares floats as numbers.
    Numbers,
    /// Replaces zeros of both signs by one zero and all NaNs by one NaN, and compares the results
    /// in total order.
    Merging,
}

impl Comparator {
    /// Returns the text of a computation that compares the first of several operands.
    fn text(self, types: &[ElementType], is_descending: bool) -> String {
        let ty = types[0];
        let mut text = format!("less {{\n{}", parameters(types));
        let (mut first, mut second) = ("a0".to_owned(), "b0".to_owned());
        if let (Comparator::Merging, Some(format)) = (self, FloatFormat::of(ty)) {
            // The unsigned type has no zero, and some types have no NaN.
            let specials = [("zero", "0", format.signed), ("nan", "nan", format.nan_bits().is_some())];
            for (name, value, _) in specials.into_iter().filter(|(.., exists)| *exists) {
                text += &format!("  {name} = {ty}[] constant({value})\n");
                for (side, plain) in [(&mut first, "a0"), (&mut second, "b0")] {
                    let (other, direction) = if name == "zero" { (name, "EQ") } else { (plain, "NE") };
                    text += &format!("  is_{name}_{plain} = pred[] compare({plain}, {other}), direction={direction}\n");
                    text += &format!("  {name}_{plain} = {ty}[] select(is_{name}_{plain}, {name}, {side})\n");
                    *side = format!("{name}_{plain}");
                }
            }
        }
        let order = if ty.is_float() && self != Comparator::Numbers { ", type=TOTALORDER" } else { "" };
        let direction = if is_descending { "GT" } else { "LT" };
        text + &format!("  ROOT r = pred[] compare({first}, {second}), direction={direction}{order}\n}}\n")
    }
}

/// Sorts codes in ascending and in descending order, alone and together with their positions.
/// `order` is the ascending order of two codes.
fn check(ty: ElementType, comparator: Comparator, codes: &[u16], order: impl Fn(u16, u16) -> Ordering) {
    let width = ty.byte_size();
    let bytes = |codes: &[u16]| codes.iter().flat_map(|code| code.to_le_bytes()[..width].to_vec()).collect::<Vec<u8>>();
    let (keys, unsorted): (_, Vec<u32>) = (bytes(codes), (0..).take(codes.len()).collect());
    for is_descending in [false, true] {
        let mut positions = unsorted.clone();
        positions.sort_by(|&a, &b| {
            let ascending = order(codes[a as usize], codes[b as usize]);
            if is_descending { ascending.reverse() } else { ascending }
        });
        let expected = bytes(&positions.iter().map(|&at| codes[at as usize]).collect::<Vec<u16>>());
        let by = |types: &[ElementType], arrays: &[&[u8]]| {
            let less = comparator.text(types, is_descending);
            sorted(&module(&sort(types, &[codes.len() as i64], 0, &less)), arrays)
        };
        let case = format!("{ty} by {comparator:?}, descending: {is_descending}");
        assert!(by(&[ty], &[&keys])[0].bytes() == expected, "{case}");
        let found = by(&[ty, ElementType::U32], &[&keys, cast_slice(&unsorted)]);
        assert!(found[0].bytes() == expected, "{case}, with positions");
        assert!(found[1].bytes() == cast_slice::<u32, u8>(&positions), "positions of {case}");
    }
}

/// Returns all codes in random order, each once or twice. If each code occurred once, an encoding
/// that only exchanges codes would give the right result.
fn shuffled(random: &mut Random, all: &[u16]) -> Vec<u16> {
    let again: Vec<u16> = all.iter().copied().filter(|_| random.below(2) == 0).collect();
    let mut codes = [all, &again].concat();
    random.shuffle(&mut codes);
    codes
}

fn types() -> impl Iterator<Item = ElementType> {
    ElementType::ALL.iter().copied().filter(|ty| !ty.is_complex() && ty.bits() <= 16)
}

/// Returns all codes of a type in ascending order.
fn ascending(ty: ElementType) -> Vec<u16> {
    let end = 1i32 << ty.bits();
    let codes: Vec<i32> = match FloatFormat::of(ty) {
        None if ty.is_signed_integer() => (-end / 2..end / 2).collect(),
        None => (0..end).collect(),
        Some(format) if !format.signed => (0..end).collect(),
        // The magnitudes of negative numbers descend.
        Some(FloatFormat { specials, .. }) if specials != Specials::NanNegativeZero => {
            (end / 2..end).rev().chain(0..end / 2).collect()
        }
        // The only NaN comes first.
        Some(_) => [end / 2].into_iter().chain((end / 2 + 1..end).rev()).chain(0..end / 2).collect(),
    };
    codes.into_iter().map(|code| code as u16).collect()
}

#[test]
fn every_code_has_its_place() {
    let mut random = Random::new(5);
    for ty in types() {
        let all = ascending(ty);
        let mut places = vec![0; 1 << 16];
        all.iter().enumerate().for_each(|(place, &code)| places[usize::from(code)] = place);
        let order = |a: u16, b: u16| places[usize::from(a)].cmp(&places[usize::from(b)]);
        check(ty, Comparator::TotalOrder, &shuffled(&mut random, &all), order);
    }
}

/// Returns a number that has the place of a value among the values of its type in total order, once
/// zeros of both signs and all NaNs have been merged.
fn merged(format: FloatFormat, code: u16) -> f64 {
    let nan = f64::NAN.copysign(if format.specials == Specials::NanNegativeZero { -1.0 } else { 1.0 });
    // The sum of zeros of both signs is positive.
    if format.is_nan(code.into()) { nan } else { format.decode(code.into()) + 0.0 }
}

/// Values with different bits may be equal to a comparator. Such values keep their order.
#[test]
fn equal_values_keep_their_order() {
    let mut random = Random::new(6);
    for (ty, format) in types().filter_map(|ty| Some((ty, FloatFormat::of(ty)?))) {
        let codes = shuffled(&mut random, &ascending(ty));
        let mut numbers = codes.clone();
        numbers.retain(|&code| !format.is_nan(code.into()));
        let order = |a: u16, b: u16| merged(format, a).total_cmp(&merged(format, b));
        check(ty, Comparator::Merging, &codes, order);
        check(ty, Comparator::Numbers, &numbers, order);
    }
}
