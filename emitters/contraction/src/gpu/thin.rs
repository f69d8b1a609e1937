//! Products of a matrix and a few vectors. The kernel uses each element of the matrix so rarely
//! that it reads the elements directly into registers, without a tile in shared memory.
//!
//! ```text
//! matrix contiguous along steps    a warp reads a line, its threads read adjacent steps
//! matrix contiguous along lines    threads read adjacent lines; groups of threads split the steps
//! ```
//!
//! In both layouts of the matrix, several threads hold parts of one sum. The threads that hold
//! parts of one sum write these parts to shared memory. Then one thread adds the parts in the order
//! of the threads.

use fusebox_core::builder::{FunctionBuilder, KernelBuilder, Scalar, Value};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Blocks, Configuration, Decline, EmitError, Fusion, Kernel, LaunchDimensions, Plan, Work};
use fusebox_core::hlo::Opcode;
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, ceil_div};

use super::grid::{ResultGrid, index_of};
use super::tile_copy::{TileCopy, TileSource, visit};
use crate::multiply::add_product;
use crate::problem::{ProductProblem, ProductRoots};
use crate::results::{ResultEpilogues, written};
use crate::strategy::ProductStrategy;

const THREADS: &str = "threads";
/// Largest number of vectors that a thread multiplies. A thread keeps a sum for each vector.
const MOST_VECTORS: i64 = 8;
/// Largest number of bytes of a thread's sums.
const MOST_SUM_BYTES: i64 = 128;
/// Numbers of threads per block that the knob `threads` allows, the default first.
const THREADS_OF_BLOCK: [i64; 3] = [256, 128, 512];
/// Bytes that a thread reads at once.
const READ_BYTES: i64 = 16;
/// Number of concurrent reads of a thread.
const IN_FLIGHT: i64 = 4;
/// Least number of adjacent threads along lines. `LEAST_SIDE_BY_SIDE` adjacent threads together
/// read whole cache lines.
const LEAST_SIDE_BY_SIDE: i64 = 8;
const WARP: i64 = 32;

/// The sizes that the emitter chooses.
#[derive(Clone, Debug)]
pub struct ThinContraction {
    grid: ResultGrid,
    /// Index of the operand that is the matrix: 0 for the left, 1 for the right.
    side: usize,
    /// Whether steps, not lines, are contiguous in the matrix.
    along_steps: bool,
    /// Number of elements that a thread reads at once.
    lanes: i64,
    /// Number of reads of the matrix per iteration.
    reads: i64,
    /// Number of threads that compute parts of the same sum (the *sharers*), and number of threads
    /// along lines.
    sharers: i64,
    across: i64,
}

impl ThinContraction {
    fn threads(&self) -> i64 {
        self.sharers * self.across
    }

    fn vectors(&self) -> i64 {
        self.grid.tile[1 - self.side]
    }

    /// Returns the number of the matrix's lines that a block multiplies.
    fn lines(&self) -> i64 {
        self.grid.tile[self.side]
    }

    /// Returns the numbers of steps and of lines that one read of a thread covers.
    fn read(&self) -> [i64; 2] {
        if self.along_steps { [self.lanes, 1] } else { [1, self.lanes] }
    }

    /// Returns the number of steps that a block multiplies per iteration.
    fn steps(&self) -> i64 {
        self.reads * self.sharers * self.read()[0]
    }

    fn turns(&self) -> i64 {
        ceil_div(self.grid.sizes.steps, self.steps())
    }

    /// Returns the number of results that a block computes.
    fn results(&self) -> i64 {
        self.vectors() * self.lines()
    }

    /// Returns the map `(th) -> (number among the sharers, number along lines)`.
    fn thread(&self) -> IndexingMap {
        let thread = Expr::dim(0);
        let by = if self.along_steps { self.sharers } else { self.across };
        let (slow, fast) = (thread.clone().floor_div(by), thread.modulo(by));
        let results = if self.along_steps { vec![fast, slow] } else { vec![slow, fast] };
        IndexingMap::from_tensor_sizes(results, &[self.threads()], &[]).simplify()
    }

    /// Returns the dimensions of the tensor in shared memory that contains the parts of sums.
    fn parts(&self) -> [i64; 2] {
        // With these dimensions, adjacent threads write to different banks.
        if self.along_steps { [self.results(), self.sharers + 1] } else { [self.sharers, self.results()] }
    }

    fn place(&self, sharer: Value, result: Value) -> [Value; 2] {
        if self.along_steps { [result, sharer] } else { [sharer, result] }
    }

    /// Returns the distribution of an operand's reads over threads.
    fn fill(&self, side: usize) -> TileCopy {
        let [steps, lines] = self.read();
        let is_matrix = side == self.side;
        let group = if is_matrix { steps * lines } else { steps };
        TileCopy {
            lines: self.grid.tile[side],
            steps: self.steps(),
            group,
            along_steps: self.along_steps || !is_matrix,
            pack: 1,
            across: 1,
            threads: self.threads(),
        }
    }

    /// Returns the map `(th, bl)[turn] -> (number of the result in the block, batch, row, column)`.
    fn written(&self) -> IndexingMap {
        let number = Expr::range(0) * self.threads() + Expr::dim(0);
        let place = self.grid.place(&Expr::dim(1));
        let (vector, line) = (number.clone().floor_div(self.lines()), number.clone().modulo(self.lines()));
        let [of_row, of_column] = if self.side == 0 { [line, vector] } else { [vector, line] };
        let (row, column) = (place[1].clone() + of_row, place[2].clone() + of_column);
        let mut constraints = self.grid.limits(&row, &column);
        if self.results() % self.threads() != 0 {
            constraints.push(Constraint::new(number.clone(), Interval::from_size(self.results())));
        }
        let turns = ceil_div(self.results(), self.threads());
        let results = vec![number, place[0].clone(), row, column];
        IndexingMap { constraints, ..self.grid.over(self.threads(), &[("turn", turns)], results) }
    }

    fn written_to(&self, roots: &ProductRoots) -> IndexingMap {
        let map = self.written();
        let point = [map.results[1].clone(), map.results[2].clone(), map.results[3].clone()];
        IndexingMap { results: index_of(roots, &point), ..map }.simplify()
    }

    fn shared_bytes(&self, problem: &ProductProblem) -> i64 {
        self.parts()[0] * self.parts()[1] * problem.sum.byte_size() as i64
    }

    /// Returns the thread's partial sums, one for each vector and each line of a read.
    fn sums(
        &self,
        b: &mut FunctionBuilder,
        sources: &[TileSource; 2],
        [sharer, across]: [Value; 2],
        place: &[Value],
        problem: &ProductProblem,
    ) -> Vec<Value> {
        let [steps, lines] = self.read();
        let nothing = b.zero(&Scalar::of_element(problem.sum).into());
        let (zero, turns, one) = (b.index(0), b.index(self.turns()), b.index(1));
        let (of_read, of_turn, of_thread) = (b.index(steps), b.index(self.steps()), b.index(lines));
        let line = b.muli(across, of_thread);
        let line = b.addi(place[1 + self.side], line);
        let own = b.muli(sharer, of_read);
        b.scf_for(zero, turns, one, &vec![nothing; (self.vectors() * lines) as usize], |b, turn, sums| {
            let first = b.muli(turn, of_turn);
            let first = b.addi(first, own);
            let points: Vec<Value> = (0..self.reads)
                .map(|read| {
                    let distance = b.index(read * self.sharers * steps);
                    b.addi(first, distance)
                })
                .collect();
            let matrix: Vec<Vec<Value>> =
                points.iter().map(|&step| sources[self.side].group(b, [place[0], line, step])).collect();
            let mut sums = sums.to_vec();
            for (&step, matrix) in points.iter().zip(&matrix) {
                for vector in 0..self.vectors() {
                    let number = b.index(vector);
                    let of_vector = sources[1 - self.side].group(b, [place[0], number, step]);
                    for (number, &element) in matrix.iter().enumerate() {
                        let number = number as i64;
                        let (line, step) = if self.along_steps { (0, number) } else { (number, 0) };
                        let sum = &mut sums[(vector * lines + line) as usize];
                        *sum = add_product(b, element, of_vector[step as usize], *sum);
                    }
                }
            }
            sums
        })
    }

    /// Adds the partial sums of all threads, applies the epilogue and writes the results.
    fn write(
        &self,
        b: &mut FunctionBuilder,
        results: &ResultEpilogues,
        (at, [sharer, across]): ([Value; 2], [Value; 2]),
        sums: &[Value],
        outputs: &[Value],
    ) -> Vec<Value> {
        let sum = results.sum();
        let tile = b.allocate_shared(&self.parts(), sum);
        let lines = self.read()[1];
        let by = b.index(lines);
        let first = b.muli(across, by);
        let tile = sums.iter().enumerate().fold(tile, |tile, (number, &sum)| {
            let (vector, line) = (number as i64 / lines, number as i64 % lines);
            let distance = b.index(vector * self.lines() + line);
            let result = b.addi(first, distance);
            b.insert(sum, tile, &self.place(sharer, result))
        });
        let tile = b.sync_threads(&[tile])[0];
        let map = self.written().simplify();
        b.indexed_loop(&map, &at, outputs, &[], |b, _, result, outputs| {
            let (zero, one, sharers) = (b.index(0), b.index(1), b.index(self.sharers));
            let first = b.extract(tile, &self.place(zero, result[0]));
            let total = b.scf_for(one, sharers, one, &[first], |b, sharer, total| {
                let part = b.extract(tile, &self.place(sharer, result[0]));
                vec![if matches!(sum, Scalar::Float(_)) { b.addf(total[0], part) } else { b.addi(total[0], part) }]
            });
            results.written(b, &result[1..], total[0], outputs)
        })
    }
}

impl ProductStrategy for ThinContraction {
    type Problem = ProductProblem;
    const BLOCKS: Blocks = Blocks::OfManyThreads;
    const ANCHORS: &'static [Opcode] = &[Opcode::Dot];

    fn suits(problem: &ProductProblem, _: &DeviceDescription) -> Result<(), Decline> {
        super::check(problem)?;
        match problem.sizes.rows.min(problem.sizes.columns) {
            vectors if vectors > MOST_VECTORS => {
                Err(Decline::new(format!("{vectors} vectors are too many; the limit is {MOST_VECTORS}")))
            }
            _ => Ok(()),
        }
    }

    fn new(
        problem: &ProductProblem,
        device: &DeviceDescription,
        knobs: &Configuration,
    ) -> Result<ThinContraction, EmitError> {
        let wanted = format!("one of {THREADS_OF_BLOCK:?}");
        let threads = knobs.checked_knob(THREADS, || wanted, |value| THREADS_OF_BLOCK.contains(&value))?;
        let threads = threads.unwrap_or(THREADS_OF_BLOCK[0]).min(i64::from(device.max_threads_per_block));
        let sizes = problem.sizes;
        let side = usize::from(sizes.columns > sizes.rows);
        let (lines, vectors) = (sizes.rows.max(sizes.columns), sizes.rows.min(sizes.columns));
        let matrix = &problem.operands[side];
        let bytes = matrix.element.byte_size().max(1) as i64;
        // Limits the number of elements of a read. The limits are the number of elements that
        // exist, and the number of sums that a thread can keep.
        let least = |size: i64, most: i64| (size.max(1) as u64).next_power_of_two().min(most as u64) as i64;
        let sums = MOST_SUM_BYTES / problem.sum.byte_size().max(1) as i64;
        let most = (READ_BYTES / bytes).clamp(1, (sums / vectors.clamp(1, MOST_VECTORS)).max(1));
        let along_steps = matrix.runs_along_steps;
        let lanes = least(if along_steps { sizes.steps } else { lines }, most);
        let cores = i64::from(device.core_count.max(1));
        let (sharers, across) = if along_steps {
            let sharers = least(ceil_div(sizes.steps, lanes), WARP);
            (sharers, threads / sharers)
        } else {
            // Uses as many threads along lines as possible, as long as every core gets a block.
            let mut across = least(ceil_div(lines, lanes), WARP);
            while across > LEAST_SIDE_BY_SIDE && sizes.batch * ceil_div(lines, across * lanes) < cores {
                across /= 2;
            }
            (threads / across, across)
        };
        let at_once = sharers * if along_steps { lanes } else { 1 };
        let reads = least(sizes.steps / at_once, IN_FLIGHT);
        let of_block = across * if along_steps { 1 } else { lanes };
        let tile = if side == 0 { [of_block, vectors] } else { [vectors, of_block] };
        let thin =
            ThinContraction { grid: ResultGrid { sizes, tile }, side, along_steps, lanes, reads, sharers, across };
        match thin.shared_bytes(problem) {
            needed if needed > i64::from(device.shared_bytes_per_block) => Err(EmitError::new(format!(
                "parts of sums take {needed} bytes of shared memory, a block has {}",
                device.shared_bytes_per_block
            ))),
            _ => Ok(thin),
        }
    }

    fn plan(&self, problem: &ProductProblem, device: &DeviceDescription) -> Plan {
        let launch = LaunchDimensions { blocks: self.grid.blocks() as u64, threads_per_block: self.threads() as u32 };
        let bytes = problem.sum.byte_size() as i64;
        let own = Configuration::from([(THREADS, self.threads())]);
        let others = THREADS_OF_BLOCK.map(|threads| Configuration::from([(THREADS, threads)]));
        let fits = |other: &Configuration| ThinContraction::new(problem, device, other).is_ok();
        let parts = self.grid.results() * self.sharers as f64;
        let sides = [0, 1].map(|side| visit(&self.grid, problem, side, &self.fill(side)));
        let (outputs, visits) = written(&problem.roots, problem.dot, |roots| self.written_to(roots));
        let note = format!("a matrix times {} vectors, each sum by {} threads", self.vectors(), self.sharers);
        Plan {
            shared_bytes: self.shared_bytes(problem) as u32,
            visits: sides.into_iter().chain(visits).collect(),
            work: Work {
                additions: self.grid.results() * (self.turns() * self.steps()) as f64 + parts,
                tile_bytes: parts * bytes as f64,
                waits: 1.0,
                ..Work::default()
            },
            vector_lanes: self.lanes as u32,
            alternatives: own.others(others.into_iter().filter(fits)),
            configuration: own,
            notes: vec![note],
            ..Plan::new(launch, outputs)
        }
    }

    fn emit(&self, fusion: &Fusion, problem: &ProductProblem) -> Result<Kernel, EmitError> {
        let mut kernel = KernelBuilder::new(fusion);
        let sources = [0, 1].map(|side| {
            TileSource::new(&mut kernel, (fusion, problem), (&self.grid, side), self.fill(side), problem.sum)
        });
        let results = ResultEpilogues::new(&mut kernel, &problem.roots, problem.dot, [problem.sum, problem.result]);
        let at = [kernel.thread(), kernel.block()];
        let outputs = kernel.outputs().to_vec();
        let b: &mut FunctionBuilder = &mut kernel;
        let thread = b.apply_indexing(&self.thread(), &at[..1]);
        let place = b.apply_indexing(&self.grid.map(), &at[1..]);
        let sums = self.sums(b, &sources, [thread[0], thread[1]], &place, problem);
        let written = self.write(b, &results, (at, [thread[0], thread[1]]), &sums, &outputs);
        kernel.finish(&written)
    }
}
