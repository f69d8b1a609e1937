//! The offsets of the bytes that points of a visit access.

use fusebox_core::hlo::ArrayShape;
use fusebox_core::indexing::{IndexingMap, Interval, Program};
use fusebox_core::random::SplitMix64;

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
    steps: Vec<Step<'a>>,
    /// Whether runtime variables have random values. If not, each runtime variable has its smallest
    /// value.
    draws: bool,
}

/// A place on the way from the visit to the accessed place.
struct Step<'a> {
    map: &'a IndexingMap,
    first_loop: usize,
    /// Evaluates the map's results.
    results: Program,
    /// For each runtime variable, evaluates the index of the element that is its value.
    runtime: Vec<(Program, usize)>,
}

impl Step<'_> {
    /// Returns the index at this place.
    fn run(&mut self, index: &[i64], inner: &[i64], draws: bool) -> Vec<i64> {
        let loops = inner.get(self.first_loop..).unwrap_or(&[]);
        let mut runtime = lower(self.map);
        if draws {
            for (number, (program, rank)) in self.runtime.iter_mut().enumerate() {
                let mut element = vec![0; *rank];
                program.run(index, loops, &runtime, &mut element);
                runtime[number] = drawn(&element, self.map.runtime[number].bounds);
            }
        }
        let mut next = vec![0; self.map.results.len()];
        self.results.run(index, loops, &runtime, &mut next);
        next
    }
}

/// Returns the smallest values of a map's runtime variables.
fn lower(map: &IndexingMap) -> Vec<i64> {
    map.runtime.iter().map(|it| it.bounds.lower).collect()
}

/// Returns a random value within `bounds` for an element of an array. The value depends only on the
/// element's index.
fn drawn(element: &[i64], bounds: Interval) -> i64 {
    let seed = element.iter().fold(0u64, |seed, &index| SplitMix64(seed ^ index as u64).bits());
    let size = bounds.size().max(1);
    bounds.lower.wrapping_add((seed % size) as i64)
}

impl<'a> Positions<'a> {
    /// Prepares the evaluation at a place. `draws` states whether runtime variables have random
    /// values.
    pub fn new(extent: &'a Extent<'a>, reached: &'a Reached, place: usize, array: &'a Array<'a>, draws: bool) -> Self {
        let mut steps = Vec::new();
        let mut at = place;
        while at != HERE {
            let place = &reached.places[at];
            steps.push(Step {
                map: &place.map,
                first_loop: place.first_loop,
                results: Program::new(&place.map.results),
                runtime: place.runtime.iter().map(|index| (Program::new(index), index.len())).collect(),
            });
            at = place.from;
        }
        steps.reverse();
        let values = vec![0; extent.map.results.len() + extent.map.constraints.len()];
        Positions { extent, array, of_visit: extent.program.clone(), values, steps, draws }
    }

    /// Returns the offset of the accessed byte, or `None` if `constrained` is set and the visit's
    /// constraints exclude the point.
    pub fn of(&mut self, at: &At, constrained: bool) -> Option<i64> {
        let map = self.extent.map;
        self.of_visit.run(&at.dims, &at.ranges, &lower(map), &mut self.values);
        let (index, constraints) = self.values.split_at(map.results.len());
        if constrained && !map.constraints.iter().zip(constraints).all(|(c, &value)| c.bounds.contains(value)) {
            return None;
        }
        let mut index = index.to_vec();
        for step in &mut self.steps {
            index = step.run(&index, &at.inner, self.draws);
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

    /// Returns the distance, in bytes, between the accesses of two successive iterations of a loop.
    pub fn stride(&mut self, base: &At, variable: Option<Loop>) -> i64 {
        let (here, next) = (self.of(base, false), self.of(&base.plus(variable, 1), false));
        here.zip(next).map_or(0, |(here, next)| next.wrapping_sub(here))
    }
}
