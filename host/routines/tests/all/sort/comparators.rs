//! Compares sorts of random arrays with the reference interpreter. The comparators have the form
//! that frameworks write.

use fusebox_core::hlo::{ArrayLiteral, ElementType};
use fusebox_routines::{comparator_to_compile, routine_for};

use super::{LONG_LINE, parameters, sort};
use crate::support::{Random, check_with_interpreter, elements, module};

/// Returns the text of a random comparator in the form that frameworks write. The keys of the
/// comparator are one or more of the operands.
fn comparator(random: &mut Random, types: &[ElementType]) -> String {
    let keys = 1 + (random.bits() % types.len() as u64) as usize;
    let mut text = format!("less {{\n{}", parameters(types));
    let mut decisions = Vec::new();
    for (number, &ty) in types.iter().enumerate().take(keys) {
        let parts: &[&str] = if ty.is_complex() { &["real", "imag"] } else { &[""] };
        for part in parts {
            let key = format!("{number}{part}");
            let plain = |side: &str, text: &mut String| match *part {
                "" => format!("{side}{number}"),
                part => {
                    *text += &format!("  {side}{key} = {}[] {part}({side}{number})\n", ty.real_part());
                    format!("{side}{key}")
                }
            };
            let (first, second) = (plain("a", &mut text), plain("b", &mut text));
            let real = ty.real_part();
            let is_merged =
                real.is_float() && real.float_format().unwrap().nan_bits().is_some() && random.bits().is_multiple_of(2);
            let has_zero = real != ElementType::F8E8M0FNU;
            let (mut first, mut second) = (first, second);
            if is_merged && has_zero {
                text += &format!("  nan{key} = {real}[] constant(nan)\n  zero{key} = {real}[] constant(0)\n");
                for (side, value) in [("a", &mut first), ("b", &mut second)] {
                    text += &format!("  {side}z{key} = pred[] compare({value}, zero{key}), direction=EQ\n");
                    text += &format!("  {side}n{key} = pred[] compare({value}, {value}), direction=NE\n");
                    text += &format!("  {side}y{key} = {real}[] select({side}z{key}, zero{key}, {value})\n");
                    text += &format!("  {side}x{key} = {real}[] select({side}n{key}, nan{key}, {side}y{key})\n");
                    *value = format!("{side}x{key}");
                }
            }
            let order = if real.is_float() && !random.bits().is_multiple_of(4) { ", type=TOTALORDER" } else { "" };
            let direction = if random.bits().is_multiple_of(2) { "LT" } else { "GT" };
            if random.bits().is_multiple_of(4) {
                std::mem::swap(&mut first, &mut second);
            }
            text += &format!("  lt{key} = pred[] compare({first}, {second}), direction={direction}{order}\n");
            text += &format!("  eq{key} = pred[] compare({first}, {second}), direction=EQ{order}\n");
            text += &format!("  ne{key} = pred[] compare({first}, {second}), direction=NE{order}\n");
            decisions.push(key);
        }
    }
    let mut rest = String::new();
    while let Some(key) = decisions.pop() {
        let own = format!("lt{key}");
        rest = match (rest.is_empty(), random.bits() % 3) {
            (true, _) => own,
            (_, 0) => {
                text += &format!("  and{key} = pred[] and(eq{key}, {rest})\n  or{key} = pred[] or({own}, and{key})\n");
                format!("or{key}")
            }
            (_, 1) => {
                text += &format!("  or{key} = pred[] select(eq{key}, {rest}, {own})\n");
                format!("or{key}")
            }
            _ => {
                text += &format!("  or{key} = pred[] select(ne{key}, {own}, {rest})\n");
                format!("or{key}")
            }
        };
    }
    text + &format!("  f = pred[] constant(false)\n  ROOT r = pred[] or({rest}, f)\n}}\n")
}

fn check(random: &mut Random, types: &[ElementType], dims: &[i64], dimension: usize) {
    let comparator = comparator(random, types);
    // The generated `ROOT` instruction only marks the result. Remove it, and make its first operand
    // the root.
    let rest = comparator.lines().find_map(|line| line.trim().strip_prefix("ROOT r = pred[] or(")?.split(',').next());
    let root = rest.unwrap().to_string();
    let kept = comparator.lines().filter(|line| !line.contains("f = pred") && !line.contains("ROOT"));
    let comparator: String =
        kept.map(|line| line.replace(&format!("  {root} ="), &format!("  ROOT {root} =")) + "\n").collect();
    let text = sort(types, dims, dimension, &comparator);
    let module = module(&text);
    assert_eq!(comparator_to_compile(&module), None, "{text}");
    let count: i64 = dims.iter().product();
    let inputs: Vec<ArrayLiteral> = types
        .iter()
        .map(|&ty| ArrayLiteral::new(ty, dims.to_vec(), elements(random, ty, count as usize)).unwrap())
        .collect();
    check_with_interpreter(&module, &inputs);
}

#[test]
fn two_thousand_sorts_are_those_of_the_interpreter() {
    let mut random = Random::new(0x5027);
    for _ in 0..2000 {
        let mut below = |limit: u64| random.bits() % limit;
        let rank = 1 + below(3) as usize;
        let dims: Vec<i64> =
            (0..rank).map(|_| [0, 1, 2, 3, 7, 40, 130][below(if rank == 1 { 7 } else { 6 }) as usize]).collect();
        let dimension = below(rank as u64) as usize;
        let types: Vec<ElementType> =
            (0..1 + below(3)).map(|_| ElementType::ALL[below(ElementType::ALL.len() as u64) as usize]).collect();
        check(&mut random, &types, &dims, dimension);
    }
}

#[test]
fn every_type_is_sorted_alone() {
    let mut random = Random::new(0x5028);
    for &ty in ElementType::ALL {
        for dims in [&[300][..], &[3, 200], &[120, 5]] {
            check(&mut random, &[ty], dims, 0);
        }
    }
}

#[test]
fn long_lines_are_sorted_by_all_threads() {
    let mut random = Random::new(0x5029);
    for types in [
        &[ElementType::F32][..],
        &[ElementType::U64],
        &[ElementType::BF16],
        &[ElementType::F32, ElementType::S32],
        &[ElementType::F64, ElementType::U8, ElementType::C64],
    ] {
        check(&mut random, types, &[LONG_LINE as i64], 0);
    }
}

/// Checks that a comparator must be compiled if its keys are not recognised.
#[test]
fn other_comparators_are_to_be_compiled() {
    for root in [
        "compare(a, b), direction=LE",
        "compare(a, c), direction=LT",
        "compare(a, a), direction=LT",
        "compare(n, b), direction=LT",
    ] {
        let text = format!(
            "less {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  c = f32[] parameter(2)\n  d = f32[] parameter(3)\n  n = f32[] negate(a)\n  ROOT r = pred[] {root}\n}}\n"
        );
        let text = sort(&[ElementType::F32, ElementType::F32], &[9], 0, &text);
        assert!(comparator_to_compile(&module(&text)).is_some(), "{root}");
        assert!(routine_for(&module(&text)).is_err(), "{root}");
    }
}
