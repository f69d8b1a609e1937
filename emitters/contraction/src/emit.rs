//! The loops that a block of the kernel executes.
//!
//! ```text
//! for tile of the block
//!   for each chunk of tile_k steps (if all fit: packs all first, and the loop over rows contains this loop)
//!     pack the right operand's columns of the tile
//!     for each register tile's rows
//!       pack the left operand's rows
//!       for each register tile's columns
//!         sums = 0, or the sums of earlier chunks
//!         for step: sums += left * right
//!       after the last chunk: apply the epilogue to the sums and write the results
//! ```
//!
//! A tile may contain lines beyond the last line of an operand. For lines beyond the end, the
//! kernel multiplies unspecified values and never writes the results.

use fusebox_core::builder::{FunctionBuilder, IntPredicate, KernelBuilder, Scalar, Type, Value};
use fusebox_core::emitter::{EmitError, Fusion, Kernel};
use fusebox_core::indexing::{Expr, IndexingMap, delinearize};

use crate::amx::{self, PackedTiles};
use crate::micro::{MicroKernel, TILE_LINES};
use crate::multiply::{LeftElements, ProductFactors, RightRows, multiply};
use crate::pack::{OperandRange, PackSource, each, half_row, is_parameter};
use crate::problem::ProductProblem;
use crate::results::{ResultEpilogues, sums_before, with_kept_after_first};
use crate::tiles::{LeftForm, TileSizes};
use crate::words::{self, PackedColumns};

/// The problem, the chosen sizes, and the functions that the kernel calls.
struct ProductKernel<'a> {
    problem: &'a ProductProblem,
    tiles: &'a TileSizes,
    left: PackSource<'a>,
    right: PackSource<'a>,
    /// The right operand's tensor, if the kernel reads it without packing.
    in_place: Option<Value>,
    results: ResultEpilogues<'a>,
}

/// Loop-carried tensors.
#[derive(Clone)]
struct ProductLoopState {
    left: Value,
    right: Value,
    groups: Value,
    transposed: Value,
    sums: Value,
    offsets: Value,
    outputs: Vec<Value>,
}

impl ProductLoopState {
    fn list(&self) -> Vec<Value> {
        let own = [self.left, self.right, self.groups, self.transposed, self.sums, self.offsets];
        [&own, self.outputs.as_slice()].concat()
    }

    fn of(list: &[Value]) -> ProductLoopState {
        ProductLoopState {
            left: list[0],
            right: list[1],
            groups: list[2],
            transposed: list[3],
            sums: list[4],
            offsets: list[5],
            outputs: list[6..].to_vec(),
        }
    }
}

/// A tile of the result. The tile begins at `(batch, row, column)`. `rows` and `columns` are the
/// numbers of the tile's rows and columns that are inside the result.
#[derive(Clone, Copy)]
struct ResultTile {
    batch: Value,
    row: Value,
    rows: Value,
    column: Value,
    columns: Value,
}

/// Range of rows that are multiplied together. `first` is the number of the range's first row,
/// relative to the tile.
#[derive(Clone, Copy)]
struct RowRange {
    first: Value,
    count: Value,
}

/// Range of steps: a chunk or all steps.
#[derive(Clone, Copy)]
struct StepRange {
    first: Value,
    count: Value,
}

/// Builds the kernel.
pub fn emit(fusion: &Fusion, problem: &ProductProblem, tiles: &TileSizes) -> Result<Kernel, EmitError> {
    let mut kernel = KernelBuilder::new(fusion);
    let [left, right] = [0, 1].map(|side| {
        let operand = &problem.operands[side];
        let lines = [problem.sizes.rows, problem.sizes.columns][side];
        let (grain, factor) = (tiles.grain(side == 1), tiles.micro.factors[side]);
        let is_offset = tiles.micro.is_offset && side == 0;
        let is_parameter = is_parameter(fusion, operand.instruction);
        let function = kernel.values(&[operand.instruction]);
        PackSource { operand, function, is_parameter, lines, factor, is_offset, grain }
    });
    let results = ResultEpilogues::new(&mut kernel, &problem.roots, problem.dot, [problem.sum, problem.result]);
    let in_place = right.operand.rows_of.filter(|_| tiles.is_unpacked).map(|number| kernel.parameters()[number]);
    let block = ProductKernel { problem, tiles, left, right, in_place, results };
    let (number, outputs) = (kernel.block(), kernel.outputs().to_vec());
    let b: &mut FunctionBuilder = &mut kernel;
    let state = block.start(b, outputs);
    let (tiles_per_block, all, one) = (b.index(tiles.tiles_per_block), b.index(tiles.tiles()), b.index(1));
    let first = b.muli(number, tiles_per_block);
    let end = b.addi(first, tiles_per_block);
    let end = if tiles.tiles() % tiles.tiles_per_block == 0 { end } else { b.minsi(end, all) };
    let written = b.scf_for(first, end, one, &state.list(), |b, tile, state| {
        let place = b.apply_indexing(&tiles.place(), &[tile]);
        let (row, column) = (place[1], place[2]);
        let rows = rest(b, row, problem.sizes.rows, tiles.tile_m);
        let columns = rest(b, column, problem.sizes.columns, tiles.tile_n);
        block.tile(b, ResultTile { batch: place[0], row, rows, column, columns }, ProductLoopState::of(state)).list()
    });
    kernel.finish(&ProductLoopState::of(&written).outputs)
}

/// Returns the smaller of `size - first` and `most`. `first` must be a multiple of `most`.
fn rest(b: &mut FunctionBuilder, first: Value, size: i64, most: i64) -> Value {
    let count = b.index(most.min(size));
    match size % most {
        0 => count,
        _ => {
            let size = b.index(size);
            let rest = b.subi(size, first);
            b.minsi(rest, count)
        }
    }
}

impl ProductKernel<'_> {
    /// Allocates all tensors. Fills a tensor with zeros if it has lines that packing never writes:
    /// the kernel multiplies these lines too, and processors multiply zeros as fast as any number.
    fn start(&self, b: &mut FunctionBuilder, outputs: Vec<Value>) -> ProductLoopState {
        let tiles = self.tiles;
        let [factor, sum] = [tiles.micro.factors[0], self.problem.sum.real_part()].map(Scalar::of_element);
        let left = b.allocate_shared(&tiles.left_dims(), factor);
        let right = b.allocate_shared(&tiles.right_dims(), factor);
        let groups = b.allocate_shared(&tiles.groups_dims(), factor);
        let transposed = b.allocate_shared(&tiles.transposed_dims().unwrap_or([1; 3]), factor);
        let sums = b.allocate_shared(&tiles.sum_dims(), sum);
        let offsets = b.allocate_shared(&tiles.offset_dims(), sum);
        let zero = b.zero(&factor.into());
        // Products of words take the same time for all values, so tensors of words are not filled.
        let fill = |b: &mut FunctionBuilder, tensor: Value, is_wanted: bool| {
            if is_wanted && !tiles.micro.multiplies_words() { filled(b, tensor, zero) } else { tensor }
        };
        let left = fill(b, left, self.problem.sizes.rows % tiles.height != 0);
        let is_ragged = self.problem.sizes.columns % tiles.width() != 0;
        let right = fill(b, right, is_ragged);
        // The transpose reads all lines of a square, even lines that are never packed.
        let transposed = fill(b, transposed, is_ragged && tiles.transposed_dims().is_some());
        ProductLoopState { left, right, groups, transposed, sums, offsets, outputs }
    }

    fn tile(&self, b: &mut FunctionBuilder, tile: ResultTile, state: ProductLoopState) -> ProductLoopState {
        if !self.tiles.keeps_right_packed {
            return self.chunks(b, state, |b, steps, state| {
                let state = self.pack_columns(b, tile, steps, state);
                self.rows(b, tile, state, |b, rows, state| {
                    let state = self.add(b, tile, rows, steps, state);
                    self.after_last(b, steps, state, |b, state| self.results(b, tile, rows, state))
                })
            });
        }
        let all = StepRange { first: b.index(0), count: b.index(self.problem.sizes.steps) };
        let state = self.pack_columns(b, tile, all, state);
        self.rows(b, tile, state, |b, rows, state| {
            let mut state = self.chunks(b, state, |b, steps, state| self.add(b, tile, rows, steps, state));
            state.outputs = self.results(b, tile, rows, &state);
            state
        })
    }

    /// Builds a loop over all steps. Each iteration of the loop processes one chunk of steps.
    fn chunks(
        &self,
        b: &mut FunctionBuilder,
        state: ProductLoopState,
        body: impl FnOnce(&mut FunctionBuilder, StepRange, ProductLoopState) -> ProductLoopState,
    ) -> ProductLoopState {
        let (zero, steps, chunk) = (b.index(0), b.index(self.problem.sizes.steps), b.index(self.tiles.tile_k));
        let state = b.scf_for(zero, steps, chunk, &state.list(), |b, first, state| {
            let count = rest(b, first, self.problem.sizes.steps, self.tiles.tile_k);
            body(b, StepRange { first, count }, ProductLoopState::of(state)).list()
        });
        ProductLoopState::of(&state)
    }

    /// Builds a loop over all rows of the tile. Each iteration processes the rows of one register
    /// tile.
    fn rows(
        &self,
        b: &mut FunctionBuilder,
        tile: ResultTile,
        state: ProductLoopState,
        body: impl FnOnce(&mut FunctionBuilder, RowRange, ProductLoopState) -> ProductLoopState,
    ) -> ProductLoopState {
        let height = self.tiles.height;
        let (zero, step) = (b.index(0), b.index(height));
        let state = b.scf_for(zero, tile.rows, step, &state.list(), |b, first, state| {
            let count = if self.problem.sizes.rows % height == 0 {
                step
            } else {
                let rest = b.subi(tile.rows, first);
                b.minsi(rest, step)
            };
            body(b, RowRange { first, count }, ProductLoopState::of(state)).list()
        });
        ProductLoopState::of(&state)
    }

    /// Packs the right operand's columns that belong to the tile. If all rows of the tile are
    /// packed together, also packs the left operand.
    fn pack_columns(
        &self,
        b: &mut FunctionBuilder,
        tile: ResultTile,
        steps: StepRange,
        mut state: ProductLoopState,
    ) -> ProductLoopState {
        let StepRange { first: step, count: steps } = steps;
        let columns = OperandRange { batch: tile.batch, line: tile.column, lines: tile.columns, step, steps };
        if self.tiles.micro.multiplies_words() && !self.right.operand.runs_along_steps {
            let panels = [self.tiles.width(), self.problem.sizes.columns];
            state.right = self.right.pack_groups(b, self.tiles, panels, &columns, state.right);
        } else if self.in_place.is_none() {
            let packed = self.right.pack_right(b, self.tiles, &columns, [state.right, state.transposed]);
            [state.right, state.transposed] = packed;
        }
        if self.tiles.micro.is_offset {
            let first = (self.tiles.chunks() > 1 && !self.tiles.keeps_right_packed).then_some(step);
            let packed = (state.right, b.index(0), steps);
            state.offsets = words::add_offsets(b, self.tiles, tile.columns, packed, first, state.offsets);
        }
        if self.tiles.left == LeftForm::Panels {
            let rows = OperandRange { line: tile.row, lines: tile.rows, ..columns };
            let sizes = [self.tiles.height, self.problem.sizes.rows];
            state.left = self.left.copy_panels(b, &rows, sizes, state.left);
        }
        state
    }

    /// For a chunk of steps, adds the products of the rows `rows` to the sums. If the left operand
    /// is packed one register tile at a time, first packs these rows of the left operand.
    fn add(
        &self,
        b: &mut FunctionBuilder,
        tile: ResultTile,
        rows: RowRange,
        steps: StepRange,
        mut state: ProductLoopState,
    ) -> ProductLoopState {
        let line = b.addi(tile.row, rows.first);
        let part = OperandRange { batch: tile.batch, line, lines: rows.count, step: steps.first, steps: steps.count };
        match self.tiles.left {
            LeftForm::Lines => {
                state.left = self.left.copy_lines(b, &part, state.left);
                state.left = self.left.clear_rest_of_lines(b, self.tiles, &part, state.left);
            }
            LeftForm::Groups => {
                [state.left, state.groups] = self.left.transpose_rows(b, self.tiles, &part, [state.left, state.groups])
            }
            LeftForm::Panels | LeftForm::InPlace => {}
        }
        state.sums = match self.tiles.micro.kernel {
            MicroKernel::Vectors | MicroKernel::Words => self.sums(b, tile, rows, steps, &state),
            MicroKernel::Tiles => self.sums_of_tiles(b, tile, rows, steps, &state),
        };
        state
    }

    /// Returns the source of the left operand's elements for the rows of a register tile.
    fn left_elements(
        &self,
        b: &mut FunctionBuilder,
        tile: ResultTile,
        rows: RowRange,
        steps: StepRange,
        state: &ProductLoopState,
    ) -> LeftElements<'_> {
        match self.tiles.left {
            LeftForm::Lines | LeftForm::Groups => LeftElements::Lines(state.left),
            LeftForm::Panels => {
                let height = b.index(self.tiles.height);
                LeftElements::Panels(state.left, b.floordivsi(rows.first, height))
            }
            LeftForm::InPlace => {
                let point = [tile.batch, b.addi(tile.row, rows.first), steps.first];
                let last = b.index(self.problem.sizes.rows - 1);
                LeftElements::InPlace { source: &self.left, point, last }
            }
        }
    }

    /// Returns the number of the row at which a register tile begins in the tensor of sums.
    fn first_sum(&self, b: &mut FunctionBuilder, rows: RowRange) -> Value {
        if self.tiles.keeps_sums() { rows.first } else { b.index(0) }
    }

    /// Returns the position of a chunk's first step among the packed steps of the right operand.
    fn first_packed(&self, b: &mut FunctionBuilder, steps: StepRange) -> Value {
        if self.tiles.keeps_right_packed { steps.first } else { b.index(0) }
    }

    /// Adds the products of a chunk of steps to the sums of all register tiles that contain the
    /// rows `rows`.
    fn sums(
        &self,
        b: &mut FunctionBuilder,
        tile: ResultTile,
        rows: RowRange,
        steps: StepRange,
        state: &ProductLoopState,
    ) -> Value {
        let tiles = self.tiles;
        let width = b.index(tiles.width());
        let panels = b.ceildivsi(tile.columns, width);
        let first = self.first_sum(b, rows);
        let left = self.left_elements(b, tile, rows, steps, state);
        each(b, panels, state.sums, |b, panel, sums| {
            let column = b.muli(panel, width);
            let places: Vec<[Value; 2]> = (0..tiles.height)
                .flat_map(|row| (0..tiles.micro.planes).map(move |plane| (row, plane * tiles.sums_apart())))
                .flat_map(|(row, offset)| (0..tiles.vectors).map(move |vector| (row, offset + vector * tiles.lanes)))
                .map(|(row, lane)| {
                    let (row, lane) = (b.index(row), b.index(lane));
                    [b.addi(first, row), b.addi(column, lane)]
                })
                .collect();
            let kept = (tiles.chunks() > 1).then_some(steps.first);
            let form = (tiles.lanes, self.problem.sum.real_part());
            let start = sums_before(b, kept.filter(|_| !tiles.adds_chains), form, &places, sums);
            let products = if tiles.micro.multiplies_words() {
                let columns = PackedColumns {
                    packed: state.right,
                    panel,
                    first: self.first_packed(b, steps),
                    steps: steps.count,
                };
                words::multiply(b, tiles, state.left, &columns, &start)
            } else {
                let right = self.right_rows(b, tile, panel, column, steps, state);
                self.add_products(b, &ProductFactors { left, right, steps: steps.count }, &start)
            };
            let after = match kept.filter(|_| tiles.adds_chains) {
                None => products,
                Some(first) => with_kept_after_first(b, first, &places, sums, &products),
            };
            places.iter().zip(after).fold(sums, |sums, (place, sum)| b.vector_write(sum, sums, place))
        })
    }

    /// Adds the products of a chunk of steps to the sums of all register tiles that contain the
    /// rows `rows`, in tile registers.
    fn sums_of_tiles(
        &self,
        b: &mut FunctionBuilder,
        tile: ResultTile,
        rows: RowRange,
        steps: StepRange,
        state: &ProductLoopState,
    ) -> Value {
        let tiles = self.tiles;
        let width = b.index(tiles.width());
        let panels = b.ceildivsi(tile.columns, width);
        let first = self.first_sum(b, rows);
        each(b, panels, state.sums, |b, panel, sums| {
            let column = b.muli(panel, width);
            let places: Vec<[Value; 2]> = (0..tiles.height / TILE_LINES)
                .flat_map(|row| (0..tiles.vectors).map(move |column| (row, column)))
                .map(|(row, across)| {
                    let (row, across) = (b.index(row * TILE_LINES), b.index(across * TILE_LINES));
                    [b.addi(first, row), b.addi(column, across)]
                })
                .collect();
            let before = self.tiles_before(b, steps, &places, sums);
            let first = self.first_packed(b, steps);
            let packed = PackedTiles { left: state.left, right: state.right, panel, first, steps: steps.count };
            let after = amx::multiply(b, tiles, &packed, &before);
            places.iter().zip(after).fold(sums, |sums, (place, sum)| b.write_tile(sum, sums, place))
        })
    }

    /// Returns tile registers with the sums of all earlier chunks. [`sums_before`] returns the sums
    /// of all earlier chunks in vector registers.
    fn tiles_before(
        &self,
        b: &mut FunctionBuilder,
        steps: StepRange,
        places: &[[Value; 2]],
        sums: Value,
    ) -> Vec<Value> {
        let (dims, element) = ([TILE_LINES; 2], Scalar::of_element(self.problem.sum));
        let nothing =
            |b: &mut FunctionBuilder| places.iter().map(|_| b.tile_zero(dims, element)).collect::<Vec<Value>>();
        if self.tiles.chunks() == 1 {
            return nothing(b);
        }
        let zero = b.index(0);
        let is_first = b.cmpi(IntPredicate::Eq, steps.first, zero);
        b.scf_if(is_first, &vec![Type::tile(dims, element); places.len()], nothing, |b| {
            places.iter().map(|place| b.read_tile(sums, place, dims)).collect()
        })
    }

    /// Returns the sums plus the products of a chunk of steps. If factors and sums have different
    /// types, the kernel adds the chunk's products in the type of the factors, then converts this
    /// sum to the type of the sums.
    fn add_products(&self, b: &mut FunctionBuilder, factors: &ProductFactors, before: &[Value]) -> Vec<Value> {
        let [factor, sum] = [self.problem.factor, self.problem.sum.real_part()].map(Scalar::of_element);
        if factor == sum {
            return multiply(b, self.tiles, factors, before);
        }
        let nothing = b.zero(&Type::vector(&[self.tiles.lanes], factor));
        let products = multiply(b, self.tiles, factors, &vec![nothing; before.len()]);
        let add = |(&before, products)| {
            let products = b.fptosi(products, sum);
            b.addi(before, products)
        };
        before.iter().zip(products).map(add).collect()
    }

    /// Returns the source of the right operand's rows for the register tile that begins at column
    /// `column` of the tile.
    fn right_rows(
        &self,
        b: &mut FunctionBuilder,
        tile: ResultTile,
        panel: Value,
        column: Value,
        steps: StepRange,
        state: &ProductLoopState,
    ) -> RightRows<'_> {
        match self.in_place {
            Some(tensor) => {
                let column = b.addi(tile.column, column);
                let point = [tile.batch, column, steps.first];
                RightRows::InPlace { tensor, operand: self.right.operand, point }
            }
            None => RightRows::Packed { tensor: state.right, panel, first: self.first_packed(b, steps) },
        }
    }

    /// Builds code that, after the last chunk of steps, runs `write` and stores the new outputs in
    /// the state. After any other chunk, the code leaves the outputs unchanged.
    fn after_last(
        &self,
        b: &mut FunctionBuilder,
        steps: StepRange,
        state: ProductLoopState,
        write: impl FnOnce(&mut FunctionBuilder, &ProductLoopState) -> Vec<Value>,
    ) -> ProductLoopState {
        if self.tiles.chunks() == 1 {
            let outputs = write(b, &state);
            return ProductLoopState { outputs, ..state };
        }
        let last = b.index((self.tiles.chunks() - 1) * self.tiles.tile_k);
        let is_last = b.cmpi(IntPredicate::Eq, steps.first, last);
        let types = b.types_of(&state.outputs);
        let outputs = b.scf_if(is_last, &types, |b| write(b, &state), |_| state.outputs.clone());
        ProductLoopState { outputs, ..state }
    }

    /// Writes the results of a register tile's rows.
    fn results(
        &self,
        b: &mut FunctionBuilder,
        tile: ResultTile,
        rows: RowRange,
        state: &ProductLoopState,
    ) -> Vec<Value> {
        let (zero, one) = (b.index(0), b.index(1));
        let first = self.first_sum(b, rows);
        b.scf_for(zero, rows.count, one, &state.outputs, |b, line, outputs| {
            let sum_row = b.addi(first, line);
            let line = b.addi(rows.first, line);
            let line = b.addi(tile.row, line);
            b.scf_for(zero, tile.columns, one, outputs, |b, column, outputs| {
                let mut sum = b.extract(state.sums, &[sum_row, column]);
                if self.tiles.micro.is_offset {
                    let offset = b.extract(state.offsets, &[column]);
                    sum = b.subi(sum, offset);
                }
                let sum = match self.tiles.micro.planes {
                    1 => sum,
                    _ => {
                        let half = half_row(b, state.sums);
                        let behind = b.addi(column, half);
                        let imaginary = b.extract(state.sums, &[sum_row, behind]);
                        b.complex(sum, imaginary)
                    }
                };
                let column = b.addi(tile.column, column);
                self.results.written(b, &[tile.batch, line, column], sum, outputs)
            })
        })
    }
}

/// Fills a tensor with one value.
pub fn filled(b: &mut FunctionBuilder, tensor: Value, value: Value) -> Value {
    let dims = b.type_of(tensor).dims().to_vec();
    let outer: i64 = dims[..dims.len() - 1].iter().product();
    let map = IndexingMap::from_tensor_sizes(delinearize(&Expr::dim(0), &dims[..dims.len() - 1]), &[outer], &[]);
    let (outer, inner) = (b.index(outer), b.index(dims[dims.len() - 1]));
    each(b, outer, tensor, |b, line, tensor| {
        let line = b.apply_indexing(&map, &[line]);
        each(b, inner, tensor, |b, i, tensor| {
            let index = [line.as_slice(), &[i]].concat();
            b.insert(value, tensor, &index)
        })
    })
}
