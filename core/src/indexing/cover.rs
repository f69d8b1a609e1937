//! Whether a map reaches every element of a shape, and how often.

use std::collections::HashMap;
use std::fmt;
use std::ops::ControlFlow;

use super::domain::Evaluator;
use super::{Expr, IndexingMap, Interval, Point, Variable};

/// Up to this many points a map is checked point by point.
const MAX_ENUMERATED: u64 = 1 << 22;
/// Number of points tried where neither a proof nor an enumeration is possible.
const SAMPLES: u64 = 1 << 20;

/// What is demanded of a map from points to elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Every element is hit by exactly one point.
    ExactlyOnce,
    /// No element is hit by two points.
    AtMostOnce,
    /// Nothing outside the shape is hit.
    InBounds,
}

/// Why a check says yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// All points were tried.
    Enumerated {
        /// How many belong to the domain.
        points: u64,
    },
    /// The map was inverted.
    Structural,
    /// Too many points and no inverse: only some were tried. Not a proof.
    Sampled {
        /// How many.
        points: u64,
    },
}

/// Values of the variables of a map, in words: `th = 3, bl = 0, s0 = 1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointName(pub String);

/// Why a check says no.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// As many results as dimensions are needed.
    #[error("the map has {results} results, the shape has {rank} dimensions")]
    Rank {
        /// Results of the map.
        results: usize,
        /// Dimensions of the shape.
        rank: usize,
    },
    /// An expression names a variable that the map lacks.
    #[error("the map uses {variable}, which it does not declare")]
    Undeclared {
        /// The variable.
        variable: String,
    },
    /// A point leads outside.
    #[error("element {element:?} is outside of {shape:?} (at {point})")]
    OutOfBounds {
        /// The index.
        element: Vec<i64>,
        /// The shape.
        shape: Vec<i64>,
        /// Where.
        point: PointName,
    },
    /// Two points lead to the same element.
    #[error("element {element:?} is reached twice (at {first} and at {second})")]
    Twice {
        /// The index.
        element: Vec<i64>,
        /// One point.
        first: PointName,
        /// Another one.
        second: PointName,
    },
    /// No point leads there.
    #[error("element {element:?} is never reached")]
    Missing {
        /// The index.
        element: Vec<i64>,
    },
    /// Not as many points as elements, so some element is missed or reached twice.
    #[error("{points} points for {elements} elements")]
    Count {
        /// Points of the domain.
        points: u64,
        /// Elements of the shape.
        elements: u64,
    },
}

/// Checks that every element of `shape` is the result of exactly one point of the domain and that no point
/// leads outside. Runtime variables are parameters: this has to hold for each of their values.
///
/// # Errors
/// The first violation found.
pub fn covers_exactly_once(map: &IndexingMap, shape: &[i64]) -> Result<Proof, Violation> {
    check_coverage(map, shape, Coverage::ExactlyOnce)
}

/// Checks how a map reaches the elements of a shape: by inversion, else point by point, else by samples.
///
/// # Errors
/// The first violation found.
pub fn check_coverage(map: &IndexingMap, shape: &[i64], coverage: Coverage) -> Result<Proof, Violation> {
    if map.results.len() != shape.len() {
        return Err(Violation::Rank { results: map.results.len(), rank: shape.len() });
    }
    if let Some(variable) = map.undeclared_variable() {
        return Err(Violation::Undeclared { variable: variable.to_string() });
    }
    let simple = map.simplify();
    if proves(&simple, shape, coverage) {
        return Ok(Proof::Structural);
    }
    if !simple.runtime.is_empty() {
        return at_extremes(&simple, shape, coverage);
    }
    if simple.box_size() <= MAX_ENUMERATED {
        return enumerate(&simple, shape, coverage);
    }
    let elements = shape.iter().fold(1u64, |n, &d| n.saturating_mul(d.max(0) as u64));
    let points = simple.box_size();
    if coverage == Coverage::ExactlyOnce && simple.constraints.is_empty() && points != elements {
        return Err(Violation::Count { points, elements });
    }
    sample(&simple, shape, coverage)
}

/// Whether ranges and the inverse tell enough.
fn proves(map: &IndexingMap, shape: &[i64], coverage: Coverage) -> bool {
    if map.is_known_empty() {
        return coverage != Coverage::ExactlyOnce || shape.contains(&0);
    }
    let inside = map.results.iter().zip(shape).all(|(result, &size)| map.always(result, Interval::from_size(size)));
    if !inside || coverage == Coverage::InBounds {
        return inside;
    }
    let targets = shape.iter().map(|&size| Variable::from_size(size)).collect();
    match map.inverse_over(targets) {
        // The inverse exists: no element twice. Its domain is the whole shape: none is missed.
        Some(inverse) => coverage == Coverage::AtMostOnce || inverse.constraints.is_empty(),
        None => false,
    }
}

/// Fixes the runtime variables at their smallest, then at their largest values.
fn at_extremes(map: &IndexingMap, shape: &[i64], coverage: Coverage) -> Result<Proof, Violation> {
    let mut points = 0;
    for pick in [|v: &Variable| v.bounds.lower, |v: &Variable| v.bounds.upper] {
        let values: Vec<Expr> = map.runtime.iter().map(|v| Expr::constant(pick(v))).collect();
        let fixed = IndexingMap { runtime: Vec::new(), ..map.substituted(&[], &[], &values) };
        points += match check_coverage(&fixed, shape, coverage)? {
            Proof::Structural => fixed.box_size(),
            Proof::Enumerated { points } | Proof::Sampled { points } => points,
        };
    }
    Ok(Proof::Sampled { points })
}

fn enumerate(map: &IndexingMap, shape: &[i64], coverage: Coverage) -> Result<Proof, Violation> {
    let elements = shape.iter().fold(1u64, |n, &d| n.saturating_mul(d.max(0) as u64));
    let mut hits = Hits::new(elements);
    let mut points = 0u64;
    let mut violation = None;
    let _ = map.for_each_point(|point| {
        points += 1;
        violation = match position(point.results, shape) {
            None => Some(outside(map, point, shape)),
            Some(element) if coverage != Coverage::InBounds && hits.insert(element) => Some(twice(map, point)),
            Some(_) => None,
        };
        if violation.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if let Some(violation) = violation {
        return Err(violation);
    }
    if coverage == Coverage::ExactlyOnce && points < elements {
        let element = (0..elements).find(|&e| !hits.contains(e)).unwrap_or(0);
        return Err(Violation::Missing { element: index(element, shape) });
    }
    Ok(Proof::Enumerated { points })
}

/// The first, the last, and scattered points.
fn sample(map: &IndexingMap, shape: &[i64], coverage: Coverage) -> Result<Proof, Violation> {
    let bounds: Vec<Interval> = map.variables().map(|v| v.bounds).collect();
    let total = map.box_size();
    let mut evaluator = Evaluator::new(map);
    let mut seen: HashMap<u64, u64> = HashMap::new();
    let mut points = 0;
    for i in 0..SAMPLES {
        let number = match i % 4 {
            0 => i / 4,
            1 => total - 1 - i / 4,
            // Multiples of the golden ratio spread evenly over all 64 bits.
            _ => ((u128::from(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)) * u128::from(total)) >> 64) as u64,
        };
        let values = unrank(number, &bounds);
        let Some(point) = evaluator.at(&values) else { continue };
        points += 1;
        let Some(element) = position(point.results, shape) else { return Err(outside(map, point, shape)) };
        let earlier = seen.insert(element, number);
        if let Some(earlier) = earlier.filter(|&earlier| earlier != number && coverage != Coverage::InBounds) {
            let first = name(map, &unrank(earlier, &bounds));
            return Err(Violation::Twice { element: point.results.to_vec(), first, second: name(map, &values) });
        }
    }
    Ok(Proof::Sampled { points })
}

fn outside(map: &IndexingMap, point: Point<'_>, shape: &[i64]) -> Violation {
    Violation::OutOfBounds { element: point.results.to_vec(), shape: shape.to_vec(), point: name_of(map, point) }
}

/// Looks again for the first point that hit the element.
fn twice(map: &IndexingMap, point: Point<'_>) -> Violation {
    let mut first = None;
    let _ = map.for_each_point(|other| {
        if other.results == point.results {
            first = Some(name_of(map, other));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    let second = name_of(map, point);
    Violation::Twice { element: point.results.to_vec(), first: first.unwrap_or_else(|| second.clone()), second }
}

fn name_of(map: &IndexingMap, point: Point<'_>) -> PointName {
    name(map, &[point.dims, point.ranges, point.runtime].concat())
}

fn name(map: &IndexingMap, values: &[i64]) -> PointName {
    let names = map.variable_names();
    let pairs: Vec<String> = names.iter().zip(values).map(|(name, value)| format!("{name} = {value}")).collect();
    PointName(pairs.join(", "))
}

/// The values of the variables at a position in enumeration order.
fn unrank(mut number: u64, bounds: &[Interval]) -> Vec<i64> {
    let mut values = vec![0; bounds.len()];
    for (value, bound) in values.iter_mut().zip(bounds).rev() {
        let size = bound.size().max(1);
        *value = bound.lower.saturating_add_unsigned(number % size);
        number /= size;
    }
    values
}

/// Row-major position of an index; `None` outside of the shape.
fn position(index: &[i64], shape: &[i64]) -> Option<u64> {
    let mut position = 0u64;
    for (&i, &size) in index.iter().zip(shape) {
        if i < 0 || i >= size {
            return None;
        }
        position = position.wrapping_mul(size as u64).wrapping_add(i as u64);
    }
    Some(position)
}

fn index(mut position: u64, shape: &[i64]) -> Vec<i64> {
    let mut index = vec![0; shape.len()];
    for (i, &size) in index.iter_mut().zip(shape).rev() {
        let size = size.max(1) as u64;
        *i = (position % size) as i64;
        position /= size;
    }
    index
}

/// A set of elements. A shape much larger than the number of points is not worth a bit per element.
enum Hits {
    Bits(Vec<u64>),
    Sparse(std::collections::HashSet<u64>),
}

impl Hits {
    fn new(elements: u64) -> Self {
        match elements <= 8 * MAX_ENUMERATED {
            true => Hits::Bits(vec![0; elements.div_ceil(64) as usize]),
            false => Hits::Sparse(std::collections::HashSet::new()),
        }
    }

    /// Whether it was there already.
    fn insert(&mut self, element: u64) -> bool {
        match self {
            Hits::Sparse(set) => !set.insert(element),
            Hits::Bits(bits) => {
                let mask = 1 << (element % 64);
                let word = &mut bits[(element / 64) as usize];
                let known = *word & mask != 0;
                *word |= mask;
                known
            }
        }
    }

    fn contains(&self, element: u64) -> bool {
        match self {
            Hits::Sparse(set) => set.contains(&element),
            Hits::Bits(bits) => bits[(element / 64) as usize] & (1 << (element % 64)) != 0,
        }
    }
}

impl fmt::Display for PointName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
