//! `simple-own`: an emitter of a new kind, for fusions such as the division of rows by their sums.
//!
//! Two kernels for `y = f(x, sum over each row of g(x))` read x from memory twice. `simple-own`
//! bids for all instructions of `y`, so that one kernel computes them. The emitter's kernel reads
//! each row twice, and the second time the row is in a near cache.
#![forbid(unsafe_code)]

use fusebox_core::analysis::{ReductionHero, RowChain, RowPlace, RowSpace, Start, row_space};
use fusebox_core::builder::{GroupPlace, KernelBuilder, Partial, ThreadGroups};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Analysis, Bid, Candidate, Configuration, Decline, Descriptor, EmitError, Emitter, Fusion, Kernel, LaunchDimensions,
    OutputPlan, Plan, StaticDescriptor, Verdict, Visit, Work,
};
use fusebox_core::hlo::{InstrId, Opcode};
use fusebox_core::indexing::{Expr, IndexingMap, Interval, ceil_div, compose};

/// The emitter.
pub struct SimpleOwn;

const SIMPLE_OWN: StaticDescriptor =
    StaticDescriptor { kind: "own", name: "simple-own", version: env!("CARGO_PKG_VERSION") };

fusebox_core::export_emitters!(SIMPLE_OWN => SimpleOwn);

impl Emitter for SimpleOwn {
    fn descriptor(&self) -> Descriptor {
        SIMPLE_OWN.into()
    }

    fn anchors(&self) -> Vec<Opcode> {
        vec![Opcode::Reduce]
    }

    fn bid(&self, candidate: &Candidate, _device: &DeviceDescription) -> Bid {
        around(candidate).unwrap_or_else(|| Bid::decline("no operation on the rows reads the result of their reduction"))
    }

    fn consider(&self, fusion: &Fusion, device: &DeviceDescription) -> Verdict {
        Rows::of(fusion, device).map(|_| ()).into()
    }

    fn plan(&self, fusion: &Fusion, device: &DeviceDescription, _: &Configuration) -> Result<Plan, EmitError> {
        let rows = Rows::of(fusion, device)?;
        let (reduce, operand, per_row) = (rows.hero.instruction, rows.hero.values[0].operand, rows.per_row.clone());
        let (read, written) = (rows.elements(fusion, operand), rows.elements(fusion, rows.root));
        let row = IndexingMap::from_tensor_sizes(vec![Expr::dim(1)], &[rows.group.threads, rows.space.rows], &[]);
        let row = compose(&rows.space.row_index(dims(fusion, per_row[0])), &row).unwrap_or_default();
        let visits = vec![
            Visit { map: read, values: vec![operand], given: Vec::new() },
            Visit { map: row, values: per_row.clone(), given: vec![reduce] },
            Visit { map: written.clone(), values: vec![rows.root], given: per_row },
        ];
        // The host counts the visits. This is the reduction, in lanes of four bytes.
        let additions = rows.space.element_count() as f64 / f64::from(device.vector_bytes.max(4) / 4);
        let work = Work { additions, ..Work::default() };
        let launch = LaunchDimensions { blocks: rows.space.rows as u64, threads_per_block: rows.group.threads as u32 };
        let shared_bytes = (rows.group.tile_elements() * rows.hero.accumulator_bytes()) as u32;
        Ok(Plan { visits, work, shared_bytes, ..Plan::new(launch, vec![OutputPlan::unique(written)]) })
    }

    fn emit(&self, fusion: &Fusion, device: &DeviceDescription, _: &Plan) -> Result<Kernel, EmitError> {
        let rows = Rows::of(fusion, device)?;
        let mut kernel = KernelBuilder::new(fusion);
        // The host generates these functions. The kernel only calls them.
        let (reduce, value) = (rows.hero.instruction, &rows.hero.values[0]);
        let (initial, operand) = (kernel.values(&[value.initial]), kernel.values(&[value.operand]));
        let (combiner, of_row) = (kernel.combiner(reduce), kernel.epilogue(&rows.per_row, &[reduce]));
        let epilogue = kernel.epilogue(&[rows.root], &rows.per_row);
        let (here, outputs) = ([kernel.thread(), kernel.block()], kernel.outputs().to_vec());
        let neutral = kernel.call_subgraph(&initial, &[], &[]);
        let values =
            kernel.indexed_loop(&rows.elements(fusion, value.operand), &here, &neutral, &[], |b, _, index, total| {
                let element = b.call_subgraph(&operand, index, &[]);
                b.call_subgraph(&combiner, &[], &[total[0], element[0]])
            });
        let place = GroupPlace { group: kernel.index(0), thread: here[0] };
        let partial = Partial { combiner: &combiner, values, neutral };
        let total = kernel.reduce_across_threads(&rows.group, place, &[partial]).remove(0);
        let row = kernel.apply_indexing(&rows.space.row_index(dims(fusion, rows.per_row[0])), &here[1..]);
        let of_row = kernel.call_subgraph(&of_row, &row, &total);
        let written = rows.elements(fusion, rows.root);
        let written = kernel.indexed_loop(&written, &here, &outputs, &[], |b, _, index, outputs| {
            let value = b.call_subgraph(&epilogue, index, &of_row);
            vec![b.insert(value[0], outputs[0], index)]
        });
        kernel.finish(&written)
    }
}

/// Returns the anchor, its users in the same rows, and the operands that only these instructions
/// read.
fn around(Candidate { region, anchor }: &Candidate) -> Option<Bid> {
    let computation = region.computation();
    let space = row_space(&region.module, computation, *anchor)?;
    let start = |id: InstrId| if id == *anchor { RowPlace::Row } else { RowPlace::Free };
    let mut places: Vec<RowPlace> = computation.ids().map(start).collect();
    for id in computation.ids().skip(anchor.index() + 1) {
        let place = space.place(&region.module, computation, id, &|operand| places[operand.index()]);
        // Values that depend on the anchor in another way go to other kernels, with their users.
        let is_other = [Opcode::Reduce, Opcode::Tuple].contains(&computation.instruction(id).opcode());
        places[id.index()] = if is_other && place != RowPlace::Free { RowPlace::Elsewhere } else { place };
    }
    let mut is_taken: Vec<bool> = places.iter().map(|it| matches!(it, RowPlace::Row | RowPlace::Element)).collect();
    let users = computation.users();
    for id in computation.ids().rev().filter(|id| !region.roots.contains(id)) {
        let is_for_these = !users[id.index()].is_empty() && users[id.index()].iter().all(|user| is_taken[user.index()]);
        is_taken[id.index()] |= is_for_these && computation.instruction(id).opcode() != Opcode::Parameter;
    }
    let instructions = computation.ids().filter(|id| is_taken[id.index()]).collect();
    places.contains(&RowPlace::Element).then_some(Bid::Take { instructions })
}

/// The rows of a fusion. Each row is reduced once, and has a result per element. A block computes
/// one row.
struct Rows {
    space: RowSpace,
    hero: ReductionHero,
    /// Values that are computed from the reduction once per row.
    per_row: Vec<InstrId>,
    root: InstrId,
    group: ThreadGroups,
}

impl Rows {
    /// Returns the rows of a fusion. If the emitter declines the fusion, returns the reason as a
    /// text for the fusion's author.
    fn of(fusion: &Fusion, device: &DeviceDescription) -> Result<Rows, Decline> {
        let RowChain { space, phases, row_values: per_row, roots, .. } = RowChain::of(fusion)?;
        let one = "takes rows of one array that are reduced once, with one result for each element";
        let ([hero], [root]) = (&phases.concat()[..], &roots[..]) else { return Err(Decline::new(one)) };
        let is_alike = per_row.iter().all(|&id| dims(fusion, id) == dims(fusion, per_row[0]));
        if hero.values.len() != 1 || hero.start != Start::Initial || root.place != RowPlace::Element || !is_alike {
            return Err(Decline::new(one));
        }
        let threads = if device.is_single_threaded_block() { 1 } else { i64::from(device.warp_size) };
        let group = ThreadGroups { groups: 1, threads, warp: threads };
        Ok(Rows { space, hero: hero.clone(), per_row, root: root.instruction, group })
    }

    /// Returns the map `(thread, block)[step] -> the index of an element of an array`.
    fn elements(&self, fusion: &Fusion, id: InstrId) -> IndexingMap {
        let (RowSpace { rows, length }, threads) = (self.space, self.group.threads);
        let (position, steps) = (Expr::range(0) * threads + Expr::dim(0), ceil_div(length, threads));
        let map = IndexingMap::from_tensor_sizes(vec![Expr::dim(1), position.clone()], &[threads, rows], &[steps]);
        let map = map.with_constraint(position, Interval::from_size(length));
        compose(&self.space.element_index(dims(fusion, id)), &map).unwrap_or_default()
    }
}

fn dims(fusion: &Fusion, id: InstrId) -> &[i64] {
    fusion.computation().instruction(id).shape.as_array().map_or(&[], |array| &array.dims)
}
