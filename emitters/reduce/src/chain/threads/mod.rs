//! The warp-normalise and block-normalise emitters: chains of row reductions for blocks of many
//! threads.
//!
//! ```text
//! properties.rs  properties of the device, the chain and its elements that decide a layout
//! layout.rs      distribution of rows and elements to threads, and the knobs
//! emit.rs        the phases
//! ```

mod emit;
mod layout;
mod properties;

use fusebox_core::analysis::RowChain;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Bid, Blocks, Candidate, Configuration, Decline, EmitError, Kernel, LaunchDimensions, OutputPlan, Plan, Strategy,
    Task,
};
use fusebox_core::hlo::{Opcode, Shape};

use super::MOST_POINTS;
use super::bid::{bid, rows_of};
use super::functions::visits;
use super::limits::RowLimits;
use layout::ThreadLayout;
use properties::{ElementStorage, usual_form};

/// Maximum number of blocks of a grid.
const MOST_BLOCKS: i64 = (1 << 31) - 1;
/// Maximum number of elements per thread if one warp computes a row.
const MOST_OF_A_WARP: i64 = 64;

/// The threads that compute one row together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadNormalise {
    /// Threads of one warp, or a single thread.
    Warp,
    /// Several warps.
    Block,
}

impl ThreadNormalise {
    fn name(self) -> &'static str {
        match self {
            ThreadNormalise::Warp => "warp-normalise",
            ThreadNormalise::Block => "block-normalise",
        }
    }
}

impl Strategy for ThreadNormalise {
    type Problem = RowChain;

    fn blocks(&self) -> Blocks {
        Blocks::OfManyThreads
    }

    fn anchors(&self) -> Vec<Opcode> {
        vec![Opcode::Reduce]
    }

    fn bid(&self, candidate: &Candidate, device: &DeviceDescription) -> Bid {
        match rows_of(candidate).map(|space| usual_form(space, device)) {
            Some(other) if other != *self => {
                Bid::decline(format!("emitter {} bids for rows of this size", other.name()))
            }
            _ => bid(candidate, &RowLimits::of_many_threads(device)),
        }
    }

    fn check(&self, task: &Task<RowChain>) -> Result<(), Decline> {
        let Task { problem: chain, device, .. } = *task;
        let (space, warp) = (chain.space, i64::from(device.warp_size));
        if space.rows > MOST_BLOCKS || space.element_count() > MOST_POINTS {
            return Err(Decline::new(format!("{} rows are more than a grid has blocks", space.rows)));
        }
        match self {
            ThreadNormalise::Warp if space.length > warp * MOST_OF_A_WARP => {
                Err(Decline::new(format!("rows of {} elements are long enough for a block", space.length)))
            }
            ThreadNormalise::Block if space.length <= warp => {
                Err(Decline::new(format!("rows of {} elements are too short for several warps", space.length)))
            }
            _ => Ok(()),
        }
    }

    fn plan(&self, task: &Task<RowChain>, knobs: &Configuration) -> Result<Plan, EmitError> {
        let Task { problem: chain, fusion, device } = *task;
        let layout = ThreadLayout::new(*self, fusion, chain, device, knobs)?;
        let mut outputs = Vec::new();
        for root in &chain.roots {
            let shape = &fusion.computation().instruction(root.instruction).shape;
            let leaves = shape.leaves().into_iter().filter_map(Shape::as_array);
            outputs.extend(leaves.map(|leaf| OutputPlan::unique(layout.output_map(chain, root.place, &leaf.dims))));
        }
        let launch =
            LaunchDimensions { blocks: layout.blocks as u64, threads_per_block: (layout.rows * layout.threads) as u32 };
        Ok(Plan {
            shared_bytes: layout.shared_bytes as u32,
            visits: visits(fusion, chain, &layout.kept, &|place, dims| layout.output_map(chain, place, dims)),
            work: layout.work(fusion, chain),
            vector_lanes: layout.vector as u32,
            configuration: layout.knobs().into_iter().collect(),
            alternatives: layout.alternatives.iter().map(|knobs| knobs.iter().copied().collect()).collect(),
            notes: vec![note(chain, &layout)],
            ..Plan::new(launch, outputs)
        })
    }

    fn emit(&self, task: &Task<RowChain>, plan: &Plan) -> Result<Kernel, EmitError> {
        let Task { problem: chain, fusion, device } = *task;
        let layout = ThreadLayout::new(*self, fusion, chain, device, &plan.configuration)?;
        emit::emit(fusion, chain, &layout)
    }
}

fn note(chain: &RowChain, layout: &ThreadLayout) -> String {
    let place = match layout.keep {
        ElementStorage::Registers => "elements kept in registers",
        ElementStorage::Shared => "elements kept in shared memory",
        ElementStorage::Nowhere => "each phase reads its elements",
    };
    format!(
        "{} phases over rows of {} elements: {} threads for a row, {} rows in a block, {} elements a read, {place}",
        chain.phases.len() + 1,
        layout.length,
        layout.threads,
        layout.rows,
        layout.vector
    )
}
