//! `simple-transpose`: a transpose emitter whose blocks move squares through shared memory, so that
//! reads and writes are both contiguous along rows.
//!
//! The file is best read from top to bottom: description, accepted fusions, plan (reads and
//! writes), code.
//!
//! ```text
//! operand [batch, rows, columns]        square         result [batch, columns, rows]
//!        row i, column j  ──reading──>  [i, j]
//!                                       [j, i]  ──writing──>  row i, column j
//! ```

#![forbid(unsafe_code)]

use fusebox_core::analysis::{RootPlace, TransposeFusion};
use fusebox_core::builder::{KernelBuilder, Scalar, Type};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Configuration, Decline, Descriptor, EmitError, Emitter, Fusion, Kernel, LaunchDimensions, OutputPlan, Plan,
    StaticDescriptor, Verdict, Visit, Work,
};
use fusebox_core::hlo::{ArrayShape, InstrId};
use fusebox_core::indexing::{Expr, IndexingMap, Interval, Variable, ceil_div, delinearize, linearize};

/// The emitter.
pub struct SimpleTranspose;

const SIMPLE_TRANSPOSE: StaticDescriptor =
    StaticDescriptor { kind: "transpose", name: "simple-transpose", version: env!("CARGO_PKG_VERSION") };

fusebox_core::export_emitters!(SIMPLE_TRANSPOSE => SimpleTranspose);

/// Length of a square's edge. A warp reads and writes whole rows of a square.
const EDGE: i64 = 32;
/// Distance between rows of the square. One element of padding puts the elements of a column into
/// different banks.
const PITCH: i64 = EDGE + 1;
/// Largest number of elements of the operand. Up to this limit, no number in a plan overflows.
const MOST_ELEMENTS: i64 = 1 << 40;

impl Emitter for SimpleTranspose {
    fn descriptor(&self) -> Descriptor {
        SIMPLE_TRANSPOSE.into()
    }

    fn consider(&self, fusion: &Fusion, _device: &DeviceDescription) -> Verdict {
        Problem::of(fusion).map(|_| ()).into()
    }

    fn plan(
        &self,
        fusion: &Fusion,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Plan, EmitError> {
        let problem = Problem::of(fusion)?;
        let schedule = Schedule::new(&problem, device, configuration)?;
        let launch = LaunchDimensions { blocks: schedule.blocks as u64, threads_per_block: schedule.threads as u32 };
        let (reading, writing) = (without_place(schedule.reading(&problem)), without_place(schedule.writing(&problem)));
        let visits = vec![
            Visit { map: reading, values: vec![problem.operand], given: Vec::new() },
            Visit { map: writing.clone(), values: vec![problem.root], given: vec![problem.hero] },
        ];
        let bytes = problem.operand_shape.byte_size() as f64;
        Ok(Plan {
            shared_bytes: (EDGE * PITCH) as u32 * problem.operand_shape.element_type.byte_size() as u32,
            visits,
            work: Work { tile_bytes: bytes, waits: 1.0, ..Work::default() },
            configuration: schedule.configuration(),
            alternatives: schedule.alternatives(device),
            notes: vec![format!("squares of {EDGE} for {}", problem.text)],
            ..Plan::new(launch, vec![OutputPlan::unique(writing)])
        })
    }

    fn emit(&self, fusion: &Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
        let problem = Problem::of(fusion)?;
        let schedule = Schedule::new(&problem, device, &plan.configuration)?;
        let mut kernel = KernelBuilder::new(fusion);
        // The host generates these functions. The kernel only calls them.
        let operand = kernel.values(&[problem.operand]);
        let epilogue = kernel.epilogue(&[problem.root], &[problem.hero]);

        let point = [kernel.thread(), kernel.block()];
        let outputs = kernel.outputs().to_vec();
        let square = kernel.allocate_shared(&[EDGE, PITCH], problem.scalar());
        let reading = schedule.reading(&problem);
        let square = kernel.indexed_loop(&reading, &point, &[square], &[], |b, _, results, square| {
            let (place, index) = results.split_at(2);
            let element = b.call_subgraph(&operand, index, &[]);
            vec![b.insert(element[0], square[0], place)]
        });
        // The square is complete only after all threads of the block reach the barrier.
        let square = kernel.sync_threads(&square);
        let writing = schedule.writing(&problem);
        let written = kernel.indexed_loop(&writing, &point, &outputs, &[], |b, _, results, outputs| {
            let (place, index) = results.split_at(2);
            let element = b.extract(square[0], place);
            let value = b.call_subgraph(&epilogue, index, &[element]);
            vec![b.insert(value[0], outputs[0], index)]
        });
        kernel.finish(&written)
    }
}

/// A transpose of the last two dimensions of `[batch, rows, columns]`. The fusion's only result is
/// an elementwise function of the transpose.
struct Problem {
    dims: [i64; 3],
    hero: InstrId,
    operand: InstrId,
    operand_shape: ArrayShape,
    root: InstrId,
    root_dims: Vec<i64>,
    /// Description for users.
    text: String,
}

impl Problem {
    /// # Errors
    /// Returns the reason why the emitter declines the fusion, as a text for the fusion's author.
    fn of(fusion: &Fusion) -> Result<Problem, Decline> {
        let found = TransposeFusion::of(fusion)?;
        let (&[hero], &[RootPlace::Result], &[root]) = (&*found.heroes, &*found.roots, &*fusion.roots) else {
            return Err(Decline::new("takes one transpose, with one result"));
        };
        let dims = match (&*found.form.dims, &*found.form.permutation) {
            (&[rows, columns], [1, 0]) => [1, rows, columns],
            (&[batch, rows, columns], [0, 2, 1]) => [batch, rows, columns],
            _ => return Err(Decline::new(format!("{} exchanges more than two dimensions", found.form))),
        };
        if found.form.element_count() > MOST_ELEMENTS {
            return Err(Decline::new(format!("takes at most {MOST_ELEMENTS} elements")));
        }
        let computation = fusion.computation();
        let operand = computation.instruction(hero).operands[0];
        let array = |id| computation.instruction(id).shape.as_array().ok_or_else(|| Decline::new("takes arrays"));
        let (operand_shape, root_dims) = (array(operand)?.clone(), array(root)?.dims.clone());
        Ok(Problem { dims, hero, operand, operand_shape, root, root_dims, text: found.form.to_string() })
    }

    fn scalar(&self) -> Scalar {
        Type::of_element(self.operand_shape.element_type).element()
    }

    /// Number of squares in each dimension.
    fn squares(&self) -> [i64; 3] {
        let [batch, rows, columns] = self.dims;
        [batch, ceil_div(rows, EDGE), ceil_div(columns, EDGE)]
    }
}

/// The distribution of the elements over threads.
struct Schedule {
    threads: i64,
    blocks: i64,
}

impl Schedule {
    fn new(
        problem: &Problem,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Schedule, EmitError> {
        let most = i64::from(device.max_threads_per_block).min(EDGE * EDGE);
        let threads = configuration.knob("threads", 1..=most)?.unwrap_or(most.min(256));
        Ok(Schedule { threads, blocks: problem.squares().iter().product::<i64>().max(1) })
    }

    fn configuration(&self) -> Configuration {
        Configuration::from([("threads", self.threads)])
    }

    /// Returns other configurations that are worth measuring.
    fn alternatives(&self, device: &DeviceDescription) -> Vec<Configuration> {
        let most = i64::from(device.max_threads_per_block);
        let possible = [128, 512].into_iter().filter(|&threads| threads <= most);
        self.configuration().others(possible.map(|threads| Configuration::from([("threads", threads)])))
    }

    /// Returns the map `(th, bl)[step] -> (index in the square, operand's index)`.
    fn reading(&self, problem: &Problem) -> IndexingMap {
        let [batch, rows, columns] = problem.dims;
        let ([i, j], [b, first_row, first_column]) = self.place(problem);
        let place = vec![i.clone(), j.clone()];
        self.moving(place, [batch, rows, columns], [b, first_row + i, first_column + j], &problem.operand_shape.dims)
    }

    /// Returns the map `(th, bl)[step] -> (index in the square, root's index)`.
    fn writing(&self, problem: &Problem) -> IndexingMap {
        let [batch, rows, columns] = problem.dims;
        let ([i, j], [b, first_row, first_column]) = self.place(problem);
        let place = vec![j.clone(), i.clone()];
        self.moving(place, [batch, columns, rows], [b, first_column + i, first_row + j], &problem.root_dims)
    }

    /// Returns a thread's index within the square, and the operand's index of the square's first
    /// element.
    fn place(&self, problem: &Problem) -> ([Expr; 2], [Expr; 3]) {
        let position = self.position();
        let [_, rows, columns] = problem.squares();
        let square = Expr::dim(1);
        let row = square.clone().floor_div(columns).modulo(rows);
        let batch = square.clone().floor_div(rows * columns);
        let first = [batch, row * EDGE, square.modulo(columns) * EDGE];
        ([position.clone().floor_div(EDGE), position.modulo(EDGE)], first)
    }

    /// Returns the position of a thread within the square.
    fn position(&self) -> Expr {
        Expr::range(0) * self.threads + Expr::dim(0)
    }

    /// Returns the map from thread, block and step to `place` in the square and to an index of the
    /// array with dimensions `dims`. `index` refers to an array of dimensions `sizes` with the same
    /// elements in row-major order.
    fn moving(&self, place: Vec<Expr>, sizes: [i64; 3], index: [Expr; 3], dims: &[i64]) -> IndexingMap {
        let [_, row, column] = index.clone();
        let map = IndexingMap {
            dims: vec![Variable::named("th", self.threads), Variable::named("bl", self.blocks)],
            ranges: vec![Variable::named("step", ceil_div(EDGE * EDGE, self.threads))],
            results: [place, delinearize(&linearize(&index, &sizes), dims)].concat(),
            ..IndexingMap::default()
        };
        map.with_constraint(self.position(), Interval::from_size(EDGE * EDGE))
            .with_constraint(row, Interval::from_size(sizes[1]))
            .with_constraint(column, Interval::from_size(sizes[2]))
            .simplify()
    }
}

/// Returns the map without its first two results, which are the index in the square.
fn without_place(map: IndexingMap) -> IndexingMap {
    IndexingMap { results: map.results[2..].to_vec(), ..map }
}
