//! Sorts of random arrays by the comparators that frameworks write, against the reference interpreter.

use fusebox_core::hlo::{ArrayLiteral, ElementType, FloatFormat, Literal, Module, Shape, parse_module, verify};
use fusebox_core::random::SplitMix64;

use crate::lines::Memory;
use crate::{Alone, Context, Workers, comparator_to_compile, routine_for};

/// Calls parts from the last to the first.
struct Backwards;

impl Workers for Backwards {
    fn share(&self, parts: usize, task: &(dyn Fn(usize) + Sync)) {
        (0..parts).rev().for_each(task);
    }
}

/// Two threads that each take every other part.
struct Two;

impl Workers for Two {
    fn share(&self, parts: usize, task: &(dyn Fn(usize) + Sync)) {
        std::thread::scope(|scope| {
            scope.spawn(|| (0..parts).step_by(2).for_each(task));
            (1..parts).step_by(2).for_each(task);
        });
    }
}

pub fn module(text: &str) -> Module {
    let module = parse_module(text, "m").unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    verify(&module).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    module
}

/// What the routine gives, which is the same whoever takes part in which order.
pub fn run(module: &Module, inputs: &[ArrayLiteral]) -> Vec<Vec<u8>> {
    let routine = routine_for(module).unwrap();
    let aligned: Vec<Memory> = inputs.iter().map(|input| aligned(&input.data)).collect();
    let arguments: Vec<&[u8]> = aligned.iter().map(Memory::bytes).collect();
    let shape = &module.entry_computation().unwrap().root_instruction().shape;
    let sizes = shape.leaves().into_iter().filter_map(Shape::as_array).map(|array| array.byte_size() as usize);
    let by = |workers: &dyn Workers| {
        let mut results: Vec<Memory> = sizes.clone().map(|bytes| aligned_of(&vec![0xa5; bytes])).collect();
        let mut written: Vec<&mut [u8]> = results.iter_mut().map(Memory::bytes_mut).collect();
        routine.run(&arguments, &mut written, &Context { workers }).unwrap();
        results.iter().map(|result| result.bytes().to_vec()).collect::<Vec<_>>()
    };
    let alone = by(&Alone);
    assert!(alone == by(&Backwards) && alone == by(&Two), "the result depends on who works");
    alone
}

fn aligned(bytes: &[u8]) -> Memory {
    aligned_of(bytes)
}

fn aligned_of(bytes: &[u8]) -> Memory {
    let mut memory = Memory::zeroed(bytes.len()).unwrap();
    memory.bytes_mut().copy_from_slice(bytes);
    memory
}

/// What the interpreter gives.
pub fn expected(module: &Module, inputs: &[ArrayLiteral]) -> Vec<Vec<u8>> {
    let inputs: Vec<Literal> = inputs.iter().cloned().map(Literal::Array).collect();
    let result = fusebox_interpreter::evaluate(module, &inputs).unwrap();
    result.leaves().into_iter().map(|leaf| leaf.as_array().unwrap().data.to_vec()).collect()
}

/// Elements among which ties, zeros of both signs, infinities and NaNs are frequent.
pub fn elements(random: &mut SplitMix64, ty: ElementType, count: usize) -> Vec<u8> {
    let few = random.bits() % 2 == 0;
    let mut bytes = Vec::new();
    for _ in 0..count * (ty.byte_size() / ty.real_part().byte_size()) {
        let part = ty.real_part();
        let bits = element(random, part, few);
        bytes.extend_from_slice(&bits.to_le_bytes()[..part.byte_size()]);
    }
    bytes
}

fn element(random: &mut SplitMix64, ty: ElementType, few: bool) -> u64 {
    let any = random.bits();
    let Some(format) = FloatFormat::of(ty) else {
        let narrow = if few { any % 5 } else { any };
        let unused = 64 - ty.bits();
        return match ty.is_signed_integer() {
            true => ((narrow << unused) as i64 >> unused) as u64 & (u64::MAX >> (64 - 8 * ty.byte_size())),
            false => narrow << unused >> unused,
        };
    };
    // Of NaNs only quiet ones: the interpreter keeps no others.
    let special = [0, format.sign_bit(), format.max_finite_bits(), format.encode(1.0), format.encode(-1.0)];
    let nan = format.nan_bits().unwrap_or(0);
    match random.bits() % 8 {
        0..5 if few => special[(any % 5) as usize],
        5 => nan,
        6 if format.signed => nan | format.sign_bit(),
        _ => format.encode(random.unit() * 8.0 - 4.0),
    }
}

/// The computation by which frameworks compare, of a first key and others.
fn comparator(random: &mut SplitMix64, types: &[ElementType]) -> String {
    let keys = 1 + (random.bits() % types.len() as u64) as usize;
    let mut text = String::from("less {\n");
    for (number, ty) in types.iter().enumerate() {
        text += &format!(
            "  a{number} = {ty}[] parameter({})\n  b{number} = {ty}[] parameter({})\n",
            2 * number,
            2 * number + 1
        );
    }
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
                real.is_float() && real.float_format().unwrap().nan_bits().is_some() && random.bits() % 2 == 0;
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
            let order = if real.is_float() && random.bits() % 4 > 0 { ", type=TOTALORDER" } else { "" };
            let direction = if random.bits() % 2 == 0 { "LT" } else { "GT" };
            if random.bits() % 4 == 0 {
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

fn sort(types: &[ElementType], dims: &[i64], dimension: usize, comparator: &str) -> String {
    let dims = dims.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let shapes: Vec<String> = types.iter().map(|ty| format!("{ty}[{dims}]")).collect();
    let mut text = format!("{comparator}ENTRY e {{\n");
    shapes
        .iter()
        .enumerate()
        .for_each(|(number, shape)| text += &format!("  p{number} = {shape} parameter({number})\n"));
    let operands: Vec<String> = (0..types.len()).map(|number| format!("p{number}")).collect();
    let result = if shapes.len() == 1 { shapes[0].clone() } else { format!("({})", shapes.join(", ")) };
    text + &format!(
        "  ROOT s = {result} sort({}), dimensions={{{dimension}}}, is_stable=true, to_apply=less\n}}\n",
        operands.join(", ")
    )
}

fn check(random: &mut SplitMix64, types: &[ElementType], dims: &[i64], dimension: usize) {
    let comparator = comparator(random, types);
    // The last line is there for the text's sake alone.
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
    assert!(run(&module, &inputs) == expected(&module, &inputs), "{text}");
}

#[test]
fn two_thousand_sorts_are_those_of_the_interpreter() {
    let mut random = SplitMix64(0x5027);
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
    let mut random = SplitMix64(0x5028);
    for &ty in ElementType::ALL {
        for dims in [&[300][..], &[3, 200], &[120, 5]] {
            check(&mut random, &[ty], dims, 0);
        }
    }
}

#[test]
fn long_lines_are_sorted_by_all_threads() {
    let mut random = SplitMix64(0x5029);
    let long = super::radix::LONG as i64 + 1001;
    for types in [
        &[ElementType::F32][..],
        &[ElementType::U64],
        &[ElementType::BF16],
        &[ElementType::F32, ElementType::S32],
        &[ElementType::F64, ElementType::U8, ElementType::C64],
    ] {
        check(&mut random, types, &[long], 0);
    }
}

/// Comparators that mean something else than an order of keys are left to the compiler.
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
