//! Tests of walks, conversions and printing, on one program with all kinds of thunks.

use super::{Names, Thunk, all, for_all, print};

type NumberedThunk = Thunk<u32, u32, u32>;

/// Returns a program with all kinds of thunks. The numbers of the program's kernels are 0 to 3 in
/// the order of the text.
fn program() -> Vec<NumberedThunk> {
    let launch = |kernel, place| Thunk::Kernel { kernel, arguments: vec![place, place + 1] };
    let branches = vec![vec![launch(1, 4)], vec![Thunk::Copy { from: 1, to: 2 }], Vec::new()];
    let choice = Thunk::Conditional { name: "choice".into(), index: 7, branches };
    let body = vec![choice, launch(2, 5)];
    let repeated =
        Thunk::While { name: "loop".into(), condition: vec![launch(0, 3)], predicate: 9, body, iterations: None };
    let last = Thunk::HostOp { op: 6, arguments: vec![1], results: vec![2, 3] };
    vec![repeated, launch(3, 0), last]
}

fn kernels(thunks: &[NumberedThunk]) -> Vec<u32> {
    all(thunks).filter_map(|it| if let Thunk::Kernel { kernel, .. } = it { Some(*kernel) } else { None }).collect()
}

#[test]
fn all_thunks_come_in_the_order_of_the_text() {
    let thunks = program();
    assert_eq!((all(&thunks).count(), kernels(&thunks)), (8, vec![0, 1, 2, 3]));
}

#[test]
fn a_replaced_thunk_has_other_nested_thunks() {
    let mut thunks = program();
    for_all(&mut thunks, &mut |thunk| match thunk {
        Thunk::Kernel { kernel, .. } => *kernel += 10,
        Thunk::Conditional { .. } => *thunk = Thunk::Kernel { kernel: 5, arguments: Vec::new() },
        _ => {}
    });
    assert_eq!(kernels(&thunks), [10, 5, 12, 13]);
}

#[test]
fn a_conversion_reaches_everything_or_returns_nothing() {
    let thunks = program();
    let next = |number: &u32| number.checked_add(1);
    let converted = thunks.iter().map(|it| it.try_map(&next, &next, &next)).collect::<Option<Vec<_>>>().unwrap();
    let mut expected = program();
    for_all(&mut expected, &mut |thunk| {
        thunk.places_mut().into_iter().for_each(|place| *place += 1);
        match thunk {
            Thunk::Kernel { kernel: number, .. } | Thunk::HostOp { op: number, .. } => *number += 1,
            _ => {}
        }
    });
    assert_eq!(converted, expected);
    let below = |limit: u32| move |&number: &u32| (number < limit).then_some(number);
    let refused = |limits: [u32; 3]| {
        let [place, kernel, op] = limits.map(below);
        thunks.iter().any(|it| it.try_map(&place, &kernel, &op).is_none())
    };
    assert_eq!([[10, 4, 7], [9, 4, 7], [10, 3, 7], [10, 4, 6]].map(refused), [false, true, true, true]);
}

#[test]
fn nested_thunks_are_printed_below_the_thunk_that_contains_them() {
    let mut text = String::new();
    let names = Names { kernel: &|number: &u32| format!("k{number}"), host_op: &|number: &u32| format!("o{number}") };
    print(&mut text, &program(), 1, &names);
    let expected = "
  while loop 9
    condition:
      kernel k0 (3, 4)
    body:
      conditional choice 7
        branch 0:
          kernel k1 (4, 5)
        branch 1:
          copy 1 -> 2
        branch 2:
      kernel k2 (5, 6)
  kernel k3 (0, 1)
  host-op o6 (1) -> (2, 3)
";
    assert_eq!(text, expected[1..]);
}
