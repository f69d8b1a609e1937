//! Index expressions become the shortest operations.

use fusebox_core::indexing::{Expr, Interval};

use super::{Atom, IndexId, Indices};
use crate::scope::{FunctionId, ScopeId};

/// Three arguments of a function.
fn arguments(indices: &mut Indices) -> Vec<IndexId> {
    indices.register_scope(ScopeId(0), 0);
    let argument = |(dim, size)| {
        let atom = Atom::Argument { function: FunctionId(0), dim };
        indices.atom(atom, Interval::from_size(size), ScopeId(0))
    };
    (0..).zip([4, 6, 5]).map(argument).collect()
}

fn at(indices: &mut Indices, text: &str, dims: &[IndexId]) -> IndexId {
    indices.substitute(&text.parse::<Expr>().unwrap(), dims, &[], &[]).unwrap()
}

#[test]
fn a_reshape_undone_gives_back_the_index() {
    let mut indices = Indices::default();
    let arguments = arguments(&mut indices);
    let linear = at(&mut indices, "d0 * 6 + d1", &arguments);
    assert_eq!(at(&mut indices, "d0 floordiv 6", &[linear]), arguments[0]);
    assert_eq!(at(&mut indices, "d0 mod 6", &[linear]), arguments[1]);
}

#[test]
fn an_atom_is_one_leaf() {
    let mut indices = Indices::default();
    let first = arguments(&mut indices);
    assert_eq!(arguments(&mut indices), first);
    let shifted = at(&mut indices, "d1 + 3", &first);
    assert_eq!(indices.scope(shifted), Some(ScopeId(0)));
    assert_eq!(indices.leaves(shifted), [first[1]]);
    assert_eq!(at(&mut indices, "d0 - 3", &[shifted]), first[1]);
}

#[test]
fn expressions_stay_small_and_right() {
    let mut indices = Indices::default();
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
