//! Index expressions become the shortest operations.

use fusebox_core::indexing::Interval;

use super::{Atom, IndexId, Indices};
use crate::partition::{FunctionId, ScopeId};

const SIZES: [i64; 3] = [4, 6, 5];

/// Indices over three arguments, and what they are at every point.
struct Checked {
    indices: Indices,
    known: Vec<(IndexId, Vec<i64>)>,
}

fn points() -> Vec<[i64; 3]> {
    let mut points = Vec::new();
    for a in 0..SIZES[0] {
        for b in 0..SIZES[1] {
            points.extend((0..SIZES[2]).map(|c| [a, b, c]));
        }
    }
    points
}

impl Checked {
    fn new() -> Self {
        let mut indices = Indices::default();
        let body = ScopeId(0);
        indices.register_scope(body, 0);
        let argument = |(dim, &size): (usize, &i64)| {
            let atom = Atom::Argument { function: FunctionId(0), dim: dim as u32 };
            let id = indices.atom(atom, Interval::from_size(size), body);
            (id, points().iter().map(|point| point[dim]).collect())
        };
        let known = SIZES.iter().enumerate().map(argument).collect();
        Checked { indices, known }
    }

    fn value(&self, id: IndexId) -> &[i64] {
        &self.known.iter().find(|(other, _)| *other == id).unwrap().1
    }

    /// The map of the index gives the values it should, at every point.
    fn check(&mut self, id: IndexId, expected: &[i64]) {
        let (map, operands) = self.indices.map(id);
        for (i, expected) in expected.iter().enumerate() {
            let point: Vec<i64> = operands.iter().map(|&operand| self.value(operand)[i]).collect();
            assert_eq!(map.evaluate(&point, &[], &[]), [*expected], "{map} at {:?}", points()[i]);
        }
        let bounds = self.indices.bounds(id);
        assert!(expected.iter().all(|&x| bounds.contains(x)), "{map}: {bounds:?}");
    }
}

#[test]
fn random_indices_keep_their_values() {
    let mut checked = Checked::new();
    let mut state = 7u64;
    let mut random = |n: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % n
    };
    for _ in 0..400 {
        let n = checked.known.len();
        let (a, x) = checked.known[random(n as u64) as usize].clone();
        let (b, y) = checked.known[random(n as u64) as usize].clone();
        let c = random(9) as i64 + 1;
        if x.iter().chain(&y).any(|v| v.abs() > 1 << 20) {
            continue;
        }
        let (id, values): (IndexId, Vec<i64>) = match random(5) {
            0 => (checked.indices.add(a, b), x.iter().zip(&y).map(|(x, y)| x + y).collect()),
            1 => (checked.indices.offset(a, c - 5), x.iter().map(|x| x + c - 5).collect()),
            2 => (checked.indices.scale(a, c - 4), x.iter().map(|x| x * (c - 4)).collect()),
            3 => (checked.indices.floor_div(a, c), x.iter().map(|x| x.div_euclid(c)).collect()),
            _ => (checked.indices.modulo(a, c), x.iter().map(|x| x.rem_euclid(c)).collect()),
        };
        checked.check(id, &values);
        checked.known.push((id, values));
    }
}

#[test]
fn a_reshape_undone_gives_back_the_index() {
    let mut checked = Checked::new();
    let (i, j) = (checked.known[0].0, checked.known[1].0);
    let indices = &mut checked.indices;
    let scaled = indices.scale(i, 6);
    let linear = indices.add(scaled, j);
    assert_eq!(indices.floor_div(linear, 6), i);
    assert_eq!(indices.modulo(linear, 6), j);
}

#[test]
fn a_slice_of_a_pad_gives_back_the_index() {
    let mut checked = Checked::new();
    let i = checked.known[0].0;
    let indices = &mut checked.indices;
    let shifted = indices.offset(i, 3);
    assert_eq!(indices.offset(shifted, -3), i);
}

#[test]
fn expressions_stay_small() {
    let mut checked = Checked::new();
    let (mut index, j) = (checked.known[0].0, checked.known[1].0);
    for step in 0..100 {
        let sum = checked.indices.add(index, j);
        let scaled = checked.indices.scale(sum, 3);
        index = checked.indices.modulo(scaled, 7 + step % 5);
        let (map, _) = checked.indices.map(index);
        assert!(map.to_string().len() < 1000, "{map}");
    }
}
