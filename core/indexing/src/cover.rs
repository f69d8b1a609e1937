//! Checks whether a map reaches every element of a shape, and how often.

use std::collections::HashMap;
use std::fmt;
use std::ops::ControlFlow;

use super::domain::Evaluator;
use super::proof::{Coverage, Verdict, decide, element_count};
use super::{Expr, IndexingMap, Interval, Point, Variable};

/// Largest number of points that a check enumerates.
const MAX_ENUMERATED: u64 = 1 << 22;
/// Number of points to try if neither a proof nor an enumeration is possible.
const SAMPLES: u64 = 1 << 20;
/// Least number of points to try per map if several maps are checked.
const LEAST_SAMPLES: u64 = 1 << 10;

/// How a check established that maps have the required coverage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The check tried all points.
    Enumerated {
        /// Number of points in the domains of the maps.
        points: u64,
    },
    /// The check proved the coverage by algebra, without trying points.
    Structural,
    /// The check tried only some points, because algebra did not decide, and the maps have too many
    /// points or have runtime variables. Trying some points is not a proof.
    Sampled {
        /// Number of points that the check tried.
        points: u64,
    },
}

/// Values of the variables of a map, in words: `th = 3, bl = 0, s0 = 1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointName(pub String);

/// The reason why a map does not have the required coverage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The number of the map's results differs from the number of the shape's dimensions.
    #[error("the map has {results} results, but the shape has {rank} dimensions")]
    Rank {
        /// Number of results of the map.
        results: usize,
        /// Number of dimensions of the shape.
        rank: usize,
    },
    /// An expression names a variable that the map lacks.
    #[error("the map uses {variable}, which it does not declare")]
    Undeclared {
        /// The variable.
        variable: String,
    },
    /// A map sends a point to an index outside of the shape.
    #[error("element {element:?} is outside of {shape:?} (at {point})")]
    OutOfBounds {
        /// The index.
        element: Vec<i64>,
        /// The shape.
        shape: Vec<i64>,
        /// The point.
        point: PointName,
    },
    /// The maps send two points to the same element.
    #[error("element {element:?} is reached twice (at {first} and at {second})")]
    Twice {
        /// The index.
        element: Vec<i64>,
        /// One point.
        first: PointName,
        /// Another point.
        second: PointName,
    },
    /// There is an element to which the maps send no point.
    #[error("element {element:?} is never reached")]
    Missing {
        /// The index.
        element: Vec<i64>,
    },
    /// The numbers of points and elements differ, so some element is missed or reached twice.
    #[error("the map has {points} points, but the array has {elements} elements")]
    Count {
        /// Number of points of the domain.
        points: u64,
        /// Number of elements of the shape.
        elements: u64,
    },
    /// The check would take too long.
    #[error("the check of the maps takes {steps} steps; the limit is {most}")]
    Costly {
        /// Number of steps of the check: the number of points, multiplied by the steps per point.
        steps: u64,
        /// Largest number of steps allowed.
        most: u64,
    },
}

/// Checks that exactly one point of the domain reaches each element of `shape`, and that the map
/// sends no point to an index outside of the shape. The map must cover the shape in this way for
/// all values of the runtime variables.
///
/// # Errors
/// Returns the first violation found.
pub fn covers_exactly_once(map: &IndexingMap, shape: &[i64]) -> Result<Proof, Violation> {
    check_coverage(map, shape, Coverage::ExactlyOnce)
}

/// Checks whether a map has the required coverage of a shape. Uses algebra if algebra can decide.
/// Otherwise, the check tries all points, or a sample of the points if there are too many.
///
/// # Errors
/// Returns the first violation found.
pub fn check_coverage(map: &IndexingMap, shape: &[i64], coverage: Coverage) -> Result<Proof, Violation> {
    check_joint_coverage(std::slice::from_ref(map), shape, coverage)
}

/// Checks several maps together, as [`check_coverage`] checks one map. For
/// [`Coverage::ExactlyOnce`], no two maps may reach the same element, and all maps together must
/// reach every element.
///
/// # Errors
/// Returns the first violation found.
pub fn check_joint_coverage(maps: &[IndexingMap], shape: &[i64], coverage: Coverage) -> Result<Proof, Violation> {
    check_coverage_within(maps, shape, coverage, u64::MAX)
}

/// Checks several maps like [`check_joint_coverage`]. If algebra cannot decide, the check takes at
/// most `most_steps` steps.
///
/// # Errors
/// Returns the first violation found, or [`Violation::Costly`] if the check would take too long.
pub fn check_coverage_within(
    maps: &[IndexingMap],
    shape: &[i64],
    coverage: Coverage,
    most_steps: u64,
) -> Result<Proof, Violation> {
    for map in maps {
        if map.results.len() != shape.len() {
            return Err(Violation::Rank { results: map.results.len(), rank: shape.len() });
        }
        if let Some(variable) = map.undeclared_variable() {
            return Err(Violation::Undeclared { variable: variable.to_string() });
        }
    }
    let simple: Vec<IndexingMap> = maps.iter().map(IndexingMap::simplify).collect();
    let verdict = decide(&simple, shape, coverage);
    if verdict == Verdict::Proven {
        return Ok(Proof::Structural);
    }
    let points = simple.iter().fold(0u64, |points, map| points.saturating_add(map.box_size()));
    if let Verdict::Reached(reached) = verdict
        && points > MAX_ENUMERATED
    {
        return Err(Violation::Count { points: reached, elements: element_count(shape) });
    }
    let steps = |map: &IndexingMap| map.box_size().min(MAX_ENUMERATED).saturating_mul(map.node_count() as u64);
    let steps = simple.iter().map(steps).fold(0, u64::saturating_add);
    if steps > most_steps {
        return Err(Violation::Costly { steps, most: most_steps });
    }
    if simple.iter().any(|map| !map.runtime.is_empty()) {
        return at_extremes(&simple, shape, coverage);
    }
    if points <= MAX_ENUMERATED {
        return enumerate(&simple, shape, coverage);
    }
    let elements = element_count(shape);
    let unconstrained = simple.iter().all(|map| map.constraints.is_empty());
    if coverage == Coverage::ExactlyOnce && unconstrained && points != elements {
        return Err(Violation::Count { points, elements });
    }
    sample(&simple, shape, coverage)
}

/// Checks the maps twice: with all runtime variables at their smallest values, and with all at
/// their largest values.
fn at_extremes(maps: &[IndexingMap], shape: &[i64], coverage: Coverage) -> Result<Proof, Violation> {
    let mut points = 0;
    for pick in [|v: &Variable| v.bounds.lower, |v: &Variable| v.bounds.upper] {
        let fix = |map: &IndexingMap| {
            let values: Vec<Expr> = map.runtime.iter().map(|v| Expr::constant(pick(v))).collect();
            IndexingMap { runtime: Vec::new(), ..map.substituted(&[], &[], &values) }
        };
        let fixed: Vec<IndexingMap> = maps.iter().map(fix).collect();
        points += match check_joint_coverage(&fixed, shape, coverage)? {
            Proof::Structural => fixed.iter().map(IndexingMap::box_size).fold(0, u64::saturating_add),
            Proof::Enumerated { points } | Proof::Sampled { points } => points,
        };
    }
    Ok(Proof::Sampled { points })
}

fn enumerate(maps: &[IndexingMap], shape: &[i64], coverage: Coverage) -> Result<Proof, Violation> {
    let elements = element_count(shape);
    let mut hits = Hits::new(elements);
    let mut points = 0u64;
    let mut violation = None;
    for map in maps {
        let _ = map.for_each_point(|point| {
            points += 1;
            violation = match position(point.results, shape) {
                None => Some(outside(map, point, shape)),
                Some(element) if coverage != Coverage::InBounds && hits.insert(element) => {
                    Some(twice(maps, map, point))
                }
                Some(_) => None,
            };
            if violation.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if let Some(violation) = violation {
            return Err(violation);
        }
    }
    if coverage == Coverage::ExactlyOnce && points < elements {
        let element = (0..elements).find(|&e| !hits.contains(e)).unwrap_or(0);
        return Err(Violation::Missing { element: index(element, shape) });
    }
    Ok(Proof::Enumerated { points })
}

/// Tries the first, the last, and scattered points of each map.
fn sample(maps: &[IndexingMap], shape: &[i64], coverage: Coverage) -> Result<Proof, Violation> {
    let mut seen: HashMap<u64, (usize, u64)> = HashMap::new();
    let mut points = 0;
    for (which, map) in maps.iter().enumerate() {
        let bounds: Vec<Interval> = map.variables().map(|v| v.bounds).collect();
        let total = map.box_size();
        let mut evaluator = Evaluator::new(map);
        let samples = (SAMPLES / maps.len() as u64).max(LEAST_SAMPLES).min(total);
        for i in 0..samples {
            let number = match i % 4 {
                _ if samples == total => i,
                0 => i / 4,
                1 => total - 1 - i / 4,
                // Multiples of the golden ratio spread evenly over all 64 bits.
                _ => ((u128::from(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)) * u128::from(total)) >> 64) as u64,
            };
            let values = unrank(number, &bounds);
            let Some(point) = evaluator.at(&values) else { continue };
            points += 1;
            let Some(element) = position(point.results, shape) else { return Err(outside(map, point, shape)) };
            let earlier = seen.insert(element, (which, number));
            let other = earlier.filter(|&earlier| earlier != (which, number) && coverage != Coverage::InBounds);
            if let Some((first_map, first)) = other {
                let first_bounds: Vec<Interval> = maps[first_map].variables().map(|v| v.bounds).collect();
                let first = name(&maps[first_map], &unrank(first, &first_bounds));
                return Err(Violation::Twice { element: point.results.to_vec(), first, second: name(map, &values) });
            }
        }
    }
    Ok(Proof::Sampled { points })
}

fn outside(map: &IndexingMap, point: Point<'_>, shape: &[i64]) -> Violation {
    Violation::OutOfBounds { element: point.results.to_vec(), shape: shape.to_vec(), point: name_of(map, point) }
}

/// Returns the violation [`Violation::Twice`]. The point `point` of `map` reaches the same element
/// as an earlier point. Searches the maps again to find that earlier point.
fn twice(maps: &[IndexingMap], map: &IndexingMap, point: Point<'_>) -> Violation {
    let mut first = None;
    for earlier in maps {
        let _ = earlier.for_each_point(|other| {
            if other.results == point.results {
                first = Some(name_of(earlier, other));
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        if first.is_some() {
            break;
        }
    }
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

/// Returns the values of the variables at the point with this number in enumeration order.
fn unrank(mut number: u64, bounds: &[Interval]) -> Vec<i64> {
    let mut values = vec![0; bounds.len()];
    for (value, bound) in values.iter_mut().zip(bounds).rev() {
        let size = bound.size().max(1);
        *value = bound.lower.saturating_add_unsigned(number % size);
        number /= size;
    }
    values
}

/// Returns the row-major position of an index; `None` if it is outside of the shape.
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

/// A set of elements. The set uses one bit per element. If the shape has more than
/// `8 * MAX_ENUMERATED` elements, the set is a hash set.
enum Hits {
    Bits(Vec<u64>),
    Sparse(std::collections::HashSet<u64>),
}

impl Hits {
    fn new(elements: u64) -> Self {
        if elements <= 8 * MAX_ENUMERATED {
            Hits::Bits(vec![0; elements.div_ceil(64) as usize])
        } else {
            Hits::Sparse(std::collections::HashSet::new())
        }
    }

    /// Adds an element. Returns whether the set already contained the element.
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
