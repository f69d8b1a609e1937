//! A schedule for blocks of one thread. A block owns a part of the output and visits all slices in
//! order. Therefore, no two blocks write the same element, and the kernel combines updates in the
//! order of the program.

use fusebox_core::analysis::{OperandDim, ScatterShape, SliceStart};
use fusebox_core::builder::{FunctionBuilder, KernelBuilder, Value};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Blocks, Configuration, EmitError, LaunchDimensions, Work};
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div};

use crate::body::{ScatterBody, nest};
use crate::filter::{list_bytes, walk_own};
use crate::problem::ScatterProblem;
use crate::schedule::{ScatterSchedule, runtime_starts};

/// Minimum number of bytes that a block should access. The cost of scheduling a smaller block
/// exceeds the time that the block saves.
const BYTES_PER_BLOCK: i64 = 64 << 10;
/// Cost of examining an index vector, in bytes of traffic.
const BYTES_PER_SLICE: i64 = 8;
/// Cost of examining an index vector, in additions.
const LOOK: f64 = 4.0;
/// Cost of examining and listing a slice in the loops over a thousand slices, in additions. If the
/// position of a slice's index vector differs from the position of the slice, the kernel computes
/// the position of each index vector. Computing the position increases the cost of a slice by
/// `LOOK_ELSEWHERE` per component of the index vector.
const LOOK_ALONG: f64 = 1.0;
const LOOK_ELSEWHERE: f64 = 2.0;
/// Cost of applying a slice, in additions. The cost increases by `APPLY_ELEMENT` for each element,
/// and by `APPLY_FAR` if the core's cache does not hold the operand.
const APPLY: f64 = 2.0;
const APPLY_ELEMENT: f64 = 0.25;
const APPLY_FAR: f64 = 6.0;
/// Bytes of a cache line. Rows are split at multiples of a cache line.
const CACHE_LINE: i64 = 64;

/// The axis that is distributed over blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DistributedAxis {
    /// No axis. There is one block.
    Whole,
    /// A scatter dimension, by its number. Each block has different slices.
    Slices(usize),
    /// A dimension of the operand.
    Operand(usize),
}

impl DistributedAxis {
    /// If every slice belongs entirely to one block, returns the operand dimension that is
    /// distributed. Each block then skips the slices of other blocks.
    fn filtered(self, shape: &ScatterShape) -> Option<usize> {
        match self {
            DistributedAxis::Operand(dim) if shape.operand[dim].update_dim.is_none() => Some(dim),
            _ => None,
        }
    }
}

/// Distribution of `size` positions along an axis. Each block has `positions_per_block` positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlabScatter {
    axis: DistributedAxis,
    size: i64,
    positions_per_block: i64,
    wanted_blocks: i64,
    most_blocks: i64,
}

impl ScatterSchedule for SlabScatter {
    const BLOCKS: Blocks = Blocks::OfOneThread;

    fn new(
        problem: &ScatterProblem,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Self, EmitError> {
        let shape = &problem.shape;
        let traffic = problem.update_elements().saturating_mul(2 * problem.widest_element() * shape.arrays as i64);
        let work = traffic.saturating_add(shape.slices().saturating_mul(BYTES_PER_SLICE));
        let most_blocks = i64::from(device.core_count) * 4;
        let wanted_blocks = match configuration.knob("blocks", 1..=most_blocks)? {
            Some(blocks) => blocks,
            None => match (work / BYTES_PER_BLOCK).clamp(1, device.core_count.into()) {
                blocks if is_dealt_faster(problem, blocks, device) => blocks,
                _ => 1,
            },
        };
        let (axis, size, unit) = axis(problem, wanted_blocks);
        let positions_per_block = ceil_div(ceil_div(size, wanted_blocks), unit).max(1) * unit;
        Ok(SlabScatter { axis, size, positions_per_block, wanted_blocks, most_blocks })
    }

    fn launch(&self) -> LaunchDimensions {
        LaunchDimensions { blocks: self.blocks() as u64, threads_per_block: 1 }
    }

    /// Returns the map `(th, bl)[slices…, window…]{starts…} -> index of the output`.
    fn map(&self, shape: &ScatterShape) -> IndexingMap {
        let mut map = IndexingMap {
            dims: vec![Variable::named("th", 1), Variable::named("bl", self.blocks())],
            ..IndexingMap::default()
        };
        let starts = runtime_starts(&mut map, shape);
        let range = |map: &mut IndexingMap, name: String, size: i64| {
            map.ranges.push(Variable::named(&name, size));
            Expr::range(map.ranges.len() as u32 - 1)
        };
        let scatter_dims = shape.scatter_dims.iter().enumerate();
        let slice: Vec<Expr> =
            scatter_dims.map(|(number, &(_, size))| range(&mut map, format!("slice{number}"), size)).collect();
        let window: Vec<Expr> = (0..shape.operand.len())
            .map(|dim| match shape.operand[dim].update_dim {
                Some(_) => range(&mut map, format!("window{dim}"), shape.operand[dim].window),
                None => Expr::constant(0),
            })
            .collect();
        map.results = shape.landing(&slice, &window, &starts);
        let distributed = match self.axis {
            DistributedAxis::Whole => return map,
            DistributedAxis::Slices(number) => slice[number].clone(),
            DistributedAxis::Operand(dim) => map.results[dim].clone(),
        };
        let own = distributed - Expr::dim(1) * self.positions_per_block;
        map.constraints.push(Constraint { expr: own, bounds: Interval::from_size(self.positions_per_block) });
        map
    }

    fn configuration(&self) -> Configuration {
        [("blocks", self.wanted_blocks)].into()
    }

    fn alternatives(&self) -> Vec<Configuration> {
        let mut others = vec![1, self.most_blocks / 4, self.most_blocks];
        others.retain(|&blocks| blocks > 0 && blocks != self.wanted_blocks);
        others.dedup();
        others.into_iter().map(|blocks| [("blocks", blocks)].into()).collect()
    }

    fn note(&self) -> String {
        match self.axis {
            DistributedAxis::Whole => "one block applies all updates in order".into(),
            DistributedAxis::Slices(dim) => format!("each block applies its own slices, along scatter dimension {dim}"),
            DistributedAxis::Operand(dim) => {
                format!("blocks own {} positions of dimension {dim} and walk all slices", self.positions_per_block)
            }
        }
    }

    fn work(&self, problem: &ScatterProblem) -> Work {
        let looks = self.blocks() as f64 * problem.shape.slices() as f64;
        Work { additions: looks * LOOK + problem.combined_elements() as f64, ..Work::default() }
    }

    fn shared_bytes(&self, problem: &ScatterProblem) -> u32 {
        self.filtered(&problem.shape).map_or(0, |_| list_bytes(problem))
    }

    fn emit(&self, kernel: &mut KernelBuilder, body: &ScatterBody, outputs: &[Value]) -> Vec<Value> {
        let own = self.own_positions(kernel);
        if let (Some(dim), Some(own)) = (self.filtered(&body.problem.shape), own) {
            return walk_own(kernel, body, dim, own, outputs, &|b, slice, vector, outputs| {
                self.slice(b, body, slice, vector, None, outputs)
            });
        }
        let slices: Vec<(Value, Value)> = body
            .problem
            .shape
            .scatter_dims
            .iter()
            .enumerate()
            .map(|(number, &(_, size))| match (self.axis, own) {
                (DistributedAxis::Slices(distributed), Some(own)) if distributed == number => own,
                _ => (kernel.index(0), kernel.index(size)),
            })
            .collect();
        nest(kernel, &slices, outputs, &mut |b, slice, outputs| {
            let vector = body.index_vector(b, slice);
            let fits = body.fits(b, &vector);
            let types = b.types_of(outputs);
            b.scf_if(fits, &types, |b| self.slice(b, body, slice, &vector, own, outputs), |_| outputs.to_vec())
        })
    }
}

impl SlabScatter {
    fn blocks(&self) -> i64 {
        ceil_div(self.size, self.positions_per_block).max(1)
    }

    fn filtered(&self, shape: &ScatterShape) -> Option<usize> {
        self.axis.filtered(shape)
    }

    /// Returns the block's range of positions along the axis: the first position, and the end.
    fn own_positions(&self, b: &mut KernelBuilder) -> Option<(Value, Value)> {
        if self.axis == DistributedAxis::Whole {
            return None;
        }
        let (positions_per_block, size, block) = (b.index(self.positions_per_block), b.index(self.size), b.block());
        let first = b.muli(block, positions_per_block);
        let end = b.addi(first, positions_per_block);
        let end = if self.blocks() * self.positions_per_block == self.size { end } else { b.minsi(end, size) };
        Some((first, end))
    }

    /// Applies the block's part of a slice. The slice must be inside the operand.
    fn slice(
        &self,
        b: &mut FunctionBuilder,
        body: &ScatterBody,
        slice: &[Value],
        vector: &[Value],
        own: Option<(Value, Value)>,
        outputs: &[Value],
    ) -> Vec<Value> {
        let starts = body.starts(b, slice, vector);
        let operand = &body.problem.shape.operand;
        let zero = b.index(0);
        let distributed = |dim: usize| own.filter(|_| self.axis == DistributedAxis::Operand(dim));
        let mut bounds = Vec::new();
        for (dim, &start) in starts.iter().enumerate() {
            let window = b.index(operand[dim].window);
            match (distributed(dim), operand[dim].update_dim) {
                (_, None) => {}
                (None, Some(_)) => bounds.push((zero, window)),
                (Some((first, end)), Some(_)) => {
                    let (first, end) = (b.subi(first, start), b.subi(end, start));
                    bounds.push((b.maxsi(first, zero), b.minsi(end, window)));
                }
            }
        }
        let window_dims = body.problem.shape.window_dims();
        nest(b, &bounds, outputs, &mut |b, coordinates, outputs| {
            let mut window = vec![zero; operand.len()];
            window_dims.iter().zip(coordinates).for_each(|(&dim, &coordinate)| window[dim] = coordinate);
            let at = body.landing(b, &starts, &window);
            let updates = body.updates(b, slice, &window);
            body.update(b, outputs, &at, &updates)
        })
    }
}

/// Whether `blocks` blocks are faster than one block. Each block skips the slices of all other
/// blocks, and skipping slices may take as long as applying them.
fn is_dealt_faster(problem: &ScatterProblem, blocks: i64, device: &DeviceDescription) -> bool {
    let shape = &problem.shape;
    if axis(problem, blocks).0.filtered(shape).is_none() {
        return true;
    }
    let components = shape.components.len() as f64;
    let look = LOOK_ALONG + if problem.moves_indices { LOOK_ELSEWHERE * components } else { 0.0 };
    let bytes = shape.operand_elements().saturating_mul(problem.widest_element());
    let far = if bytes as u64 > device.core_cache_bytes { APPLY_FAR } else { 0.0 };
    let elements = shape.window_elements().saturating_mul(shape.arrays as i64) as f64;
    let apply = APPLY + APPLY_ELEMENT * elements + far;
    look + apply / blocks as f64 <= apply
}

/// Returns the axis to distribute, its size, and a unit of distribution. The number of positions of
/// a block is a multiple of the unit. The first choice is an axis of slices, because then no block
/// repeats work. This choice requires that blocks with different slices never write the same
/// element. The second choice is an operand dimension that every slice spans from the start,
/// because then blocks repeat only the reads of index vectors. The last choice is the largest
/// operand dimension that index vectors address. If blocks own positions of this dimension, each
/// block has to skip the slices of the other blocks.
fn axis(problem: &ScatterProblem, wanted_blocks: i64) -> (DistributedAxis, i64, i64) {
    let shape = &problem.shape;
    if wanted_blocks <= 1 {
        return (DistributedAxis::Whole, 1, 1);
    }
    let enough = |size: i64| size >= wanted_blocks;
    let batches = |number: usize| shape.operand.iter().any(|dim| dim.start == SliceStart::Batch(number));
    let own_slices = |number: &usize| enough(shape.scatter_dims[*number].1) && (shape.unique || batches(*number));
    if let Some(number) = (0..shape.scatter_dims.len()).find(own_slices) {
        return (DistributedAxis::Slices(number), shape.scatter_dims[number].1, 1);
    }
    let unit_of = |dim: usize| {
        let inner: i64 = shape.operand[dim + 1..].iter().map(|inner| inner.size).product();
        ceil_div(CACHE_LINE, (inner * problem.smallest_element()).max(1))
    };
    let spanned = |dim: &usize| {
        let OperandDim { window, start, .. } = shape.operand[*dim];
        let from_start = start == SliceStart::Zero || shape.operand[*dim].last_start() == 0;
        from_start && !matches!(start, SliceStart::Batch(_)) && window >= wanted_blocks * unit_of(*dim)
    };
    if let Some(dim) = (0..shape.operand.len()).find(spanned) {
        return (DistributedAxis::Operand(dim), shape.operand[dim].window, unit_of(dim));
    }
    let addressed =
        |dim: &usize| matches!(shape.operand[*dim].start, SliceStart::Component(_)) && enough(shape.operand[*dim].size);
    match (0..shape.operand.len()).filter(addressed).max_by_key(|&dim| shape.operand[dim].size) {
        Some(dim) => (DistributedAxis::Operand(dim), shape.operand[dim].size, unit_of(dim)),
        None => (DistributedAxis::Whole, 1, 1),
    }
}
