//! Description of a scan: operand, dimension, combiner and results.

use fusebox_core::analysis::{Direction, cumulative, hero_of, hero_to_root};
use fusebox_core::cost;
use fusebox_core::emitter::{Analysis, Decline, Fusion};
use fusebox_core::hlo::{Computation, ElementType, InstrId, Op};
use fusebox_core::indexing::{Expr, IndexingMap, delinearize};

/// Largest number of elements that the emitters accept. No memory holds more elements, and counts
/// up to this number do not overflow.
const MOST_ELEMENTS: i64 = 1 << 48;

/// A fusion around a cumulative reduction.
#[derive(Debug)]
pub struct Scan {
    /// The `reduce-window`.
    pub hero: InstrId,
    pub operand: InstrId,
    pub initial: InstrId,
    pub element: ElementType,
    pub sizes: ScanSizes,
    pub direction: Direction,
    /// Map from `(outer, step, inner)` to the index of the hero and its operand.
    pub at: IndexingMap,
    /// Results, grouped by dimensions.
    pub roots: Vec<ScanRoots>,
    /// Cost of one call of the combiner, as a number of additions.
    pub combination: f64,
}

/// Sizes of a scan. A *line* is a sequence of elements that the scan combines. There are `outer *
/// inner` lines with `steps` elements each. The distance between consecutive elements of a line is
/// `inner` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanSizes {
    pub outer: i64,
    pub steps: i64,
    pub inner: i64,
}

/// Results that are written at the same index.
#[derive(Debug)]
pub struct ScanRoots {
    pub instructions: Vec<InstrId>,
    /// Positions of the results in the list of the fusion's outputs.
    pub outputs: Vec<usize>,
    /// Map from `(outer, step, inner)` to the index of the results.
    pub at: IndexingMap,
}

impl Scan {
    pub fn lines(&self) -> i64 {
        self.sizes.outer * self.sizes.inner
    }

    pub fn elements(&self) -> i64 {
        self.lines() * self.sizes.steps
    }
}

impl Analysis for Scan {
    fn of(fusion: &Fusion) -> Result<Self, Decline> {
        let computation = fusion.computation();
        let (hero, dimension, direction) = the_scan(computation)?;
        let instruction = computation.instruction(hero);
        let [operand, initial] = instruction.operands[..] else {
            return Err(Decline::at(instruction, "it scans several arrays together"));
        };
        let array = instruction.shape.as_array().ok_or_else(|| Decline::at(instruction, "it is no array"))?;
        let dims = &array.dims;
        let product = |sizes: &[i64]| sizes.iter().fold(1i64, |n, &size| n.saturating_mul(size));
        let sizes = ScanSizes {
            outer: product(&dims[..dimension]),
            steps: dims[dimension],
            inner: product(&dims[dimension + 1..]),
        };
        if !(1..=MOST_ELEMENTS).contains(&product(dims)) {
            return Err(Decline::at(instruction, "it has no elements, or more than any memory holds"));
        }
        let at = of_scan(dims, sizes, direction);
        let combiner = instruction.op.applied().map(|id| fusion.module.computation(id));
        let roots = roots(fusion, hero, &at)?;
        let element = array.element_type;
        let combination = combiner.map_or(1.0, cost::of_computation);
        Ok(Scan { hero, operand, initial, element, sizes, direction, at, roots, combination })
    }
}

/// Returns the only cumulative reduction, its dimension and its direction.
fn the_scan(computation: &Computation) -> Result<(InstrId, usize, Direction), Decline> {
    let scans = computation.ids().filter_map(|id| {
        let instruction = computation.instruction(id);
        let Op::ReduceWindow { window, .. } = &instruction.op else { return None };
        let (dimension, direction) = cumulative(window, &instruction.shape.as_array()?.dims)?;
        Some((id, dimension, direction))
    });
    let scans: Vec<_> = scans.collect();
    match scans[..] {
        [scan] => Ok(scan),
        [] => {
            Err(Decline::new("there is no cumulative reduce-window, whose windows reach from each element to the edge"))
        }
        [_, (other, ..), ..] => Err(Decline::at(computation.instruction(other), "there is more than one scan")),
    }
}

/// Returns the map from `(outer, step, inner)` to the index of an array of dimensions `dims`. Step
/// 0 is the first step in the direction of the scan.
fn of_scan(dims: &[i64], sizes: ScanSizes, direction: Direction) -> IndexingMap {
    let ScanSizes { outer, steps, inner } = sizes;
    let step = match direction {
        Direction::Forward => Expr::dim(1),
        Direction::Backward => Expr::constant(steps - 1) - Expr::dim(1),
    };
    let position = (Expr::dim(0) * steps + step) * inner + Expr::dim(2);
    IndexingMap::from_tensor_sizes(delinearize(&position, dims), &[outer, steps, inner], &[]).simplify()
}

/// Groups the results by dimensions. All results must be elementwise functions of the scan.
fn roots(fusion: &Fusion, hero: InstrId, at: &IndexingMap) -> Result<Vec<ScanRoots>, Decline> {
    let computation = fusion.computation();
    let mut groups: Vec<ScanRoots> = Vec::new();
    for (output, &root) in fusion.roots.iter().enumerate() {
        let instruction = computation.instruction(root);
        let hero_of_root = hero_of(computation, root, |id| (id == hero).then_some(()));
        let index = hero_of_root.instruction.and_then(|_| hero_to_root(computation.instruction(hero), instruction));
        let index = index.ok_or_else(|| Decline::at(instruction, hero_of_root.reason))?;
        let index =
            at.then(&index).ok_or_else(|| Decline::at(instruction, "its index does not follow from the scan's"))?;
        let index = index.simplify();
        let dims = |id: InstrId| computation.instruction(id).shape.as_array().map(|array| &array.dims);
        match groups.iter_mut().find(|group| dims(group.instructions[0]) == dims(root)) {
            Some(group) => {
                group.instructions.push(root);
                group.outputs.push(output);
            }
            None => groups.push(ScanRoots { instructions: vec![root], outputs: vec![output], at: index }),
        }
    }
    Ok(groups)
}
