//! Distribution of a fusion's work over blocks and threads. The distribution determines the plan's
//! launch and maps, and the kernel's loops.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, EmitError, LaunchDimensions, OutputPlan, Plan, Visit, Work};
use fusebox_core::indexing::IndexingMap;

use crate::grid::TileNest;
use crate::index::reshaped;
use crate::problem::{IndexedValues, TransposeProblem};
use crate::units::RegisterUnit;

/// Bytes of a bank's word.
const WORD: i64 = 4;

/// A schedule, described by its loops.
pub struct TransposeSchedule {
    pub launch: LaunchDimensions,
    /// Loops that read the operands into tiles, and write side outputs.
    pub reading: Vec<TileNest>,
    /// Loops that read the tiles and write the results. Without tiles, these loops read the
    /// operands and write all outputs.
    pub writing: Vec<TileNest>,
    /// Dimensions of the tile of each moved array. `None` if elements go directly from operand to
    /// result.
    pub tile: Option<Vec<i64>>,
    /// Dimensions of a small tile, for blocks of one thread. With a small tile, the kernel has two
    /// separate loops over the last two variables of the writing loops. The first loop stores
    /// elements in the small tile, with the two variables swapped. The second loop computes the
    /// epilogue, so that the code has only one copy of the epilogue.
    pub transposed_tile: Option<[i64; 2]>,
    /// The part of a tile (unit) that the kernel transposes in registers at a time. Only kernels
    /// for blocks of one thread have units. The last two range variables of the writing loops are
    /// positions in a unit.
    pub unit: Option<RegisterUnit>,
    /// Whether the kernel writes cache lines by stores that bypass the caches, because the caches
    /// cannot hold the operands and results.
    pub past_caches: bool,
    /// Number of elements of one vector access.
    pub lanes: i64,
    /// Values of the knobs.
    pub knobs: Configuration,
    /// Alternative settings of the knobs, which the tuner can measure.
    pub alternatives: Vec<Configuration>,
    /// Remarks for `explain`.
    pub notes: Vec<String>,
}

impl TransposeSchedule {
    /// Creates a schedule without loops, tiles or alternatives.
    pub fn of(launch: LaunchDimensions, knobs: Configuration) -> Self {
        TransposeSchedule {
            launch,
            reading: Vec::new(),
            writing: Vec::new(),
            tile: None,
            transposed_tile: None,
            unit: None,
            past_caches: false,
            lanes: 1,
            knobs,
            alternatives: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub fn plan(&self, problem: &TransposeProblem) -> Plan {
        let mut outputs = vec![OutputPlan::unique_parts(Vec::new()); problem.outputs];
        let side = if self.tile.is_some() { &self.reading } else { &self.writing };
        let mut add = |nests: &[TileNest], part: &IndexedValues, index: &dyn Fn(&TileNest) -> IndexingMap| {
            for &(output, _) in &part.outputs {
                outputs[output].maps = nests.iter().map(index).collect();
            }
        };
        for part in &problem.readings {
            add(side, part, &|nest| operand_index(problem, nest, &part.dims));
        }
        for part in &problem.writings {
            add(&self.writing, part, &|nest| result_index(problem, nest, &part.dims));
        }
        Plan {
            shared_bytes: self.shared_bytes(problem) as u32,
            visits: self.visits(problem),
            work: self.work(problem),
            vector_lanes: self.lanes as u32,
            configuration: self.knobs.clone(),
            alternatives: self.alternatives.clone(),
            notes: self.notes.clone(),
            ..Plan::new(self.launch, outputs)
        }
    }

    /// Returns the visits of the instructions before and after the transposes.
    fn visits(&self, problem: &TransposeProblem) -> Vec<Visit> {
        let reading = if self.tile.is_some() { &self.reading } else { &self.writing };
        let visit = |map, part: &IndexedValues, given| Visit { map, values: part.instructions.clone(), given };
        let before = reading.iter().flat_map(|nest| {
            problem.readings.iter().map(move |part| visit(operand_index(problem, nest, &part.dims), part, Vec::new()))
        });
        let behind = self.writing.iter().flat_map(|nest| {
            let index = move |part: &IndexedValues| result_index(problem, nest, &part.dims);
            problem.writings.iter().map(move |part| visit(index(part), part, problem.hero_ids()))
        });
        before.chain(behind).collect()
    }

    /// Returns the work of moving elements through tiles. The kernel transposes elements one by one
    /// in the tiles, or vector by vector in registers.
    fn work(&self, problem: &TransposeProblem) -> Work {
        let elements = problem.form.element_count() as f64;
        let tiles = usize::from(self.tile.is_some()) + usize::from(self.transposed_tile.is_some());
        // A bank delivers a whole word, even if a thread needs only a part of it.
        let word = if self.launch.threads_per_block > 1 { WORD / self.lanes } else { 1 };
        let bytes: i64 = problem.moved.iter().map(|moved| moved.bytes.max(word)).sum();
        let turns = self.unit.map_or(0.0, |unit| f64::from(unit.lane.ilog2()) / unit.line as f64);
        Work {
            additions: elements * turns,
            tile_bytes: 2.0 * tiles as f64 * elements * bytes as f64,
            waits: tiles as f64,
            past_caches: self.past_caches,
            ..Work::default()
        }
    }

    pub fn shared_bytes(&self, problem: &TransposeProblem) -> i64 {
        let product = |dims: &[i64]| dims.iter().product::<i64>();
        let elements =
            self.tile.as_deref().map_or(0, product) + self.transposed_tile.as_ref().map_or(0, |dims| product(dims));
        elements.saturating_mul(problem.bytes_together())
    }

    /// # Errors
    /// If the tiles do not fit into a block's memory.
    pub fn check(self, problem: &TransposeProblem, device: &DeviceDescription) -> Result<Self, EmitError> {
        let (needed, limit) = (self.shared_bytes(problem), i64::from(device.shared_bytes_per_block));
        if needed > limit {
            let message = format!("the tiles take {needed} bytes, a block has {limit}; choose smaller knobs");
            return Err(EmitError::new(message));
        }
        Ok(self)
    }
}

/// Returns the map from the nest's points to indices in an array with dimensions `dims`. The array
/// must have as many elements as the operand.
pub fn operand_index(problem: &TransposeProblem, nest: &TileNest, dims: &[i64]) -> IndexingMap {
    let rank = problem.form.dims.len();
    let results = reshaped(&nest.map.results[..rank], &problem.form.dims, dims);
    IndexingMap { results, ..nest.map.clone() }
}

/// Returns the map from the nest's points to indices in an array with dimensions `dims`. The array
/// must have as many elements as the result.
pub fn result_index(problem: &TransposeProblem, nest: &TileNest, dims: &[i64]) -> IndexingMap {
    let form = &problem.form;
    let index: Vec<_> = form.permutation.iter().map(|&dim| nest.map.results[dim].clone()).collect();
    IndexingMap { results: reshaped(&index, &form.result_dims(), dims), ..nest.map.clone() }
}
