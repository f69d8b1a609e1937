//! Description of one operand of a product: the elements that the kernel reads, and the dimension
//! that is contiguous in memory.

use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{ElementType, InstrId};
use fusebox_core::indexing::{Expr, IndexingMap, Reading, delinearize, maps_from};

use crate::operand_runs::OperandRuns;

/// An operand of the dot or convolution.
#[derive(Debug)]
pub struct Operand {
    /// Instruction that computes the operand.
    pub instruction: InstrId,
    /// Map from `(batch, line, step)` to the operand's index. Lines are rows of the left operand
    /// and columns of the right operand.
    pub at: IndexingMap,
    /// Element type.
    pub element: ElementType,
    /// Whether neighbouring steps are closer to each other in memory than neighbouring lines.
    pub runs_along_steps: bool,
    /// Whether steps are contiguous in memory.
    pub steps_are_adjacent: bool,
    /// Whether the index of an element decides which array the element comes from, as in a
    /// concatenation.
    pub is_in_parts: bool,
    /// If the operand is a parameter with contiguous lines: number of this parameter.
    pub rows_of: Option<usize>,
    /// Contiguous runs of the operand. `None` if lines and steps include no padding and have
    /// constant strides in memory.
    pub runs: Option<OperandRuns>,
}

/// Dimensions of an operand, grouped by their role in the product. Each list is ordered from the
/// outermost dimension to the innermost.
pub struct DimRoles<'a> {
    pub batch: &'a [i64],
    pub lines: &'a [i64],
    pub steps: &'a [i64],
}

impl DimRoles<'_> {
    fn size(dims: &[i64], role: &[i64]) -> i64 {
        role.iter().fold(1, |size, &dim| size.saturating_mul(dims[dim as usize]))
    }

    /// Returns the numbers of batches, lines and steps.
    pub fn sizes(&self, dims: &[i64]) -> [i64; 3] {
        [self.batch, self.lines, self.steps].map(|role| Self::size(dims, role))
    }

    /// Returns the map from `(batch, line, step)` to the index in an array with dimensions `dims`.
    pub fn map(&self, dims: &[i64]) -> IndexingMap {
        let mut index = vec![Expr::constant(0); dims.len()];
        for (number, role) in [self.batch, self.lines, self.steps].into_iter().enumerate() {
            let sizes: Vec<i64> = role.iter().map(|&dim| dims[dim as usize]).collect();
            for (&dim, part) in role.iter().zip(delinearize(&Expr::dim(number as u32), &sizes)) {
                index[dim as usize] = part;
            }
        }
        IndexingMap::from_tensor_sizes(index, &self.sizes(dims), &[]).simplify()
    }
}

/// Returns two distances in memory, in elements: first between neighbouring lines, then between
/// neighbouring steps. The distances are measured in the largest array from which the operand is
/// computed.
pub fn distances(fusion: &Fusion, operand: InstrId, at: &IndexingMap) -> [i64; 2] {
    let computation = fusion.computation();
    let maps = maps_from(&fusion.module, fusion.entry(), operand, 0);
    let mut largest: Option<(i64, [i64; 2])> = None;
    for (parameter, indexing) in computation.parameters().into_iter().zip(&maps.parameters) {
        let (Some(array), Some([reading, ..])) =
            (computation.instruction(parameter).shape.as_array(), indexing.known())
        else {
            continue;
        };
        let count = array.element_count();
        let distances = distances_in(at, reading, &array.dims);
        if distances != [0, 0] && largest.is_none_or(|(most, _)| count > most) {
            largest = Some((count, distances));
        }
    }
    largest.map_or([0, 0], |(_, distances)| distances)
}

/// Whether the fusion reads some parameter only for some indices of the operand.
pub fn is_in_parts(fusion: &Fusion, operand: InstrId) -> bool {
    let maps = maps_from(&fusion.module, fusion.entry(), operand, 0);
    let known = maps.parameters.iter().filter_map(|indexing| indexing.known());
    known.flatten().any(|reading| !reading.map.constraints.is_empty())
}

/// Returns two distances in one array's memory, in elements: first between neighbouring lines, then
/// between neighbouring steps.
pub fn distances_in(at: &IndexingMap, reading: &Reading, dims: &[i64]) -> [i64; 2] {
    let map = &reading.map;
    let position = |point: [i64; 3]| {
        let index = at.evaluate(&point, &[], &[]);
        let index = map.evaluate(&index, &vec![0; map.ranges.len()], &vec![0; map.runtime.len()]);
        index.iter().zip(dims).fold(0i64, |position, (&i, &size)| position.saturating_mul(size).saturating_add(i))
    };
    let is_several = |dim: usize| at.dims[dim].bounds.size() > 1;
    let distance = |dim: usize, point| if is_several(dim) { (position(point) - position([0; 3])).abs() } else { 0 };
    [distance(1, [0, 1, 0]), distance(2, [0, 0, 1])]
}

/// Returns the number of the parameter that is the operand. Returns `None` if the operand is not a
/// parameter, or if its last dimension does not contain the lines.
pub fn rows_of(fusion: &Fusion, operand: InstrId, at: &IndexingMap) -> Option<usize> {
    let is_line = at.results.last() == Some(&Expr::dim(1));
    fusion.computation().parameters().iter().position(|&parameter| parameter == operand).filter(|_| is_line)
}
