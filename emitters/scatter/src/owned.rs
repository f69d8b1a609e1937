//! A deterministic schedule for blocks of many threads. Each thread owns one element of the output
//! at a time and visits all slices in order.

use fusebox_core::analysis::{ScatterShape, SliceStart};
use fusebox_core::builder::{FunctionBuilder, IntPredicate, KernelBuilder, Value};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, EmitError, LaunchDimensions, OutputPlan, Visit, Work};
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div, delinearize};

use crate::body::{ScatterBody, nest};
use crate::problem::ScatterProblem;
use crate::schedule::{MOST_BLOCKS, ScatterSchedule, THREADS};

/// Cost of examining a slice, as a number of additions.
const LOOK: f64 = 6.0;

/// Distribution of the output's elements over threads. A thread owns the elements
/// `thread + threads * (block + blocks * chunk)`.
pub struct OwnedScatter {
    threads: i64,
    blocks: i64,
    chunks: i64,
    elements: i64,
}

impl ScatterSchedule for OwnedScatter {
    fn new(problem: &ScatterProblem, device: &DeviceDescription, _: &Configuration) -> Result<Self, EmitError> {
        let elements = problem.shape.operand_elements();
        let threads = THREADS.min(i64::from(device.max_threads_per_block)).min(elements.max(1));
        let wanted_blocks = ceil_div(elements, threads).max(1);
        let chunks = ceil_div(wanted_blocks, MOST_BLOCKS);
        Ok(OwnedScatter { threads, blocks: ceil_div(wanted_blocks, chunks), chunks, elements })
    }

    fn launch(&self) -> LaunchDimensions {
        LaunchDimensions { blocks: self.blocks as u64, threads_per_block: self.threads as u32 }
    }

    /// Returns the map `(th, bl)[chunk] -> index of the output`.
    fn map(&self, shape: &ScatterShape) -> IndexingMap {
        let mut map = IndexingMap {
            dims: vec![Variable::named("th", self.threads), Variable::named("bl", self.blocks)],
            ..IndexingMap::default()
        };
        let mut element = Expr::dim(1) * self.threads + Expr::dim(0);
        if self.chunks > 1 {
            element = Expr::range(0) * (self.blocks * self.threads) + element;
            map.ranges.push(Variable::named("chunk", self.chunks));
        }
        if self.elements < self.threads * self.blocks * self.chunks {
            map.constraints.push(Constraint { expr: element.clone(), bounds: Interval::from_size(self.elements) });
        }
        let sizes: Vec<i64> = shape.operand.iter().map(|dim| dim.size).collect();
        map.results = delinearize(&element, &sizes);
        map
    }

    fn output(&self, shape: &ScatterShape, initial: u32) -> OutputPlan {
        OutputPlan::in_place(self.map(shape), initial)
    }

    /// Returns the visits. Each thread reads all index vectors.
    fn visits(&self, problem: &ScatterProblem) -> Vec<Visit> {
        let shape = &problem.shape;
        let mut map = self.map(shape);
        let slice: Vec<Expr> = shape
            .scatter_dims
            .iter()
            .map(|&(dim, size)| {
                map.ranges.push(Variable::named(&format!("slice{dim}"), size));
                Expr::range(map.ranges.len() as u32 - 1)
            })
            .collect();
        map.results = shape.component_index(&slice, Expr::constant(0));
        vec![Visit { map, values: vec![problem.indices], given: Vec::new() }]
    }

    fn work(&self, problem: &ScatterProblem) -> Work {
        Work { additions: self.elements as f64 * problem.shape.slices() as f64 * LOOK, ..Work::default() }
    }

    fn note(&self) -> String {
        "each thread owns an element and walks all slices in order".into()
    }

    fn emit(&self, kernel: &mut KernelBuilder, body: &ScatterBody, outputs: &[Value]) -> Vec<Value> {
        let point = [kernel.thread(), kernel.block()];
        let map = self.map(&body.problem.shape);
        kernel.indexed_loop(&map, &point, outputs, &[], |b, _, element, outputs| {
            let before: Vec<Value> = outputs.iter().map(|&output| b.extract(output, element)).collect();
            let after = walk(b, body, element, &before);
            after.iter().zip(outputs).map(|(&value, &output)| b.insert(value, output, element)).collect()
        })
    }
}

/// Computes the values of an element after all slices are applied.
fn walk(b: &mut FunctionBuilder, body: &ScatterBody, element: &[Value], before: &[Value]) -> Vec<Value> {
    let shape = &body.problem.shape;
    let one = b.index(1);
    let bounds: Vec<(Value, Value)> = (0..shape.scatter_dims.len())
        .map(|number| match shape.operand.iter().position(|dim| dim.start == SliceStart::Batch(number)) {
            // Only slices of the element's batch can update the element.
            Some(dim) => (element[dim], b.addi(element[dim], one)),
            None => (b.index(0), b.index(shape.scatter_dims[number].1)),
        })
        .collect();
    let types = body.element_types();
    nest(b, &bounds, before, &mut |b, slice, values| {
        let vector = body.index_vector(b, slice);
        let fits = body.fits(b, &vector);
        let meets = |b: &mut FunctionBuilder| {
            let starts = body.starts(b, slice, &vector);
            let window: Vec<Value> = element.iter().zip(&starts).map(|(&at, &start)| b.subi(at, start)).collect();
            let inside = is_inside(b, shape, &window);
            let combined = |b: &mut FunctionBuilder| {
                let updates = body.updates(b, slice, &window);
                body.combine(b, values, &updates)
            };
            b.scf_if(inside, &types, combined, |_| values.to_vec())
        };
        b.scf_if(fits, &types, meets, |_| values.to_vec())
    })
}

/// Emits the check that window coordinates are inside the window.
fn is_inside(b: &mut FunctionBuilder, shape: &ScatterShape, window: &[Value]) -> Value {
    let mut all = None;
    for (dim, &coordinate) in shape.operand.iter().zip(window) {
        let whole = matches!(dim.start, SliceStart::Batch(_)) || dim.last_start() == 0;
        if whole {
            continue;
        }
        let (zero, size) = (b.index(0), b.index(dim.window));
        let tests = match dim.window {
            1 => vec![b.cmpi(IntPredicate::Eq, coordinate, zero)],
            _ => vec![b.cmpi(IntPredicate::Sge, coordinate, zero), b.cmpi(IntPredicate::Slt, coordinate, size)],
        };
        for test in tests {
            all = Some(match all {
                None => test,
                Some(others) => b.andi(others, test),
            });
        }
    }
    all.unwrap_or_else(|| b.bool(true))
}
