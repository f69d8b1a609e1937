//! Sums and quotients written for LLVM: values and ranges.

use fusebox_core::indexing::Interval;

use super::{Indices, Ix};

fn leaf(indices: &mut Indices, size: i64) -> Ix {
    indices.leaf(Interval::from_size(size), 0)
}

/// The row-major number of `coordinates` in `shape`.
fn linear(indices: &mut Indices, coordinates: &[Ix], shape: &[i64]) -> Ix {
    let mut sum = indices.constant(0);
    for (&coordinate, &size) in coordinates.iter().zip(shape) {
        sum = indices.scaled(sum, size);
        sum = indices.add(sum, coordinate);
    }
    sum
}

fn coordinates(indices: &mut Indices, linear: Ix, shape: &[i64]) -> Vec<Ix> {
    let mut stride = 1;
    let mut found: Vec<Ix> = shape
        .iter()
        .rev()
        .map(|&size| {
            let quotient = indices.floor_div(linear, stride);
            stride *= size;
            indices.modulo(quotient, size)
        })
        .collect();
    found.reverse();
    found
}

#[test]
fn splitting_into_coordinates_and_back_is_nothing() {
    let mut indices = Indices::default();
    let shape = [7, 12, 5, 3];
    let number = leaf(&mut indices, 7 * 12 * 5 * 3);
    let split = coordinates(&mut indices, number, &shape);
    assert_eq!(linear(&mut indices, &split, &shape), number);
    let other = coordinates(&mut indices, number, &[84, 15]);
    assert_eq!(linear(&mut indices, &other, &[84, 15]), number);
}

#[test]
fn a_reshape_there_and_back_is_nothing() {
    let mut indices = Indices::default();
    let shape = [7, 12, 5, 3];
    let start: Vec<Ix> = shape.iter().map(|&size| leaf(&mut indices, size)).collect();
    let number = linear(&mut indices, &start, &shape);
    let other = coordinates(&mut indices, number, &[84, 15]);
    let again = linear(&mut indices, &other, &[84, 15]);
    assert_eq!(coordinates(&mut indices, again, &shape), start);
}

#[test]
fn block_thread_and_lane_split_where_they_meet_a_dimension() {
    let mut indices = Indices::default();
    let (block, thread, lane) = (leaf(&mut indices, 64), leaf(&mut indices, 128), leaf(&mut indices, 4));
    let number = linear(&mut indices, &[block, thread, lane], &[64, 128, 4]);
    // Rows of 512: the row is the block, the column needs no division.
    assert_eq!(indices.floor_div(number, 512), block);
    let column = indices.modulo(number, 512);
    assert_eq!(column, linear(&mut indices, &[thread, lane], &[128, 4]));
    assert_eq!(indices.divisibility(column), 1);
    let start = indices.sub(column, lane);
    assert_eq!(indices.divisibility(start), 4);
}

#[test]
fn negative_values_round_down() {
    let mut indices = Indices::default();
    let x = indices.leaf(Interval::new(-8, -5), 0);
    let quotient = indices.floor_div(x, 4);
    assert_eq!(indices.as_constant(quotient), Some(-2));
    let shifted = indices.constant(4);
    let near = indices.add(x, shifted);
    let remainder = indices.modulo(x, 4);
    assert_eq!(indices.range(remainder), Interval::new(0, 3));
    assert_eq!(indices.range(near), Interval::new(-4, -1));
    let quotient = indices.floor_div(near, 4);
    assert_eq!(indices.as_constant(quotient), Some(-1));
}

#[test]
fn deep_chains_stay_small() {
    let mut indices = Indices::default();
    let mut x = leaf(&mut indices, 1 << 20);
    for step in 0..1000 {
        let fresh = leaf(&mut indices, 1000);
        let half = indices.floor_div(x, 2 + step % 3);
        let sum = indices.add(half, fresh);
        x = indices.add(sum, x);
    }
    assert!(indices.nodes.len() < 20_000, "{} nodes", indices.nodes.len());
}
