//! Chains of row reductions (softmax, layer norm, …) in one kernel, and the row-normalise emitter,
//! which builds these kernels for blocks of one thread.
//!
//! ```text
//! bid.rs          the instructions around a reduction that form a chain
//! limits.rs       limits on the rows that are worth a chain
//! kept_values.rs  values of a row that are stored between phases instead of rematerialised
//! functions.rs    chain -> the subgraph functions of its phases
//! emit.rs         the loops of a block of one thread
//! threads/        the emitters for blocks of many threads
//! ```

mod bid;
mod emit;
mod functions;
mod kept_values;
mod limits;
mod threads;

use fusebox_core::analysis::{RowChain, RowPlace};
use fusebox_core::cost::{arithmetic_bytes, first_array};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Bid, Blocks, Candidate, Configuration, Decline, EmitError, Fusion, Kernel, LaunchDimensions, OutputPlan, Plan,
    Strategy, Task, Work,
};
use fusebox_core::hlo::{ArrayShape, Instruction, Opcode, Shape};
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div};
use fusebox_core::launch::{Cost, blocks_for};

use limits::RowLimits;
pub use threads::ThreadNormalise;

/// Cost of one iteration of a loop over elements, in the unit of [`Cost::arithmetic`].
const WEIGHT: i64 = 4;
/// Maximum number of points that the emitter accepts. No memory holds more points. Up to this
/// number of points, the counts in a plan do not overflow.
const MOST_POINTS: i64 = 1 << 48;
/// Name of the knob for the target number of blocks.
const BLOCKS: &str = "blocks";

/// The row-normalise emitter.
pub struct RowNormalise;

impl Strategy for RowNormalise {
    type Problem = RowChain;

    fn blocks(&self) -> Blocks {
        Blocks::OfOneThread
    }

    fn anchors(&self) -> Vec<Opcode> {
        vec![Opcode::Reduce]
    }

    fn bid(&self, candidate: &Candidate, device: &DeviceDescription) -> Bid {
        bid::bid(candidate, &RowLimits::of_single_threads(device))
    }

    fn check(&self, task: &Task<RowChain>) -> Result<(), Decline> {
        let chain = task.problem;
        if chain.space.element_count() > MOST_POINTS {
            Err(Decline::new("there are more points than any memory holds"))
        } else {
            Ok(())
        }
    }

    fn plan(&self, task: &Task<RowChain>, knobs: &Configuration) -> Result<Plan, EmitError> {
        let Task { problem: chain, fusion, device } = *task;
        let distribution = RowDistribution::new(fusion, chain, device, knobs)?;
        let mut outputs = Vec::new();
        for root in &chain.roots {
            let shape = &fusion.computation().instruction(root.instruction).shape;
            let maps = shape.leaves().into_iter().filter_map(Shape::as_array);
            outputs.extend(maps.map(|leaf| OutputPlan::unique(distribution.map(chain, root.place, &leaf.dims))));
        }
        let wanted = distribution.wanted;
        let others = [wanted / 2, wanted * 2, 1].into_iter().filter(|&blocks| blocks > 0 && blocks != wanted);
        let kept = emit::kept_values(fusion, chain);
        let visits = functions::visits(fusion, chain, &kept, &|place, dims| distribution.map(chain, place, dims));
        let lanes = f64::from(device.vector_bytes.max(4) / 4);
        let walked = chain.space.element_count() as f64;
        Ok(Plan {
            visits,
            work: Work {
                additions: chain.phases.len() as f64 * walked / lanes,
                tile_bytes: walked
                    * kept.iter().map(|&(id, _)| 2 * kept_values::element_bytes(fusion, id)).sum::<i64>() as f64,
                ..Work::default()
            },
            configuration: [(BLOCKS, wanted)].into(),
            alternatives: others.map(|blocks| [(BLOCKS, blocks)].into()).collect(),
            notes: vec![format!(
                "{} phases over rows of {} elements, {} values per row",
                chain.phases.len() + 1,
                chain.space.length,
                chain.row_values.len()
            )],
            ..Plan::new(LaunchDimensions { blocks: distribution.blocks as u64, threads_per_block: 1 }, outputs)
        })
    }

    fn emit(&self, task: &Task<RowChain>, plan: &Plan) -> Result<Kernel, EmitError> {
        let Task { problem: chain, fusion, device } = *task;
        let distribution = RowDistribution::new(fusion, chain, device, &plan.configuration)?;
        emit::emit(fusion, chain, distribution.rows_per_block)
    }
}

/// Distribution of rows over blocks.
struct RowDistribution {
    /// Target number of blocks.
    wanted: i64,
    /// Number of blocks that have rows.
    blocks: i64,
    /// Number of rows per block.
    rows_per_block: i64,
}

impl RowDistribution {
    fn new(
        fusion: &Fusion,
        chain: &RowChain,
        device: &DeviceDescription,
        knobs: &Configuration,
    ) -> Result<RowDistribution, EmitError> {
        let computation = fusion.computation();
        let shapes = computation.parameters().into_iter().chain(fusion.roots.iter().copied());
        let leaves = shapes.flat_map(|id| computation.instruction(id).shape.leaves()).filter_map(Shape::as_array);
        let bytes = leaves.map(ArrayShape::byte_size).fold(0, i64::saturating_add);
        let walks = (chain.phases.len() as i64 + 1).saturating_mul(WEIGHT);
        let of_all = |it: &Instruction| {
            let count = first_array(it).map_or(0, ArrayShape::element_count);
            arithmetic_bytes(computation, it).saturating_mul(count)
        };
        let arithmetic = computation.instructions.iter().map(of_all).fold(0, i64::saturating_add);
        let walking = chain.space.element_count().saturating_mul(walks);
        let cost = Cost { bytes, arithmetic: arithmetic.saturating_add(walking) };
        let wanted = match knobs.checked_knob(BLOCKS, || "positive", |blocks| blocks > 0)? {
            Some(blocks) => blocks,
            None => blocks_for(cost, device),
        };
        let rows_per_block = ceil_div(chain.space.rows, wanted).max(1);
        Ok(RowDistribution { wanted, blocks: ceil_div(chain.space.rows, rows_per_block), rows_per_block })
    }

    /// Returns the map `(th, bl)[row] -> index` for an array with one element per row, or `(th,
    /// bl)[row, element] -> index` for other arrays.
    fn map(&self, chain: &RowChain, place: RowPlace, dims: &[i64]) -> IndexingMap {
        let row = Expr::dim(1) * self.rows_per_block + Expr::range(0);
        let mut map = IndexingMap {
            dims: vec![Variable::named("th", 1), Variable::named("bl", self.blocks)],
            ranges: vec![Variable::named("row", self.rows_per_block)],
            ..IndexingMap::default()
        };
        if self.blocks * self.rows_per_block > chain.space.rows {
            map.constraints.push(Constraint { expr: row.clone(), bounds: Interval::from_size(chain.space.rows) });
        }
        let index = match place {
            RowPlace::Row => chain.space.row_index(dims),
            _ => {
                map.ranges.push(Variable::named("element", chain.space.length));
                chain.space.element_index(dims)
            }
        };
        let point = [row, Expr::range(1)];
        map.results = index.results.iter().map(|expr| expr.substitute(&point, &[], &[])).collect();
        map.simplify()
    }
}
