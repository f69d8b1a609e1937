//! The offsets of the bytes that points of a visit access.

use fusebox_core::hlo::ArrayShape;
use fusebox_core::indexing::{IndexingMap, Program};

use crate::extent::Extent;
use crate::reached::{HERE, MOST_UNROLLED, Reached, SHORT_LOOP};

/// An array in memory.
pub struct Array<'a> {
    pub dims: &'a [i64],
    /// Bytes of an element.
    pub element: i64,
    /// Bytes of the whole array.
    pub bytes: f64,
}

impl<'a> Array<'a> {
    /// Describes the array of a shape.
    pub fn of(shape: &'a ArrayShape) -> Self {
        let element = shape.element_type.byte_size() as i64;
        Array { dims: &shape.dims, element, bytes: shape.byte_size().max(0) as f64 }
    }
}

/// A loop of the visit (`Range`) or a loop around a place (`Inner`), by number.
#[derive(Clone, Copy)]
pub enum Loop {
    /// A loop of the visit.
    Range(usize),
    /// A loop around the place.
    Inner(usize),
}

/// Values of all variables at one point.
#[derive(Clone)]
pub struct At {
    pub dims: [i64; 2],
    pub ranges: Vec<i64>,
    pub inner: Vec<i64>,
}

impl At {
    /// Returns the point at which `variable` is larger by `by` and all other variables are equal.
    pub fn plus(&self, variable: Option<Loop>, by: i64) -> At {
        let mut at = self.clone();
        match variable {
            Some(Loop::Range(number)) => at.ranges[number] = at.ranges[number].wrapping_add(by),
            Some(Loop::Inner(number)) => at.inner[number] = at.inner[number].wrapping_add(by),
            None => {}
        }
        at
    }
}

/// Maps the values of all variables to the offset of the accessed byte.
pub struct Positions<'a> {
    extent: &'a Extent<'a>,
    array: &'a Array<'a>,
    of_visit: Program,
    values: Vec<i64>,
    /// For each place on the way from the visit to the accessed place: the map, its first loop, and
    /// a program that evaluates the map's results.
    steps: Vec<(&'a IndexingMap, usize, Program)>,
}

impl<'a> Positions<'a> {
    /// Prepares the evaluation at a place.
    pub fn new(extent: &'a Extent<'a>, reached: &'a Reached, place: usize, array: &'a Array<'a>) -> Self {
        let mut steps = Vec::new();
        let mut at = place;
        while at != HERE {
            let place = &reached.places[at];
            steps.push((&place.map, place.first_loop, Program::new(&place.map.results)));
            at = place.from;
        }
        steps.reverse();
        let values = vec![0; extent.map.results.len() + extent.map.constraints.len()];
        Positions { extent, array, of_visit: extent.program.clone(), values, steps }
    }

    /// Returns the offset of the accessed byte, or `None` if `constrained` is set and the visit's
    /// constraints exclude the point.
    pub fn of(&mut self, at: &At, constrained: bool) -> Option<i64> {
        let map = self.extent.map;
        let lower = |map: &IndexingMap| map.runtime.iter().map(|it| it.bounds.lower).collect::<Vec<i64>>();
        self.of_visit.run(&at.dims, &at.ranges, &lower(map), &mut self.values);
        let (index, constraints) = self.values.split_at(map.results.len());
        if constrained && !map.constraints.iter().zip(constraints).all(|(c, &value)| c.bounds.contains(value)) {
            return None;
        }
        let mut index = index.to_vec();
        for (map, first_loop, program) in &mut self.steps {
            let mut next = vec![0; map.results.len()];
            program.run(&index, at.inner.get(*first_loop..).unwrap_or(&[]), &lower(map), &mut next);
            index = next;
        }
        let dims = index.iter().zip(self.array.dims);
        let element = dims.fold(0i64, |sum, (&i, &size)| sum.wrapping_mul(size).wrapping_add(i));
        Some(element.wrapping_mul(self.array.element))
    }

    /// If the short innermost loops over a window are unrolled, removes these loops from `loops`
    /// and returns them; otherwise returns no loops. The loops are unrolled if the loop around them
    /// is vectorised, which requires that adjacent points read adjacent elements.
    pub fn unrolled(&mut self, base: &At, loops: &mut Vec<(Loop, i64)>) -> Vec<(Loop, i64)> {
        let is_short = |&(variable, size): &(Loop, i64)| matches!(variable, Loop::Inner(_)) && size <= SHORT_LOOP;
        let rest = loops.iter().rposition(|it| !is_short(it)).map_or(0, |last| last + 1);
        let elements: i64 = loops[rest..].iter().map(|&(_, size)| size).product();
        let around = rest.checked_sub(1).map(|last| loops[last].0);
        let is_window = loops.len() > rest && elements as f64 <= MOST_UNROLLED && around.is_some();
        if is_window && self.stride(base, around) == self.array.element { loops.split_off(rest) } else { Vec::new() }
    }

    /// Returns the bytes from one iteration of a loop to the next.
    pub fn stride(&mut self, base: &At, variable: Option<Loop>) -> i64 {
        let (here, next) = (self.of(base, false), self.of(&base.plus(variable, 1), false));
        here.zip(next).map_or(0, |(here, next)| next.wrapping_sub(here))
    }
}
