//! Counts the cache lines that threads touch at a few neighbouring points, and extrapolates to all
//! points.
//!
//! ```text
//! group     points read together: lanes of a warp's threads, or iterations of the innermost loop
//! window    successive groups of the next loop; shows which lines are still cached from earlier ones
//! ```

use std::collections::{BTreeSet, HashSet};

use super::reached::{Reached, SHORT_LOOP, WHERE, WRITTEN_OUT};
use crate::cost::CACHED_BYTES;
use crate::device::DeviceDescription;
use crate::hlo::ArrayShape;
use crate::indexing::{Constraint, Expr, ExprKind, IndexingMap, Interval, Program, Variable};

/// Number of pieces of a cache line. A GPU's memory delivers each piece separately.
const PIECES: i64 = 4;
/// Largest number of iterations of a loop that are simulated.
const MOST_TURNS: i64 = 32;
/// Largest number of groups of a warp that are simulated.
const WARP_GROUPS: i64 = 4;
/// Largest number of elements in one access of a GPU thread.
const MOST_LANES: i64 = 16;
/// Bytes of the smallest type in which kernels compute.
const LEAST_COMPUTED: i64 = 4;

/// Returns the bytes that memory delivers at once.
pub fn line_bytes(device: &DeviceDescription) -> i64 {
    let line = i64::from(device.cache_line_bytes.max(PIECES as u32));
    if device.is_single_threaded_block() { line } else { line / PIECES }
}

/// An array in memory.
pub struct Array<'a> {
    dims: &'a [i64],
    element: i64,
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

/// The points of a visit.
pub struct Extent<'a> {
    map: &'a IndexingMap,
    /// Program that evaluates the results and constraints of the map.
    program: Program,
    /// Ranges of the threads and of the blocks that have points.
    dims: [Interval; 2],
    /// Number of points, including points that constraints exclude.
    pub points: f64,
    /// Number of points per thread.
    pub turns: f64,
    /// Number of blocks that have points.
    pub blocks: f64,
    /// Number of points of the innermost loop. A short innermost loop and the loop around it are
    /// treated as one loop.
    pub innermost: f64,
    /// Number of quotients and remainders that are computed per point.
    pub divisions: f64,
}

impl<'a> Extent<'a> {
    /// Computes the extent of a map whose dimensions are threads and blocks. Returns `None` if
    /// there are no points.
    pub fn new(map: &'a IndexingMap) -> Option<Self> {
        let bounds = |dim: u32| {
            let own = |c: &&Constraint| *c.expr.kind() == ExprKind::Dim(dim);
            let constraints = map.constraints.iter().filter(own).map(|c| c.bounds);
            constraints.fold(map.dims.get(dim as usize).map_or(Interval::point(0), |it| it.bounds), Interval::intersect)
        };
        let dims = [bounds(0), bounds(1)];
        let size = |interval: &Interval| interval.size() as f64;
        let turns: f64 = map.ranges.iter().map(|range| size(&range.bounds)).product();
        let points = turns * dims.iter().map(size).product::<f64>();
        let exprs: Vec<Expr> = map.results.iter().chain(map.constraints.iter().map(|c| &c.expr)).cloned().collect();
        let (mut innermost, mut around) = (1.0, map.ranges.iter().rev().map(|range| size(&range.bounds)));
        while innermost <= WRITTEN_OUT {
            let Some(turns) = around.next() else { break };
            innermost *= turns;
        }
        let blocks = size(&dims[1]);
        let divisions = divisions(map, &exprs);
        (points > 0.0).then(|| Extent {
            program: Program::new(&exprs),
            map,
            dims,
            points,
            turns,
            blocks,
            innermost,
            divisions,
        })
    }

    /// Returns the number of points that one instruction of a cpu core processes. The number is 1
    /// if the accesses to an array in `reads` do not allow vectors.
    pub fn vector_lanes(&self, device: &DeviceDescription, reads: &[(Touched, f64, f64)]) -> f64 {
        let widest = reads.iter().map(|(touched, ..)| touched.element).max().unwrap_or(0).max(LEAST_COMPUTED);
        let fits = device.is_single_threaded_block() && reads.iter().all(|(touched, ..)| touched.is_vector());
        if fits { f64::from(device.vector_bytes) / widest as f64 } else { 1.0 }
    }
}

/// Returns the number of quotients and remainders that are computed per point. A quotient that
/// depends on loops is computed once per iteration of the innermost loop on which it depends.
/// Quotients that depend on the innermost loop of all mostly cancel out in the memory address.
fn divisions(map: &IndexingMap, exprs: &[Expr]) -> f64 {
    let mut pending: Vec<&Expr> = exprs.iter().collect();
    let mut found: HashSet<&Expr> = HashSet::new();
    let mut count = 0.0;
    while let Some(expr) = pending.pop() {
        let kind = expr.kind();
        let Some((a, b)) = kind.operands() else { continue };
        let mut innermost = None;
        if matches!(kind, ExprKind::FloorDiv(..) | ExprKind::Mod(..)) {
            a.visit_leaves(&mut |leaf| {
                if let ExprKind::Range(number) = *leaf {
                    innermost = innermost.max(Some(number as usize));
                }
            });
        }
        if let Some(number) = innermost
            && found.insert(expr)
        {
            let inside: f64 = map.ranges.iter().skip(number + 1).map(|range| range.bounds.size() as f64).product();
            count += if inside > 1.0 { 1.0 / inside } else { 0.0 };
        }
        pending.extend([a, b]);
    }
    count
}

/// Measures of the accesses to an array.
#[derive(Clone, Copy, Debug)]
pub struct Touched {
    /// Number of cache lines per point that are requested from the nearest cache.
    pub near: f64,
    /// Number of cache lines per point that come from memory. Earlier accesses have brought the
    /// other lines into a cache.
    pub far: f64,
    /// Number of cache lines per point that miss the nearest cache.
    pub missed: f64,
    /// Fraction of the points that constraints do not exclude.
    pub active: f64,
    /// Number of elements in one access of a thread.
    pub lanes: f64,
    /// Number of pieces of cache lines that one access of a warp reads.
    pub pieces: f64,
    /// Whether all points of a group access the same element.
    pub is_fixed: bool,
    /// Number of accesses per vector: 1 if the elements are contiguous, more if they are shuffled,
    /// 0 if they are far apart.
    pub shuffled: f64,
    element: i64,
}

impl Touched {
    /// Whether adjacent iterations of the innermost loop access adjacent elements in memory, or the
    /// same element.
    pub fn is_vector(&self) -> bool {
        self.is_fixed || self.shuffled > 0.0
    }
}

/// A loop of the visit (`Range`) or a loop around a place (`Inner`), by number.
#[derive(Clone, Copy)]
enum Loop {
    Range(usize),
    Inner(usize),
}

/// Values of all variables at one point.
#[derive(Clone)]
struct At {
    dims: [i64; 2],
    ranges: Vec<i64>,
    inner: Vec<i64>,
}

impl At {
    fn plus(&self, variable: Option<Loop>, by: i64) -> At {
        let mut at = self.clone();
        match variable {
            Some(Loop::Range(number)) => at.ranges[number] = at.ranges[number].wrapping_add(by),
            Some(Loop::Inner(number)) => at.inner[number] = at.inner[number].wrapping_add(by),
            None => {}
        }
        at
    }
}

/// Computes the cache lines that reading or writing an array at a place touches.
pub fn touched(extent: &Extent, reached: &Reached, place: usize, array: &Array, device: &DeviceDescription) -> Touched {
    let mut positions = Positions::new(extent, reached, place, array);
    // A plan may state any size by mistake, even one that does not fit into 64 bits.
    let turns_of = |range: &Variable| i64::try_from(range.bounds.size()).unwrap_or(i64::MAX);
    let ranges = extent.map.ranges.iter().enumerate().map(|(n, range)| (Loop::Range(n), turns_of(range)));
    let inner = reached.places[place].loops.iter().enumerate().map(|(n, &size)| (Loop::Inner(n), size));
    let mut loops: Vec<(Loop, i64)> = ranges.chain(inner).filter(|&(_, size)| size > 1).collect();
    let base = At {
        dims: extent.dims.map(|interval| interval.lower),
        ranges: extent.map.ranges.iter().map(|range| range.bounds.lower).collect(),
        inner: vec![0; reached.places[place].loops.len()],
    };
    let is_cpu = device.is_single_threaded_block();
    let per_line = (line_bytes(device) / array.element.max(1)).clamp(8, MOST_TURNS);
    let is_window = is_cpu && reached.places[place].is_of_window;
    let written_out = if is_window { positions.written_out(&base, &mut loops) } else { Vec::new() };
    let last = loops.last().map(|&(variable, _)| variable);
    let stride = positions.stride(&base, last);
    let around = loops.len().checked_sub(2).map(|before| loops[before].0);
    let shuffled = match loops.last() {
        _ if stride == array.element => 1.0,
        // A short loop of `size` iterations loads `size` vectors and shuffles them into `size`
        // other vectors in `log2(size)` rounds.
        Some(&(_, size)) if size <= SHORT_LOOP && positions.stride(&base, around) == array.element => {
            1.0 + (size as f64).log2()
        }
        _ => 0.0,
    };
    // Loops over the points that a thread reads together.
    let mut group: Vec<(Loop, i64)> = Vec::new();
    let mut inner_turns = 1i64;
    if is_cpu {
        if let Some((variable, size)) = loops.pop() {
            group.push((variable, size.min(per_line)));
            inner_turns = size;
        }
        group.extend(&written_out);
    } else {
        while let Some(&(variable @ Loop::Range(_), size)) = loops.last()
            && inner_turns.saturating_mul(size) <= MOST_LANES
        {
            group.push((variable, size));
            inner_turns *= size;
            loops.pop();
        }
    }
    let count: i64 = group.iter().map(|&(_, size)| size).product();
    let threads = if is_cpu { 1 } else { extent.dims[0].size().min(device.warp_size.into()) as i64 };
    let (next, turns) = match loops.last() {
        Some(&(next, size)) => (Some(next), size.min(if is_cpu { per_line } else { WARP_GROUPS })),
        None => (None, 1),
    };
    let line = line_bytes(device);
    // Cache lines are numbered from the first accessed byte, as if a line started there. The real
    // offset of this byte in its line is not typical of other accesses.
    let origin = positions.of(&base, false).unwrap_or(0);
    let (mut first, mut all, mut found, mut positions_of_first) = (HashSet::new(), HashSet::new(), 0, HashSet::new());
    let mut of_thread = BTreeSet::new();
    for turn in 0..turns {
        for lane in 0..count {
            for thread in 0..threads {
                let mut at = base.plus(next, turn);
                let mut rest = lane;
                for &(variable, size) in &group {
                    at = at.plus(Some(variable), rest % size);
                    rest /= size;
                }
                at.dims[0] = at.dims[0].wrapping_add(thread);
                let Some(position) = positions.of(&at, true) else { continue };
                found += 1;
                let number = position.wrapping_sub(origin).div_euclid(line);
                all.insert(number);
                if turn == 0 {
                    first.insert(number);
                    positions_of_first.insert(position);
                    if thread == 0 {
                        of_thread.insert(position);
                    }
                }
            }
        }
    }
    let of_group = (threads * count) as f64;
    let fixed = positions_of_first.len() <= 1 && (count > 1 || !is_cpu);
    let is_row = is_cpu && stride == array.element;
    let of_point = first.len() as f64 / of_group;
    let near = if is_row && written_out.is_empty() { array.element as f64 / line as f64 } else { of_point };
    let again = all.len() as f64 / (first.len().max(1) as f64 * turns as f64);
    // The next group finds the lines of the previous group in the cache if the cache is large
    // enough. The cache must hold the lines of the whole innermost loop (cpu), or of all threads of
    // a core (GPU).
    let held = if is_cpu {
        near * inner_turns as f64 * line as f64
    } else {
        near * count as f64 * f64::from(device.max_threads_per_core) * line as f64
    };
    let stays = held <= device.core_cache_bytes as f64 / 2.0;
    let new = near * again.min(1.0);
    let far = if stays { new } else { near };
    let missed = match CACHED_BYTES as f64 {
        nearest if array.bytes <= nearest => 0.0,
        nearest if held <= nearest => new,
        _ => near,
    };
    Touched {
        near,
        far,
        missed,
        active: found as f64 / (of_group * turns as f64),
        lanes: if is_cpu { 1.0 } else { lanes(&of_thread, array.element) },
        pieces: first.len() as f64,
        is_fixed: fixed,
        shuffled,
        element: array.element,
    }
}

/// Returns the number of elements in one vector access of a thread that accesses `positions`. This
/// is the mean length of contiguous runs.
fn lanes(positions: &BTreeSet<i64>, element: i64) -> f64 {
    let pairs = positions.iter().zip(positions.iter().skip(1));
    let gaps = pairs.filter(|(a, b)| b.wrapping_sub(**a) != element).count();
    positions.len().max(1) as f64 / (gaps + 1) as f64
}

/// Maps the values of all variables to the offset of the accessed byte.
struct Positions<'a> {
    extent: &'a Extent<'a>,
    array: &'a Array<'a>,
    of_visit: Program,
    values: Vec<i64>,
    /// For each place on the way from the visit to the accessed place: the map, its first loop, and
    /// a program that evaluates the map's results.
    steps: Vec<(&'a IndexingMap, usize, Program)>,
}

impl<'a> Positions<'a> {
    fn new(extent: &'a Extent<'a>, reached: &'a Reached, place: usize, array: &'a Array<'a>) -> Self {
        let mut steps = Vec::new();
        let mut at = place;
        while at != WHERE {
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
    fn of(&mut self, at: &At, constrained: bool) -> Option<i64> {
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
    fn written_out(&mut self, base: &At, loops: &mut Vec<(Loop, i64)>) -> Vec<(Loop, i64)> {
        let is_short = |&(variable, size): &(Loop, i64)| matches!(variable, Loop::Inner(_)) && size <= SHORT_LOOP;
        let rest = loops.iter().rposition(|it| !is_short(it)).map_or(0, |last| last + 1);
        let elements: i64 = loops[rest..].iter().map(|&(_, size)| size).product();
        let around = rest.checked_sub(1).map(|last| loops[last].0);
        let is_window = loops.len() > rest && elements as f64 <= WRITTEN_OUT && around.is_some();
        if is_window && self.stride(base, around) == self.array.element { loops.split_off(rest) } else { Vec::new() }
    }

    /// Returns the bytes from one iteration of a loop to the next.
    fn stride(&mut self, base: &At, variable: Option<Loop>) -> i64 {
        let (here, next) = (self.of(base, false), self.of(&base.plus(variable, 1), false));
        here.zip(next).map_or(0, |(here, next)| next.wrapping_sub(here))
    }
}
