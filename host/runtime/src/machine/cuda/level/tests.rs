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
    let repeated = Thunk::While { name: "loop".into(), condition, predicate: pred(2), body, iterations: None };
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

/// Returns a loop of `number` iterations, each of which copies one array to another and back.
fn counted(number: u64) -> Thunk {
    let condition = vec![Thunk::Copy { from: pred(1), to: pred(2) }];
    let (name, body) = ("loop".into(), vec![copy(3, 4), copy(4, 3)]);
    Thunk::While { name, condition, predicate: pred(2), body, iterations: Some(number) }
}

#[test]
fn few_known_iterations_decide_nothing() {
    for number in [0, 1, 3, 128] {
        let level = Level::of(&[counted(number)], &[], 8).unwrap();
        let expected = (0..2 * number).map(|node| match node.checked_sub(1) {
            Some(before) => format!("copy after [{before}]"),
            None => "copy after []".into(),
        });
        assert_eq!(describe(&level), Vec::from_iter(expected));
        assert_eq!(node_count(&[counted(number)]), 2 * number);
    }
}

#[test]
fn many_known_iterations_decide_after_several() {
    let level = Level::of(&[counted(1000)], &[], 8).unwrap();
    let Some((Act::Repeat { body, .. }, _)) = level.0.last() else { panic!("{level:?}") };
    let copies = |level: &Level| level.0.iter().filter(|(act, _)| matches!(act, Act::Device(_))).count();
    let decisions = |level: &Level| level.0.iter().filter(|(act, _)| matches!(act, Act::Decide { .. })).count();
    // 8 iterations before the loop and 31 times 32 in it; the copies of the condition count, too.
    assert_eq!((copies(&level), copies(body)), (2 * 8 + 1, 2 * 32 + 1));
    assert_eq!((decisions(&level), decisions(body)), (1, 1));
    let nodes = level.0.len() + body.0.len();
    assert_eq!(node_count(&[counted(1000)]), nodes as u64);
}

#[test]
fn nested_loops_do_not_become_large_graphs() {
    let outer = |number, inner: Thunk| Thunk::While {
        name: "outer".into(),
        condition: vec![Thunk::Copy { from: pred(1), to: pred(2) }],
        predicate: pred(2),
        body: vec![inner],
        iterations: Some(number),
    };
    let nested = (0..20).fold(counted(100), |inner, _| outer(u64::MAX, inner));
    let nodes = node_count(std::slice::from_ref(&nested));
    assert!(nodes < 500, "{nodes}");
    assert!(Level::of(&[nested], &[], 8).is_some());
    let empty = outer(u64::MAX, outer(200, empty(200)));
    assert!(Level::of(&[empty], &[], 8).is_some());
}

fn empty(number: u64) -> Thunk {
    let (name, condition) = ("empty".into(), Vec::new());
    Thunk::While { name, condition, predicate: pred(2), body: Vec::new(), iterations: Some(number) }
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
