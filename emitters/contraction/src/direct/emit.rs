//! The loops that a block of the kernel executes.
//!
//! ```text
//! for each chunk of input rows (as many as fit)
//!   pack the kernel's features for these rows
//!   for row of the result
//!     copy the input rows that it reads, with zeros outside the input
//!     for each register tile of positions and features
//!       sums = 0, or the sums of earlier chunks
//!       for row, for step in the row: sums += input * kernel    many steps: in chains with separate sums
//!     after the last chunk: apply the epilogue to the sums and write the results
//! ```
//!
//! For positions and features beyond the end, the kernel multiplies unspecified values and never
//! writes the results.

use fusebox_core::builder::{FunctionBuilder, IntPredicate, KernelBuilder, Scalar, Type, Value};
use fusebox_core::emitter::{EmitError, Fusion, Kernel};
use fusebox_core::indexing::IndexingMap;

use super::DirectProblem;
use super::sizes::DirectSizes;
use crate::chain::ChainProducts;
use crate::emit::filled;
use crate::multiply::add_product;
use crate::pack::{OperandRange, PackSource, each, is_parameter};
use crate::results::{ResultEpilogues, sums_before, with_kept};

/// The problem, the chosen sizes, the functions that the kernel calls, and index maps.
struct DirectKernel<'a> {
    problem: &'a DirectProblem,
    sizes: &'a DirectSizes,
    input: PackSource<'a>,
    kernel: PackSource<'a>,
    results: ResultEpilogues<'a>,
    of_position: IndexingMap,
    of_step: IndexingMap,
    in_result: IndexingMap,
}

/// Loop-carried tensors: input rows, the packed convolution kernel, one line of the convolution
/// kernel before packing, sums, and outputs.
#[derive(Clone)]
struct DirectLoopState {
    input: Value,
    kernel: Value,
    line: Value,
    sums: Value,
    outputs: Vec<Value>,
}

impl DirectLoopState {
    fn list(&self) -> Vec<Value> {
        [&[self.input, self.kernel, self.line, self.sums], self.outputs.as_slice()].concat()
    }

    fn of(list: &[Value]) -> DirectLoopState {
        DirectLoopState { input: list[0], kernel: list[1], line: list[2], sums: list[3], outputs: list[4..].to_vec() }
    }
}

/// The group, the rows and the features of the result that a block computes.
#[derive(Clone, Copy)]
struct FeatureTile {
    group: Value,
    row: Value,
    rows: Value,
    feature: Value,
    features: Value,
}

/// Range of the input rows that are copied together.
#[derive(Clone, Copy)]
struct CopiedRows {
    first: Value,
    count: Value,
}

/// Builds the kernel.
pub fn emit(fusion: &Fusion, problem: &DirectProblem, sizes: &DirectSizes) -> Result<Kernel, EmitError> {
    let mut builder = KernelBuilder::new(fusion);
    let input = sizes.input(problem);
    let [values, weights] = [problem.input, problem.kernel.instruction].map(|operand| builder.values(&[operand]));
    let (factor, row, steps) = (problem.sum, sizes.row_size(problem), problem.steps());
    let results =
        ResultEpilogues::new(&mut builder, &problem.roots, problem.convolution, [problem.sum, problem.result]);
    let block = DirectKernel {
        input: PackSource {
            operand: &input,
            function: values,
            is_parameter: is_parameter(fusion, problem.input),
            lines: problem.rows(),
            factor,
            is_offset: false,
            grain: row,
        },
        kernel: PackSource {
            operand: &problem.kernel,
            function: weights,
            is_parameter: is_parameter(fusion, problem.kernel.instruction),
            lines: problem.features(),
            factor,
            is_offset: false,
            grain: steps,
        },
        results,
        of_position: problem.of_position(sizes.unit_of_positions()),
        of_step: problem.of_step(),
        in_result: DirectSizes::in_result(problem),
        problem,
        sizes,
    };
    let (number, outputs) = (builder.block(), builder.outputs().to_vec());
    let b: &mut FunctionBuilder = &mut builder;
    let state = block.start(b, outputs);
    let place = b.apply_indexing(&sizes.place(), &[number]);
    let rest = |b: &mut FunctionBuilder, first: Value, all: i64, most: i64| {
        let (all, most) = (b.index(all), b.index(most));
        let rest = b.subi(all, first);
        b.minsi(rest, most)
    };
    let tile = FeatureTile {
        group: place[0],
        row: place[1],
        rows: rest(b, place[1], problem.rows(), sizes.rows),
        feature: place[2],
        features: rest(b, place[2], problem.features(), sizes.features),
    };
    let (zero, outer, chunk) = (b.index(0), b.index(problem.outer()), b.index(sizes.outer));
    let written = b.scf_for(zero, outer, chunk, &state.list(), |b, first, state| {
        let count = rest(b, first, problem.outer(), sizes.outer);
        block.chunk(b, tile, CopiedRows { first, count }, DirectLoopState::of(state)).list()
    });
    builder.finish(&DirectLoopState::of(&written).outputs)
}

impl DirectKernel<'_> {
    /// Allocates all tensors. Fills a tensor with zeros if it has elements that no copy writes: the
    /// kernel multiplies these elements too, and processors multiply zeros as fast as any number.
    fn start(&self, b: &mut FunctionBuilder, outputs: Vec<Value>) -> DirectLoopState {
        let sum = Scalar::of_element(self.problem.sum);
        let zero = b.zero(&Type::from(sum));
        let input = b.allocate_shared(&self.sizes.input_dims(self.problem), sum);
        let kernel = b.allocate_shared(&self.sizes.kernel_dims(self.problem), sum);
        let line = b.allocate_shared(&self.sizes.line_dims(self.problem), sum);
        let sums = b.allocate_shared(&self.sizes.sum_dims(self.problem), sum);
        let input = filled(b, input, zero);
        let sums = if self.sizes.chain.is_some() && self.sizes.keeps_sums(self.problem) {
            self.no_sums(b, sums)
        } else {
            sums
        };
        let is_even = self.problem.features() % self.sizes.unit() == 0;
        let kernel = if is_even { kernel } else { filled(b, kernel, zero) };
        DirectLoopState { input, kernel, line, sums, outputs }
    }

    /// Fills the tensor of sums with zeros, because each chain adds its partial sum to this tensor.
    fn no_sums(&self, b: &mut FunctionBuilder, sums: Value) -> Value {
        let zero = b.zero(&Type::from(Scalar::of_element(self.problem.sum)));
        filled(b, sums, zero)
    }

    fn chunk(
        &self,
        b: &mut FunctionBuilder,
        tile: FeatureTile,
        chunk: CopiedRows,
        state: DirectLoopState,
    ) -> DirectLoopState {
        let state = self.pack_kernel(b, tile, chunk, state);
        let (zero, one) = (b.index(0), b.index(1));
        let state = b.scf_for(zero, tile.rows, one, &state.list(), |b, row, state| {
            let mut state = DirectLoopState::of(state);
            state.input = self.copy_rows(b, tile, row, chunk, state.input);
            let kept = if self.sizes.keeps_sums(self.problem) { row } else { zero };
            if self.sizes.chain.is_some() && !self.sizes.keeps_sums(self.problem) {
                state.sums = self.no_sums(b, state.sums);
            }
            state.sums = self.sums(b, tile, kept, chunk, &state);
            state.outputs = self.after_last(b, chunk, &state.outputs, |b| self.results(b, tile, [row, kept], &state));
            state.list()
        });
        DirectLoopState::of(&state)
    }

    /// Packs the convolution kernel's elements for the tile's features and the chunk's rows.
    fn pack_kernel(
        &self,
        b: &mut FunctionBuilder,
        tile: FeatureTile,
        chunk: CopiedRows,
        mut state: DirectLoopState,
    ) -> DirectLoopState {
        let steps = b.index(self.problem.steps());
        let part = OperandRange {
            batch: tile.group,
            line: tile.feature,
            lines: tile.features,
            step: b.muli(chunk.first, steps),
            steps: b.muli(chunk.count, steps),
        };
        let unit = self.sizes.unit();
        if !self.problem.kernel.runs_along_steps {
            state.kernel = self.kernel.copy_panels(b, &part, [unit, self.problem.features()], state.kernel);
            return state;
        }
        let (zero, one, unit) = (b.index(0), b.index(1), b.index(unit));
        let packed = b.scf_for(zero, tile.features, one, &[state.line, state.kernel], |b, feature, tensors| {
            let line = self.kernel.copy_line(b, &part, feature, tensors[0], &[]);
            let (panel, lane) = (b.floordivsi(feature, unit), b.remsi(feature, unit));
            let kernel = each(b, part.steps, tensors[1], |b, step, kernel| {
                let element = b.extract(line, &[step]);
                b.insert(element, kernel, &[panel, step, lane])
            });
            vec![line, kernel]
        });
        DirectLoopState { line: packed[0], kernel: packed[1], ..state }
    }

    /// Copies the input rows from which the kernel computes a row of the result.
    fn copy_rows(
        &self,
        b: &mut FunctionBuilder,
        tile: FeatureTile,
        row: Value,
        chunk: CopiedRows,
        tensor: Value,
    ) -> Value {
        let size = b.index(self.sizes.row_size(self.problem));
        let (step, steps) = (b.muli(chunk.first, size), b.muli(chunk.count, size));
        let part = OperandRange { batch: tile.group, line: tile.row, lines: tile.rows, step, steps };
        self.input.copy_line(b, &part, row, tensor, &[])
    }

    /// Adds the products of a chunk of input rows to the sums of all register tiles in one row of
    /// the result.
    fn sums(
        &self,
        b: &mut FunctionBuilder,
        tile: FeatureTile,
        kept: Value,
        chunk: CopiedRows,
        state: &DirectLoopState,
    ) -> Value {
        let sizes = self.sizes;
        let (zero, one, unit) = (b.index(0), b.index(1), b.index(sizes.unit()));
        let (positions, step) = (b.index(self.problem.positions()), b.index(sizes.unit_of_positions()));
        let panels = b.ceildivsi(tile.features, unit);
        b.scf_for(zero, positions, step, &[state.sums], |b, position, sums| {
            let starts = self.starts(b, position);
            b.scf_for(zero, panels, one, sums, |b, panel, sums| {
                let feature = b.muli(panel, unit);
                let (long, wide) = if sizes.by_positions { (feature, position) } else { (position, feature) };
                let places: Vec<[Value; 3]> = (0..sizes.height)
                    .flat_map(|row| (0..sizes.vectors).map(move |vector| (row, vector * sizes.lanes)))
                    .map(|(row, lane)| {
                        let (row, lane) = (b.index(row), b.index(lane));
                        [kept, b.addi(long, row), b.addi(wide, lane)]
                    })
                    .collect();
                let write = |b: &mut FunctionBuilder, sums: Value, after: Vec<Value>| {
                    places.iter().zip(after).fold(sums, |sums, (at, sum)| b.vector_write(sum, sums, at))
                };
                let Some(chain) = sizes.chain else {
                    let first = sizes.keeps_sums(self.problem).then_some(chunk.first);
                    let before = sums_before(b, first, (sizes.lanes, self.problem.sum), &places, sums[0]);
                    let all = ChainProducts { rows: [zero, chunk.count], steps: [zero, b.index(self.problem.steps())] };
                    let after = self.multiply(b, all, &starts, panel, state, &before);
                    return vec![write(b, sums[0], after)];
                };
                let all = [chunk.count, b.index(self.problem.steps())];
                let written = chain.each(b, all, sums[0], |b, products, sums| {
                    let nothing = sums_before(b, None, (sizes.lanes, self.problem.sum), &places, sums);
                    let partial = self.multiply(b, products, &starts, panel, state, &nothing);
                    let after = with_kept(b, &places, sums, &partial);
                    write(b, sums, after)
                });
                vec![written]
            })
        })[0]
    }

    /// Returns offsets in an input row: for each position of a register tile, the offset where the
    /// position's elements begin. If the lanes of a register are positions, returns only the offset
    /// of the first position.
    fn starts(&self, b: &mut FunctionBuilder, position: Value) -> Vec<Value> {
        let count = if self.sizes.by_positions { 1 } else { self.sizes.height };
        (0..count)
            .map(|number| {
                let number = b.index(number);
                let own = b.addi(position, number);
                b.apply_indexing(&self.of_position, &[own])[0]
            })
            .collect()
    }

    /// Adds the products `products` of a chunk to the sums `before` of a register tile. Returns the
    /// new sums.
    fn multiply(
        &self,
        b: &mut FunctionBuilder,
        products: ChainProducts,
        starts: &[Value],
        panel: Value,
        state: &DirectLoopState,
        before: &[Value],
    ) -> Vec<Value> {
        let sizes = self.sizes;
        let lanes = sizes.lanes;
        let (one, steps) = (b.index(1), b.index(self.problem.steps()));
        let size = b.index(sizes.row_size(self.problem));
        let ChainProducts { rows: [first_row, end_row], steps: [first_step, end_step] } = products;
        b.scf_for(first_row, end_row, one, before, |b, row, sums| {
            let (of_row, of_kernel) = (b.muli(row, size), b.muli(row, steps));
            b.scf_for(first_step, end_step, one, sums, |b, step, sums| {
                let within = b.apply_indexing(&self.of_step, &[step])[0];
                let within = b.addi(of_row, within);
                let step = b.addi(of_kernel, step);
                let wide: Vec<Value> = (0..sizes.vectors)
                    .map(|vector| {
                        let lane = b.index(vector * lanes);
                        if sizes.by_positions {
                            let at = b.addi(starts[0], lane);
                            let at = b.addi(at, within);
                            b.vector_read(state.input, &[at], lanes)
                        } else {
                            b.vector_read(state.kernel, &[panel, step, lane], lanes)
                        }
                    })
                    .collect();
                let mut next = Vec::with_capacity(sums.len());
                for (number, sums) in sums.chunks(sizes.vectors as usize).enumerate() {
                    let element = if sizes.by_positions {
                        let number = b.index(number as i64);
                        b.extract(state.kernel, &[panel, step, number])
                    } else {
                        let at = b.addi(starts[number], within);
                        b.extract(state.input, &[at])
                    };
                    let element = b.vector_broadcast(element, lanes);
                    next.extend(wide.iter().zip(sums).map(|(&wide, &sum)| add_product(b, element, wide, sum)));
                }
                next
            })
        })
    }

    /// Builds code that, after the last chunk of input rows, runs `write` and returns the new
    /// outputs. After every earlier chunk, the code returns `outputs` unchanged.
    fn after_last(
        &self,
        b: &mut FunctionBuilder,
        chunk: CopiedRows,
        outputs: &[Value],
        write: impl FnOnce(&mut FunctionBuilder) -> Vec<Value>,
    ) -> Vec<Value> {
        if !self.sizes.keeps_sums(self.problem) {
            return write(b);
        }
        let (end, all) = (b.addi(chunk.first, chunk.count), b.index(self.problem.outer()));
        let is_last = b.cmpi(IntPredicate::Eq, end, all);
        let types = b.types_of(outputs);
        b.scf_if(is_last, &types, write, |_| outputs.to_vec())
    }

    /// Writes the results of a row. `row` is the number of the row in the tile, and `kept` is its
    /// number in the tensor of sums.
    fn results(
        &self,
        b: &mut FunctionBuilder,
        tile: FeatureTile,
        [row, kept]: [Value; 2],
        state: &DirectLoopState,
    ) -> Vec<Value> {
        let (zero, one, positions) = (b.index(0), b.index(1), b.index(self.problem.positions()));
        let row = b.addi(tile.row, row);
        let by_positions = self.sizes.by_positions;
        let (outer, inner) = if by_positions { (tile.features, positions) } else { (positions, tile.features) };
        b.scf_for(zero, outer, one, &state.outputs, |b, outer, outputs| {
            b.scf_for(zero, inner, one, outputs, |b, inner, outputs| {
                let sum = b.extract(state.sums, &[kept, outer, inner]);
                let (position, feature) = if by_positions { (inner, outer) } else { (outer, inner) };
                let feature = b.addi(tile.feature, feature);
                let place = b.apply_indexing(&self.in_result, &[row, position, feature]);
                self.results.written(b, &[&[tile.group], place.as_slice()].concat(), sum, outputs)
            })
        })
    }
}
