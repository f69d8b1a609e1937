//! Tests of the nodes of graphs.

use super::*;

fn copy(from: u32, to: u32) -> Thunk {
    let slice = |allocation| Slice { allocation, offset: 0, bytes: 64 };
    Thunk::Copy { from: slice(from), to: slice(to) }
}

fn pred(allocation: u32) -> Slice {
    Slice { allocation, offset: 0, bytes: 1 }
}

/// Describes nodes: their kind, and the nodes for which they wait.
fn describe(level: &Level) -> Vec<String> {
    let name = |act: &Act| match act {
        Act::Device(_) => "copy".to_string(),
        Act::Decide { condition, decision } => format!("decide {condition} {:?}", decision.branch),
        Act::Repeat { condition, body } => format!("repeat {condition} ({})", describe(body).join(", ")),
        Act::Choose { condition, body } => format!("choose {condition} ({})", describe(body).join(", ")),
    };
    level.0.iter().map(|(act, place)| format!("{} after {:?}", name(act), place.after)).collect()
}

#[test]
fn a_loop_decides_before_and_at_the_end_of_its_body() {
    let condition = vec![Thunk::Copy { from: pred(1), to: pred(2) }];
    let body = vec![copy(3, 4), copy(4, 3)];
    let repeated = Thunk::While { name: "loop".into(), condition, predicate: pred(2), body };
    let level = Level::of(&[copy(5, 3), repeated, copy(3, 6), copy(7, 8)], &[], 8).unwrap();
    assert_eq!(
        describe(&level),
        [
            "copy after []",
            "copy after []",
            "decide 0 [0, 0] after [1]",
            "repeat 0 (copy after [], copy after [0], copy after [], decide 0 [0, 0] after [2]) after [2, 0]",
            "copy after [3]",
            "copy after []",
        ]
    );
}

#[test]
fn branches_come_after_all_decisions_about_a_value_that_they_overwrite() {
    let slice = |allocation| Slice { allocation, offset: 0, bytes: 4 };
    let branches = vec![vec![Thunk::Copy { from: slice(2), to: slice(1) }], vec![copy(3, 4)]];
    let chosen = Thunk::Conditional { name: "chosen".into(), index: slice(1), branches };
    let level = Level::of(&[chosen], &[], 8).unwrap();
    assert_eq!(
        describe(&level),
        [
            "decide 0 [0, 1] after []",
            "decide 1 [1, 1] after []",
            "choose 0 (copy after []) after [1, 0]",
            "choose 1 (copy after []) after [1]",
        ]
    );
    let host = Thunk::HostOp { op: 0, arguments: vec![], results: vec![] };
    let branches = vec![vec![host]];
    assert!(Level::of(&[Thunk::Conditional { name: "c".into(), index: slice(1), branches }], &[], 8).is_none());
}
