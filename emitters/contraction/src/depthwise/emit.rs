//! The loops that a block of the kernel executes.
//!
//! ```text
//! for task of the block
//!   for each chunk of input rows (as many as fit)
//!     copy them, with zeros outside the input; copy the kernel, unless the block has already copied all of it
//!     for each register tile of positions and features
//!       for row, for window position: sums += input * kernel
//!   apply the epilogue to the sums and write the results
//! ```
//!
//! Lanes and registers beyond the last sum hold unspecified values, which the kernel never writes
//! to a result.

use fusebox_core::builder::{FunctionBuilder, KernelBuilder, Scalar, Type, Value};
use fusebox_core::emitter::{EmitError, Fusion, Kernel};

use super::DepthwiseProblem;
use super::sizes::DepthwiseSizes;
use crate::chain::ChainProducts;
use crate::emit::filled;
use crate::multiply::add_product;
use crate::pack::{OperandRange, PackSource, is_parameter};
use crate::results::{ResultEpilogues, sums_before, with_kept};

/// The problem, the chosen sizes, and the functions that the kernel calls.
struct DepthwiseKernel<'a> {
    problem: &'a DepthwiseProblem,
    sizes: &'a DepthwiseSizes,
    input: PackSource<'a>,
    kernel: PackSource<'a>,
    results: ResultEpilogues<'a>,
}

/// Loop-carried tensors: input rows, the convolution kernel, sums, and outputs.
#[derive(Clone)]
struct DepthwiseLoopState {
    input: Value,
    kernel: Value,
    sums: Value,
    outputs: Vec<Value>,
}

impl DepthwiseLoopState {
    fn list(&self) -> Vec<Value> {
        [&[self.input, self.kernel, self.sums], self.outputs.as_slice()].concat()
    }

    fn of(list: &[Value]) -> DepthwiseLoopState {
        DepthwiseLoopState { input: list[0], kernel: list[1], sums: list[2], outputs: list[3..].to_vec() }
    }
}

/// Range of the input rows that are in the block's memory.
#[derive(Clone, Copy)]
struct LoadedRows {
    first: Value,
    count: Value,
}

/// Builds the kernel.
pub fn emit(fusion: &Fusion, problem: &DepthwiseProblem, sizes: &DepthwiseSizes) -> Result<Kernel, EmitError> {
    let mut builder = KernelBuilder::new(fusion);
    let input = sizes.input(problem);
    let [values, weights] = problem.operands.map(|operand| builder.values(&[operand]));
    let factor = problem.sum;
    let results = ResultEpilogues::new(&mut builder, &problem.roots, problem.convolution, [factor, problem.result]);
    let block = DepthwiseKernel {
        input: PackSource {
            operand: &input,
            function: values,
            is_parameter: is_parameter(fusion, problem.operands[0]),
            lines: sizes.count(),
            factor,
            is_offset: false,
            grain: sizes.row_size(),
        },
        kernel: PackSource {
            operand: &problem.kernel,
            function: weights,
            is_parameter: is_parameter(fusion, problem.operands[1]),
            lines: problem.features(),
            factor,
            is_offset: false,
            grain: 1,
        },
        results,
        problem,
        sizes,
    };
    let (number, outputs) = (builder.block(), builder.outputs().to_vec());
    let b: &mut FunctionBuilder = &mut builder;
    let mut state = block.start(b, outputs);
    if block.has_whole_kernel() {
        let zero = b.index(0);
        let all = block.all_rows(b);
        state.kernel = block.copy_kernel(b, zero, all, state.kernel);
    }
    let (tasks_per_block, count, one) = (b.index(sizes.tasks_per_block), b.index(sizes.count()), b.index(1));
    let first = b.muli(number, tasks_per_block);
    let end = b.addi(first, tasks_per_block);
    let end = b.minsi(end, count);
    let written = b.scf_for(first, end, one, &state.list(), |b, task, state| {
        block.task(b, task, DepthwiseLoopState::of(state)).list()
    });
    builder.finish(&DepthwiseLoopState::of(&written).outputs)
}

impl DepthwiseKernel<'_> {
    /// Allocates all tensors. Fills the tensors of the input and of the convolution kernel with
    /// zeros, because the kernel also multiplies elements of these tensors that no copy writes.
    /// Processors multiply zeros as fast as any number.
    fn start(&self, b: &mut FunctionBuilder, outputs: Vec<Value>) -> DepthwiseLoopState {
        let sum = Scalar::of_element(self.problem.sum);
        let zero = b.zero(&Type::from(sum));
        let input = b.allocate_shared(&self.sizes.input_dims(self.problem), sum);
        let kernel = b.allocate_shared(&self.sizes.kernel_dims(self.problem), sum);
        let sums = b.allocate_shared(&self.sizes.sum_dims(self.problem), sum);
        let (input, kernel) = (filled(b, input, zero), filled(b, kernel, zero));
        DepthwiseLoopState { input, kernel, sums, outputs }
    }

    /// Whether every task uses the whole convolution kernel at once.
    fn has_whole_kernel(&self) -> bool {
        self.sizes.rows == self.problem.rows() && self.sizes.features == self.problem.features()
    }

    fn all_rows(&self, b: &mut FunctionBuilder) -> LoadedRows {
        LoadedRows { first: b.index(0), count: b.index(self.problem.rows()) }
    }

    /// Copies the elements of the convolution kernel that belong to a task's features and to the
    /// input rows `rows`.
    fn copy_kernel(&self, b: &mut FunctionBuilder, feature: Value, rows: LoadedRows, tensor: Value) -> Value {
        let (window, features) = (b.index(self.problem.window()), b.index(self.sizes.features));
        let part = OperandRange {
            batch: b.index(0),
            line: feature,
            lines: features,
            step: b.muli(rows.first, window),
            steps: b.muli(rows.count, window),
        };
        let [_, _, width] = self.sizes.kernel_dims(self.problem);
        self.kernel.copy_panels(b, &part, [width, self.sizes.features], tensor)
    }

    fn task(&self, b: &mut FunctionBuilder, task: Value, mut state: DepthwiseLoopState) -> DepthwiseLoopState {
        let zero = b.index(0);
        if self.sizes.chain.is_some() {
            // Chains add to the sums, so the sums begin at zero.
            let nothing = b.zero(&Type::from(Scalar::of_element(self.problem.sum)));
            state.sums = filled(b, state.sums, nothing);
        }
        let place = b.apply_indexing(&self.sizes.place(), &[task, zero, zero]);
        let (first, feature) = (place[place.len() - 2], place[place.len() - 1]);
        let all = b.index(self.problem.positions());
        let left = b.subi(all, first);
        let most = b.index(self.sizes.positions);
        let positions = b.minsi(left, most);
        let (rows, step) = (b.index(self.problem.rows()), b.index(self.sizes.rows));
        let state = b.scf_for(zero, rows, step, &state.list(), |b, first, state| {
            let mut state = DepthwiseLoopState::of(state);
            let left = b.subi(rows, first);
            let some = LoadedRows { first, count: b.minsi(left, step) };
            state.input = self.copy_rows(b, task, some, state.input);
            if !self.has_whole_kernel() {
                state.kernel = self.copy_kernel(b, feature, some, state.kernel);
            }
            state.sums = self.add(b, positions, some, &state);
            state.list()
        });
        let state = DepthwiseLoopState::of(&state);
        let outputs = self.results(b, task, positions, &state);
        DepthwiseLoopState { outputs, ..state }
    }

    fn copy_rows(&self, b: &mut FunctionBuilder, task: Value, rows: LoadedRows, tensor: Value) -> Value {
        let (size, zero) = (b.index(self.sizes.row_size()), b.index(0));
        let (step, steps) = (b.muli(rows.first, size), b.muli(rows.count, size));
        let part = OperandRange { batch: zero, line: task, lines: size, step, steps };
        self.input.copy_line(b, &part, zero, tensor, &[])
    }

    /// Adds the products of the loaded input rows and the convolution kernel to all sums of the
    /// task.
    fn add(&self, b: &mut FunctionBuilder, positions: Value, rows: LoadedRows, state: &DepthwiseLoopState) -> Value {
        let (zero, height) = (b.index(0), b.index(self.sizes.height));
        if self.problem.along_features {
            let (features, lanes) = (b.index(self.sizes.features), b.index(self.sizes.lanes));
            let sums = b.scf_for(zero, positions, height, &[state.sums], |b, position, sums| {
                b.scf_for(zero, features, lanes, sums, |b, feature, sums| {
                    let places: Vec<[Value; 2]> = (0..self.sizes.height)
                        .map(|row| {
                            let row = b.index(row);
                            [b.addi(position, row), feature]
                        })
                        .collect();
                    vec![self.add_to(b, &places, rows, state, sums[0])]
                })
            });
            return sums[0];
        }
        let width = b.index(self.sizes.width());
        b.scf_for(zero, positions, width, &[state.sums], |b, position, sums| {
            let places: Vec<[Value; 2]> = (0..self.sizes.height)
                .map(|register| {
                    let lane = b.index(register * self.sizes.lanes);
                    [zero, b.addi(position, lane)]
                })
                .collect();
            vec![self.add_to(b, &places, rows, state, sums[0])]
        })[0]
    }

    /// Adds the products of the loaded input rows and the convolution kernel to the registers of
    /// sums at `places`.
    fn add_to(
        &self,
        b: &mut FunctionBuilder,
        places: &[[Value; 2]],
        rows: LoadedRows,
        state: &DepthwiseLoopState,
        sums: Value,
    ) -> Value {
        let (zero, window) = (b.index(0), b.index(self.problem.window()));
        let form = (self.sizes.lanes, self.problem.sum);
        let write = |b: &mut FunctionBuilder, sums: Value, after: Vec<Value>| {
            places.iter().zip(after).fold(sums, |sums, (place, sum)| b.vector_write(sum, sums, place))
        };
        let Some(chain) = self.sizes.chain else {
            let first = (self.sizes.rows < self.problem.rows()).then_some(rows.first);
            let before = sums_before(b, first, form, places, sums);
            let all = ChainProducts { rows: [zero, rows.count], steps: [zero, window] };
            let after = self.multiply(b, places, all, state, &before);
            return write(b, sums, after);
        };
        chain.each(b, [rows.count, window], sums, |b, products, sums| {
            let nothing = sums_before(b, None, form, places, sums);
            let partial = self.multiply(b, places, products, state, &nothing);
            let after = with_kept(b, places, sums, &partial);
            write(b, sums, after)
        })
    }

    /// Adds `products` to the registers of sums `before`, and returns the new registers.
    fn multiply(
        &self,
        b: &mut FunctionBuilder,
        places: &[[Value; 2]],
        products: ChainProducts,
        state: &DepthwiseLoopState,
        before: &[Value],
    ) -> Vec<Value> {
        let lanes = self.sizes.lanes;
        let (zero, one, window) = (b.index(0), b.index(1), b.index(self.problem.window()));
        let ChainProducts { rows: [first_row, end_row], steps: [first_place, end_place] } = products;
        b.scf_for(first_row, end_row, one, before, |b, row, sums| {
            b.scf_for(first_place, end_place, one, sums, |b, place, sums| {
                let step = b.muli(row, window);
                let step = b.addi(step, place);
                let weight = if self.problem.along_features {
                    b.vector_read(state.kernel, &[zero, step, places[0][1]], lanes)
                } else {
                    let weight = b.extract(state.kernel, &[zero, step, zero]);
                    b.vector_broadcast(weight, lanes)
                };
                let added = places.iter().zip(sums).map(|(at, &sum)| {
                    let values = self.neighbours(b, [row, place], at, state.input);
                    add_product(b, values, weight, sum)
                });
                added.collect()
            })
        })
    }

    /// Returns a register with one input element for each lane of the register of sums that begins
    /// at the place `sums`. All elements of the register are from input row `row` and belong to
    /// window position `place`.
    fn neighbours(&self, b: &mut FunctionBuilder, [row, place]: [Value; 2], sums: &[Value; 2], input: Value) -> Value {
        let axis = &self.problem.geometry.places[self.problem.axis];
        let (stride, dilation) = (b.index(axis.stride), b.index(axis.window_dilation));
        let (places, features) = (b.index(self.sizes.places), b.index(self.sizes.features));
        let (position, feature) = if self.problem.along_features { (sums[0], sums[1]) } else { (sums[1], b.index(0)) };
        let from = b.muli(row, places);
        let (position, place) = (b.muli(position, stride), b.muli(place, dilation));
        let from = b.addi(from, position);
        let from = b.addi(from, place);
        let from = b.muli(from, features);
        let from = b.addi(from, feature);
        if self.problem.along_features || axis.stride == 1 {
            return b.vector_read(input, &[from], self.sizes.lanes);
        }
        let elements: Vec<Value> = (0..self.sizes.lanes)
            .map(|lane| {
                let lane = b.index(lane * axis.stride);
                let at = b.addi(from, lane);
                b.extract(input, &[at])
            })
            .collect();
        b.vector_from_elements(&elements)
    }

    /// Writes the results of a task.
    fn results(
        &self,
        b: &mut FunctionBuilder,
        task: Value,
        positions: Value,
        state: &DepthwiseLoopState,
    ) -> Vec<Value> {
        let (zero, one, features) = (b.index(0), b.index(1), b.index(self.sizes.features));
        let place = self.sizes.place();
        let along_features = self.problem.along_features;
        let (outer, inner) = if along_features { (positions, features) } else { (features, positions) };
        b.scf_for(zero, outer, one, &state.outputs, |b, outer, outputs| {
            b.scf_for(zero, inner, one, outputs, |b, inner, outputs| {
                let sum = b.extract(state.sums, &[outer, inner]);
                let (position, feature) = if along_features { (outer, inner) } else { (inner, outer) };
                let point = b.apply_indexing(&place, &[task, position, feature]);
                self.results.written(b, &point, sum, outputs)
            })
        })
    }
}
