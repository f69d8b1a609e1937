//! Tests that index expressions are simplified and remain short.

use std::collections::HashSet;

use fusebox_core::indexing::{Expr, Interval};

use super::{Atom, IndexId, IndexTable};
use crate::scope::{FunctionId, ScopeId};

/// Returns three arguments of a function.
fn arguments(indices: &mut IndexTable) -> Vec<IndexId> {
    indices.register_scope(ScopeId(0), 0);
    let argument = |(dim, size)| {
        let atom = Atom::Argument { function: FunctionId(0), dim };
        indices.atom(atom, Interval::from_size(size), ScopeId(0))
    };
    (0..).zip([4, 6, 5]).map(argument).collect()
}

fn at(indices: &mut IndexTable, text: &str, dims: &[IndexId]) -> IndexId {
    indices.substitute(&text.parse::<Expr>().unwrap(), dims, &[], &[]).unwrap()
}

#[test]
fn a_reshape_undone_gives_back_the_index() {
    let mut indices = IndexTable::default();
    let arguments = arguments(&mut indices);
    let linear = at(&mut indices, "d0 * 6 + d1", &arguments);
    assert_eq!(at(&mut indices, "d0 floordiv 6", &[linear]), arguments[0]);
    assert_eq!(at(&mut indices, "d0 mod 6", &[linear]), arguments[1]);
}

#[test]
fn an_atom_is_one_leaf() {
    let mut indices = IndexTable::default();
    let first = arguments(&mut indices);
    assert_eq!(arguments(&mut indices), first);
    let shifted = at(&mut indices, "d1 + 3", &first);
    assert_eq!(indices.scope(shifted), Some(ScopeId(0)));
    assert_eq!(indices.leaves(shifted), [first[1]]);
    assert_eq!(at(&mut indices, "d0 - 3", &[shifted]), first[1]);
}

#[test]
fn expressions_stay_small_and_right() {
    let mut indices = IndexTable::default();
    let arguments = arguments(&mut indices);
    let mut index = arguments[0];
    for step in 0..100 {
        let text = format!("((d0 + d1) * 3) mod {} + (d0 floordiv 2) * d2", 7 + step % 5);
        index = at(&mut indices, &text, &[index, arguments[1], arguments[2]]);
        let (map, operands) = indices.map(index);
        assert!(map.to_string().len() < 1000, "{map}");
        assert!(operands.iter().all(|operand| *operand != index), "{map}");
    }
}

/// Simplification rules that inspect the operands of a map copy a part of the operands into the
/// map. In a long chain of maps, each composed map would need more operations than the previous
/// map, up to a bound.
#[test]
fn maps_in_a_long_row_are_not_put_together() {
    const STEPS: u32 = 200;
    let mut indices = IndexTable::default();
    indices.register_scope(ScopeId(0), 0);
    let argument = |(dim, size)| (Atom::Argument { function: FunctionId(0), dim }, Interval::from_size(size));
    let mut index: Vec<IndexId> =
        [argument((0, 6)), argument((1, 10))].map(|(atom, bounds)| indices.atom(atom, bounds, ScopeId(0))).to_vec();
    let mut all = Vec::new();
    for step in 0..STEPS {
        // A reversal, then a reshape of a transpose: six by ten, then five by twelve.
        let texts = match step % 2 {
            0 => ["(50 - d0 * 10 + d1) floordiv 12", "(50 - d0 * 10 + d1) mod 12"],
            _ => ["(d1 * 5 + d0) floordiv 10", "9 - (d1 * 5 + d0) mod 10"],
        };
        index = texts.map(|text| at(&mut indices, text, &index)).to_vec();
        all.extend(&index);
    }
    let operations = indices.algebra.operations_beyond(&mut HashSet::new(), &all);
    assert!(operations <= 12 * STEPS, "{operations} operations for {STEPS} maps");
}
