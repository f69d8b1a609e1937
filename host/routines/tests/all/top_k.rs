//! Compares the first elements of lines with those of the interpreter.

use fusebox_core::hlo::{ArrayLiteral, ElementType};

use crate::support::{Random, check_with_interpreter, elements, module};

fn check(random: &mut Random, ty: ElementType, dims: &[i64], k: i64, largest: bool, is_call: bool) {
    let (&length, outer) = dims.split_last().unwrap();
    let list = |last: i64| [outer, &[last]].concat().iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let (array, first) = (list(length), list(k));
    let call = if is_call {
        format!("custom-call(p), custom_call_target=\"TopK\", backend_config=\"{{largest = {largest}}}\"")
    } else {
        format!("topk(p), k={k}, largest={largest}")
    };
    let text =
        format!("ENTRY e {{\n  p = {ty}[{array}] parameter(0)\n  ROOT t = ({ty}[{first}], s32[{first}]) {call}\n}}\n");
    let count = dims.iter().product::<i64>() as usize;
    let input = ArrayLiteral::new(ty, dims.to_vec(), elements(random, ty, count)).unwrap();
    check_with_interpreter(&module(&text), &[input]);
}

#[test]
fn a_thousand_are_those_of_the_interpreter() {
    let mut random = Random::new(0x70);
    let types: Vec<ElementType> = ElementType::ALL.iter().copied().filter(|ty| !ty.is_complex()).collect();
    for number in 0..1000 {
        let ty = random.one_of(&types);
        let length = random.one_of(&[1, 2, 31, 32, 33, 200, 700, 3000]);
        let k = random.one_of(&[0, 1, 2, 5, 16, length]).min(length);
        let outer = random.one_of(&[1, 3, 0]);
        let largest = random.below(2) == 0;
        check(&mut random, ty, &[outer, length], k, largest, number % 3 == 0);
    }
}
