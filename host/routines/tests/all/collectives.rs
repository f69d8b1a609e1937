//! Checks what devices receive from collectives, and combinations of arrays.

use fusebox_core::hlo::{BinaryOp, ElementType, parse_module};
use fusebox_routines::{CollectiveCall, Operation, RoutineError, combine, routine_for};

use crate::support::execute;

fn module(operand: &str, result: &str, operation: &str) -> String {
    format!(
        "add {{ a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT c = s32[] add(a, b) }}\nENTRY e {{\n  \
         p = {operand} parameter(0)\n  ROOT c = {result} {operation}, channel_id=1\n}}\n"
    )
}

/// Returns what each of `group` devices receives. Device `d` sends `10 * d`, `10 * d + 1`, ….
fn received(operand: usize, result: usize, operation: &str, group: &[i64]) -> Vec<Vec<i32>> {
    let text = module(&format!("s32[{operand}]"), &format!("s32[{result}]"), operation);
    let module = parse_module(&text, "m").unwrap();
    let call = CollectiveCall::of(&Operation::of(&module).unwrap()).unwrap();
    call.check_group(group.len()).unwrap();
    let sent = |device: i64| {
        let bytes: Vec<u8> = (0..operand as i32).flat_map(|at| (10 * device as i32 + at).to_le_bytes()).collect();
        call.copied(&[&bytes]).unwrap()
    };
    let together = call.together(group.iter().map(|&device| sent(device)).collect());
    let of_rank = |rank: usize| {
        let mut bytes = vec![0xA5; result * 4];
        call.receive((group, rank), &together, &mut [&mut bytes]).unwrap();
        bytes.as_chunks().0.iter().map(|it| i32::from_le_bytes(*it)).collect()
    };
    (0..group.len()).map(of_rank).collect()
}

#[test]
fn each_device_receives_its_part() {
    let reduced = received(2, 2, "all-reduce(p), replica_groups={}, to_apply=add", &[0, 1, 2]);
    assert_eq!(reduced, [[30, 33], [30, 33], [30, 33]]);
    let scattered = received(2, 1, "reduce-scatter(p), dimensions={0}, replica_groups={}, to_apply=add", &[3, 1]);
    assert_eq!(scattered, [[40], [42]]);
    let gathered = received(2, 4, "all-gather(p), dimensions={0}, replica_groups={{3,1}}", &[3, 1]);
    assert_eq!(gathered, [[30, 31, 10, 11], [30, 31, 10, 11]]);
    let exchanged = received(4, 4, "all-to-all(p), dimensions={0}, replica_groups={}", &[0, 1]);
    assert_eq!(exchanged, [[0, 1, 10, 11], [2, 3, 12, 13]]);
    let moved = received(1, 1, "collective-permute(p), source_target_pairs={{0,1},{2,0}}", &[0, 1, 2]);
    assert_eq!(moved, [[20], [0], [0]]);
    let sent = received(1, 1, "collective-broadcast(p), replica_groups={{2,0}}", &[2, 0]);
    assert_eq!(sent, [[20], [20]]);
}

#[test]
fn wrong_shapes_and_combiners_are_refused() {
    for (operand, result, operation) in [
        ("s32[2]", "s32[3]", "all-reduce(p), to_apply=add"),
        ("s32[2]", "s32[2]", "all-gather(p), dimensions={1}"),
        ("s32[2]", "s32[2]", "ragged-all-to-all(p)"),
        ("s32[2]", "s32[2]", "collective-permute(p), source_target_pairs={{0,1},{0,2}}"),
    ] {
        let module = parse_module(&module(operand, result, operation), "m").unwrap();
        assert!(routine_for(&module).is_err(), "{operation}");
    }
    let text = module("s32[3]", "s32[3]", "all-to-all(p), dimensions={0}");
    let module = parse_module(&text, "m").unwrap();
    assert!(CollectiveCall::of(&Operation::of(&module).unwrap()).unwrap().check_group(2).is_err());
}

#[test]
fn a_collective_needs_devices() {
    let module = parse_module(&module("s32[1]", "s32[1]", "all-reduce(p), to_apply=add"), "m").unwrap();
    let outcome = execute(&*routine_for(&module).unwrap(), &[&[0; 4]], &mut [&mut [0; 4]]);
    assert!(matches!(outcome, Err(RoutineError::Value(_))));
}

fn combined(op: BinaryOp, element: ElementType, a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut to = a.to_vec();
    combine(op, element).unwrap()(op, element, &mut to, b);
    to
}

#[test]
fn elements_are_combined_in_their_type() {
    use BinaryOp::{Add, Maximum, Minimum, Multiply, Xor};
    assert_eq!(combined(Add, ElementType::S8, &[100], &[100]), [200]);
    assert_eq!(combined(Add, ElementType::S4, &[7], &[1]), [0xF8]);
    assert_eq!(combined(Minimum, ElementType::S16, &[0xFF, 0xFF], &[1, 0]), [0xFF, 0xFF]);
    assert_eq!(combined(Minimum, ElementType::U16, &[0xFF, 0xFF], &[1, 0]), [1, 0]);
    assert_eq!(combined(Xor, ElementType::Pred, &[1, 1], &[1, 0]), [0, 1]);
    // 1 + 2^-9 is halfway between two bf16, and is rounded to the even one.
    assert_eq!(combined(Add, ElementType::BF16, &[0x80, 0x3F], &[0x80, 0x3B]), [0x80, 0x3F]);
    let float = |value: f32| value.to_le_bytes();
    assert_eq!(combined(Maximum, ElementType::F32, &float(-0.0), &float(0.0)), float(0.0));
    assert_eq!(combined(Maximum, ElementType::F32, &float(1.0), &float(f32::NAN)), float(f32::NAN));
    let number = [float(1.0), float(2.0)].concat();
    assert_eq!(combined(Multiply, ElementType::C64, &number, &number), [float(-3.0), float(4.0)].concat());
    assert!(combine(Xor, ElementType::F32).is_none() && combine(Maximum, ElementType::C64).is_none());
    assert!(combine(BinaryOp::Subtract, ElementType::S32).is_none());
}
