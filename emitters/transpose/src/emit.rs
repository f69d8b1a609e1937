//! Emits the kernel, which consists of the schedule's loops. The loops call one function for each
//! part, which is a group of instructions with equal dimensions.

use fusebox_core::builder::{FunctionBuilder, KernelBuilder, Subgraph, Value};
use fusebox_core::emitter::{EmitError, Fusion, Kernel};
use fusebox_core::indexing::IndexingMap;

use crate::grid::TileNest;
use crate::index::reshape_map;
use crate::problem::{IndexedValues, MovedArray, TransposeProblem};
use crate::schedule::TransposeSchedule;
use crate::units::RegisterUnit;

/// A part (a group of instructions with equal dimensions) with the function that computes the
/// part's values.
struct PartFunction<'a> {
    part: &'a IndexedValues,
    /// `None` if the values are the moved elements themselves.
    function: Option<Subgraph>,
    /// Map from an index of the normal form to an index of the part's arrays.
    index: IndexingMap,
}

impl PartFunction<'_> {
    /// Converts an index of the normal form to an index of the part's arrays. Returns the converted
    /// index, and the part's values at the converted index.
    fn values(&self, b: &mut FunctionBuilder, index: &[Value], moved: &[Value]) -> (Vec<Value>, Vec<Value>) {
        let index = b.apply_indexing(&self.index, index);
        let values = match &self.function {
            Some(function) => b.call_subgraph(function, &index, moved),
            None => moved.to_vec(),
        };
        (index, values)
    }

    /// Writes the part's values to their outputs, at an index of the part's arrays.
    fn write(&self, b: &mut FunctionBuilder, index: &[Value], values: &[Value], outputs: &mut [Value]) {
        for &(output, value) in &self.part.outputs {
            outputs[output] = b.insert(values[value], outputs[output], index);
        }
    }
}

/// Functions and values that the loops' bodies need.
struct TransposeFunctions<'a> {
    problem: &'a TransposeProblem,
    /// The fusion's parameter for each moved array, or `None` if the array is not a parameter.
    parameters: Vec<Option<Value>>,
    readings: Vec<PartFunction<'a>>,
    writings: Vec<PartFunction<'a>>,
}

/// Builds the kernel.
///
/// # Errors
/// If the builder rejects the kernel.
pub fn emit(fusion: &Fusion, problem: &TransposeProblem, schedule: &TransposeSchedule) -> Result<Kernel, EmitError> {
    let mut kernel = KernelBuilder::new(fusion);
    let bodies = TransposeFunctions::new(&mut kernel, fusion, problem);
    let point = [kernel.thread(), kernel.block()];
    let outputs = kernel.outputs().to_vec();
    let written = match &schedule.tile {
        Some(dims) => through_tiles(&mut kernel, &bodies, schedule, dims, &point, outputs),
        None => straight(&mut kernel, &bodies, schedule, &point, outputs),
    };
    kernel.finish(&written)
}

impl<'a> TransposeFunctions<'a> {
    fn new(kernel: &mut KernelBuilder, fusion: &Fusion, problem: &'a TransposeProblem) -> Self {
        let heroes = problem.hero_ids();
        let from = &problem.form.dims;
        let readings = problem.readings.iter().map(|part| PartFunction {
            part,
            function: Some(kernel.values(&part.instructions)),
            index: reshape_map(from, &part.dims),
        });
        let readings = readings.collect();
        let from = problem.form.result_dims();
        let writings = problem.writings.iter().map(|part| PartFunction {
            part,
            function: (part.instructions != heroes).then(|| kernel.epilogue(&part.instructions, &heroes)),
            index: reshape_map(&from, &part.dims),
        });
        let writings = writings.collect();
        let ids = fusion.computation().parameters();
        let parameter = |moved: &MovedArray| {
            ids.iter().position(|&id| id == moved.operand).map(|number| kernel.parameters()[number])
        };
        let parameters = problem.moved.iter().map(parameter).collect();
        TransposeFunctions { problem, parameters, readings, writings }
    }

    /// Returns, for each moved array, the array's parameter and the part that contains the array.
    /// All moved arrays must be parameters that the kernel can read by vectors of `lanes` lanes,
    /// and the reading loops must write no outputs. Otherwise returns `None`.
    fn vectors(&self, lanes: i64) -> Option<Vec<(Value, &PartFunction<'a>)>> {
        let vector = |array: usize| {
            let body = self.readings.iter().find(|body| body.part.moves.iter().any(|&(moved, _)| moved == array))?;
            let fits = body.part.outputs.is_empty() && body.part.dims.last().is_some_and(|row| row % lanes == 0);
            self.parameters[array].filter(|_| fits && self.problem.moved[array].fits_vectors()).map(|it| (it, body))
        };
        let nothing_beside = self.readings.iter().all(|body| body.part.outputs.is_empty());
        (0..self.problem.moved.len()).map(vector).collect::<Option<_>>().filter(|_| nothing_beside)
    }

    /// Computes the values before the transposes at an index of the operand, and writes side
    /// outputs. Returns the moved arrays' elements.
    fn read(&self, b: &mut FunctionBuilder, index: &[Value], outputs: &mut [Value]) -> Vec<Value> {
        let mut moved: Vec<Option<Value>> = vec![None; self.problem.moved.len()];
        let mut computed = Vec::new();
        for body in &self.readings {
            let (index, values) = body.values(b, index, &[]);
            for &(array, value) in &body.part.moves {
                moved[array] = Some(values[value]);
            }
            computed.push((body, index, values));
        }
        for (body, index, values) in computed {
            body.write(b, &index, &values, outputs);
        }
        moved.into_iter().flatten().collect()
    }

    /// Computes results from the moved elements, and writes the results. `index` is an index of the
    /// operand.
    fn write(&self, b: &mut FunctionBuilder, index: &[Value], moved: &[Value], outputs: &mut [Value]) {
        let index: Vec<Value> = self.problem.form.permutation.iter().map(|&dim| index[dim]).collect();
        let heroes: Vec<Value> = self.problem.heroes.iter().map(|&(_, array)| moved[array]).collect();
        for body in &self.writings {
            let (index, values) = body.values(b, &index, &heroes);
            body.write(b, &index, &values, outputs);
        }
    }

    /// Writes cache lines of the results. The results are the transposes themselves. `index` is an
    /// index of the operand.
    fn write_lines(
        &self,
        b: &mut FunctionBuilder,
        index: &[Value],
        lines: &[Value],
        past_caches: bool,
        outputs: &mut [Value],
    ) {
        let index: Vec<Value> = self.problem.form.permutation.iter().map(|&dim| index[dim]).collect();
        for body in &self.writings {
            let index = b.apply_indexing(&body.index, &index);
            for &(output, hero) in &body.part.outputs {
                let line = lines[self.problem.heroes[hero].1];
                outputs[output] = if past_caches {
                    b.vector_write_past_caches(line, outputs[output], &index)
                } else {
                    b.vector_write(line, outputs[output], &index)
                };
            }
        }
    }
}

/// Emits loops that move elements from operands into tiles, a barrier, and loops that move elements
/// from tiles to results.
fn through_tiles(
    b: &mut FunctionBuilder,
    bodies: &TransposeFunctions,
    schedule: &TransposeSchedule,
    dims: &[i64],
    point: &[Value],
    outputs: Vec<Value>,
) -> Vec<Value> {
    let rank = bodies.problem.form.dims.len();
    let (count, arrays) = (outputs.len(), bodies.problem.moved.len());
    let tiles: Vec<Value> = bodies.problem.moved.iter().map(|moved| b.allocate_shared(dims, moved.scalar)).collect();
    let mut state = [outputs, tiles].concat();
    for nest in &schedule.reading {
        if let Some((map, lanes)) = nest.of_vectors()
            && let Some(vectors) = bodies.vectors(lanes)
        {
            // The body copies by one load and one store, so the innermost loop is unrolled.
            let innermost = [map.ranges.len() - 1];
            state = b.indexed_loop(&map, point, &state, &innermost, |b, _, results, state| {
                let (index, place) = results.split_at(rank);
                let mut state = state.to_vec();
                for (array, (parameter, body)) in vectors.iter().enumerate() {
                    let index = b.apply_indexing(&body.index, index);
                    let vector = b.vector_read(*parameter, &index, lanes);
                    state[count + array] = b.vector_write(vector, state[count + array], place);
                }
                state
            });
            continue;
        }
        state = b.indexed_loop(&nest.map, point, &state, &nest.unroll, |b, _, results, state| {
            let (index, place) = results.split_at(rank);
            let mut state = state.to_vec();
            let elements = bodies.read(b, index, &mut state[..count]);
            for (array, element) in elements.into_iter().enumerate() {
                state[count + array] = b.insert(element, state[count + array], place);
            }
            state
        });
    }
    let tiles = b.sync_threads(&state[count..count + arrays]);
    let mut outputs = state[..count].to_vec();
    for nest in &schedule.writing {
        outputs = match (&schedule.transposed_tile, &schedule.unit) {
            (_, Some(unit)) => in_units(b, bodies, schedule, (nest, unit), &tiles, point, &outputs),
            (Some(dims), None) => write_transposed(b, bodies, nest, dims, &tiles, point, &outputs),
            (None, None) => b.indexed_loop(&nest.map, point, &outputs, &nest.unroll, |b, _, results, outputs| {
                let (index, place) = results.split_at(rank);
                let mut outputs = outputs.to_vec();
                let moved: Vec<Value> = tiles.iter().map(|&tile| b.extract(tile, place)).collect();
                bodies.write(b, index, &moved, &mut outputs);
                outputs
            }),
        };
    }
    outputs
}

/// Writes a nest's results through small tiles. A first loop over the nest's last two variables
/// stores the elements in a small tile. A second loop, with the last two variables swapped,
/// computes the epilogue and writes the outputs.
fn write_transposed(
    b: &mut FunctionBuilder,
    bodies: &TransposeFunctions,
    nest: &TileNest,
    dims: &[i64],
    tiles: &[Value],
    point: &[Value],
    outputs: &[Value],
) -> Vec<Value> {
    let rank = bodies.problem.form.dims.len();
    let (outside, [turning, writing]) = nest.split();
    let small = bodies.problem.moved.iter().map(|moved| b.allocate_shared(dims, moved.scalar));
    let state: Vec<Value> = small.chain(outputs.iter().copied()).collect();
    let arrays = tiles.len();
    let state = b.indexed_loop(&outside, point, &state, &[], |b, outer, _, state| {
        let point = [point, outer].concat();
        // The columns of a panel are adjacent, so one group of loads reads all of them.
        let small = b.indexed_loop(&turning, &point, &state[..arrays], &[1], |b, ranges, results, small| {
            let place = [ranges[1], ranges[0]];
            let pairs = tiles.iter().zip(small);
            pairs
                .map(|(&tile, &small)| {
                    let element = b.extract(tile, &results[rank..]);
                    b.insert(element, small, &place)
                })
                .collect()
        });
        let outputs = b.indexed_loop(&writing, &point, &state[arrays..], &[], |b, ranges, results, outputs| {
            let moved: Vec<Value> = small.iter().map(|&small| b.extract(small, ranges)).collect();
            let mut outputs = outputs.to_vec();
            bodies.write(b, &results[..rank], &moved, &mut outputs);
            outputs
        });
        [small, outputs].concat()
    });
    state[arrays..].to_vec()
}

/// Writes a nest's results, which are the transposes themselves. Transposes one unit at a time in
/// registers.
fn in_units(
    b: &mut FunctionBuilder,
    bodies: &TransposeFunctions,
    schedule: &TransposeSchedule,
    (nest, unit): (&TileNest, &RegisterUnit),
    tiles: &[Value],
    point: &[Value],
    outputs: &[Value],
) -> Vec<Value> {
    let rank = bodies.problem.form.dims.len();
    let width = nest.map.ranges.iter().rev().nth(1).map_or(0, |columns| columns.bounds.size() as i64);
    b.indexed_loop(&nest.at_first(2), point, outputs, &[], |b, _, results, outputs| {
        let (index, place) = results.split_at(rank);
        let mut outputs = outputs.to_vec();
        let columns: Vec<Vec<Value>> = tiles.iter().map(|&tile| unit.columns(b, tile, place)).collect();
        for column in 0..width {
            let mut index = index.to_vec();
            let offset = b.index(column);
            index[rank - 1] = b.addi(index[rank - 1], offset);
            let lines: Vec<Value> = columns.iter().map(|columns| columns[column as usize]).collect();
            bodies.write_lines(b, &index, &lines, schedule.past_caches, &mut outputs);
        }
        outputs
    })
}

/// Emits loops that move elements directly from the operands to the results.
fn straight(
    b: &mut FunctionBuilder,
    bodies: &TransposeFunctions,
    schedule: &TransposeSchedule,
    point: &[Value],
    mut outputs: Vec<Value>,
) -> Vec<Value> {
    for nest in &schedule.writing {
        if schedule.past_caches
            && let Some((map, lanes)) = nest.of_vectors()
            && let Some(vectors) = bodies.vectors(lanes)
        {
            outputs = b.indexed_loop(&map, point, &outputs, &[], |b, _, index, outputs| {
                let mut outputs = outputs.to_vec();
                let read = |(parameter, body): &(Value, &PartFunction)| {
                    let index = b.apply_indexing(&body.index, index);
                    b.vector_read(*parameter, &index, lanes)
                };
                let lines: Vec<Value> = vectors.iter().map(read).collect();
                bodies.write_lines(b, index, &lines, true, &mut outputs);
                outputs
            });
            continue;
        }
        outputs = b.indexed_loop(&nest.map, point, &outputs, &nest.unroll, |b, _, index, outputs| {
            let mut outputs = outputs.to_vec();
            let moved = bodies.read(b, index, &mut outputs);
            bodies.write(b, index, &moved, &mut outputs);
            outputs
        });
    }
    outputs
}
