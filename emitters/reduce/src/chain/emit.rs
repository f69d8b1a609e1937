//! Emits the loops of a chain for a block of one thread.
//!
//! ```text
//! for row in the block's rows
//!   for phase
//!     for element in row: accumulate; store values for later phases
//!     compute values of the row from the complete results
//!   for element in row: write roots
//!   write roots of the row
//! ```

use fusebox_core::analysis::{RowChain, RowPlace};
use fusebox_core::builder::{FunctionBuilder, KernelBuilder, Type, Value};
use fusebox_core::cost::is_function;
use fusebox_core::emitter::{EmitError, Fusion, Kernel};
use fusebox_core::hlo::InstrId;

use super::functions::{ComputedValues, Phase, computed, groups, operands, phases, root_writes, row_values, value_of};
use super::kept_values::{KeptValue, element_bytes, kept};
use crate::body::{ReductionBody, StartValues, write};
use crate::cpu::Accumulators;
use crate::cpu::cascade::{self, Cascade};

/// Maximum number of bytes of a row's stored values. Values up to this size fit in a near cache and
/// on a thread's stack.
const MOST_BYTES: i64 = 64 << 10;

/// A chain and its declared subgraph functions.
struct ChainKernel<'c> {
    fusion: &'c Fusion,
    chain: &'c RowChain,
    phases: Vec<Phase>,
    bodies: Vec<ReductionBody<'c>>,
}

/// Values of the row that a block is computing.
struct RowValues {
    row: Value,
    /// Results of the complete reductions.
    heroes: ComputedValues,
    /// Values of this row on which the row's elements depend.
    values: ComputedValues,
    /// Tensors that hold the kept values.
    tensors: Vec<(InstrId, Value)>,
    outputs: Vec<Value>,
}

/// Returns the values of a row that are kept between phases.
pub fn kept_values(fusion: &Fusion, chain: &RowChain) -> Vec<KeptValue> {
    let bytes = |kept: &[KeptValue]| kept.iter().map(|(id, _)| element_bytes(fusion, *id)).sum::<i64>();
    let fits = |kept: &[KeptValue]| chain.space.length.saturating_mul(bytes(kept)) <= MOST_BYTES;
    kept(fusion, chain, is_function, fits)
}

/// Builds the kernel. Each block computes `rows_per_block` rows.
pub fn emit(fusion: &Fusion, chain: &RowChain, rows_per_block: i64) -> Result<Kernel, EmitError> {
    let mut kernel = KernelBuilder::new(fusion);
    let groups = groups(chain);
    let phases = phases(&mut kernel, fusion, chain, &kept_values(fusion, chain));
    let bodies = groups.iter().map(|group| ReductionBody::of_combiners(&mut kernel, group)).collect();
    let declared = ChainKernel { fusion, chain, phases, bodies };
    let (block, outputs) = (kernel.block(), kernel.outputs().to_vec());
    let b: &mut FunctionBuilder = &mut kernel;
    let starts: Vec<StartValues> = declared.bodies.iter().map(|body| body.starts(b)).collect();
    let tensors: Vec<(InstrId, Value)> = declared.tensors(b);
    let (one, rows, rows_per_block) = (b.index(1), b.index(chain.space.rows), b.index(rows_per_block));
    let first = b.muli(block, rows_per_block);
    let end = b.addi(first, rows_per_block);
    let end = b.minsi(end, rows);
    let written = b.scf_for(first, end, one, &outputs, |b, row, outputs| {
        let state = RowValues {
            row,
            heroes: Vec::new(),
            values: Vec::new(),
            tensors: tensors.clone(),
            outputs: outputs.to_vec(),
        };
        declared.row(b, &starts, state)
    });
    kernel.finish(&written)
}

impl ChainKernel<'_> {
    /// Allocates memory for the kept values of one row.
    fn tensors(&self, b: &mut FunctionBuilder) -> Vec<(InstrId, Value)> {
        let length = self.chain.space.length;
        let kept = self.phases.iter().flat_map(|phase| &phase.stored);
        let kept = kept.filter_map(|&id| Some((id, self.fusion.computation().instruction(id).shape.as_array()?)));
        kept.map(|(id, array)| (id, b.allocate_shared(&[length], Type::of_element(array.element_type).element())))
            .collect()
    }

    fn row(&self, b: &mut FunctionBuilder, starts: &[StartValues], mut row: RowValues) -> Vec<Value> {
        for ((phase, body), starts) in self.phases.iter().zip(&self.bodies).zip(starts) {
            self.reduce(b, phase, body, starts, &mut row);
            self.after(b, phase, &mut row);
        }
        if let Some(last) = self.phases.last() {
            self.write_elements(b, last, &mut row);
            self.write_row(b, last, &mut row);
        }
        row.outputs
    }

    /// Emits the loop of a phase over a row's elements, and the phase's reductions.
    fn reduce(
        &self,
        b: &mut FunctionBuilder,
        phase: &Phase,
        body: &ReductionBody<'_>,
        starts: &StartValues,
        row: &mut RowValues,
    ) {
        let accumulators = Accumulators::new(body);
        let start = accumulators.start(b, starts);
        let width = start.len();
        let stored: Vec<Value> = phase.stored.iter().filter_map(|id| tensor_of(&row.tensors, *id)).collect();
        let visit = |b: &mut FunctionBuilder, element: Value, tensors: &[Value]| {
            let known = self.known_at(b, phase, row, element);
            let computed_values = computed(b, &phase.elements, &[row.row, element], &known);
            let computed_values = [computed_values, known].concat();
            let others = accumulators.of_elements(b, &operands(body.group(), &computed_values));
            let stored = phase.stored.iter().zip(tensors);
            let tensors = stored.map(|(id, &tensor)| match value_of(&computed_values, *id) {
                Some(values) => b.insert(values[0], tensor, &[element]),
                None => tensor,
            });
            (others, tensors.collect::<Vec<_>>())
        };
        let length = self.chain.space.length;
        let lanes = if self.holds_functions(phase, body) { None } else { cascade::lanes(&accumulators, length) };
        let (results, tensors) = if let Some(lanes) = lanes {
            let empty = accumulators.empty(b, &start);
            let cascade = Cascade { accumulators: &accumulators, start: &empty, lanes, visit };
            let (sums, tensors) = cascade.reduce(b, length, &stored);
            (accumulators.merge(b, &start, &sums), tensors)
        } else {
            let mut results = self.walk(b, &[start, stored].concat(), |b, element, state| {
                let (held, tensors) = state.split_at(width);
                let (others, tensors) = visit(b, element, tensors);
                [accumulators.merge(b, held, &others), tensors].concat()
            });
            let tensors = results.split_off(width);
            (results, tensors)
        };
        for (id, tensor) in phase.stored.iter().zip(tensors) {
            row.tensors.iter_mut().filter(|(known, _)| known == id).for_each(|(_, held)| *held = tensor);
        }
        let totals = accumulators.totals(b, &results);
        let complete = body.complete(b, starts, &totals);
        let heroes = body.group().heroes.iter().map(|hero| hero.instruction);
        row.heroes.extend(heroes.zip(complete));
    }

    /// Whether a phase computes functions, such as `exp`, for the operands of its reductions.
    fn holds_functions(&self, phase: &Phase, body: &ReductionBody<'_>) -> bool {
        let is_known = |id| phase.loaded.contains(&id) || self.chain.row_values.contains(&id);
        cascade::holds_functions(self.fusion.computation(), body.group(), is_known)
    }

    /// Computes the row values that depend on a phase's reductions.
    fn after(&self, b: &mut FunctionBuilder, phase: &Phase, row: &mut RowValues) {
        let news = row_values(b, self.chain, phase, row.row, &row.heroes, &row.values);
        row.values.extend(news);
    }

    fn write_elements(&self, b: &mut FunctionBuilder, phase: &Phase, row: &mut RowValues) {
        if self.chain.roots.iter().all(|root| root.place == RowPlace::Row) {
            return;
        }
        row.outputs = self.walk(b, &row.outputs, |b, element, outputs| {
            let point = [row.row, element];
            let known = self.known_at(b, phase, row, element);
            let computed_values = computed(b, &phase.elements, &point, &known);
            self.write_roots(b, RowPlace::Element, &point, &[computed_values, known].concat(), outputs)
        });
    }

    fn write_row(&self, b: &mut FunctionBuilder, phase: &Phase, row: &mut RowValues) {
        let computed_values = computed(b, &phase.row, &[row.row], &row.heroes);
        let computed_values = [computed_values.as_slice(), &row.heroes].concat();
        row.outputs = self.write_roots(b, RowPlace::Row, &[row.row], &computed_values, &row.outputs);
    }

    fn write_roots(
        &self,
        b: &mut FunctionBuilder,
        place: RowPlace,
        point: &[Value],
        computed_values: &[(InstrId, Vec<Value>)],
        outputs: &[Value],
    ) -> Vec<Value> {
        let writes = root_writes(b, self.fusion, self.chain, place, point, computed_values);
        write(b, &writes, outputs)
    }

    /// Builds the loop `for element in 0..length`.
    fn walk(
        &self,
        b: &mut FunctionBuilder,
        state: &[Value],
        body: impl FnOnce(&mut FunctionBuilder, Value, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let (zero, one, length) = (b.index(0), b.index(1), b.index(self.chain.space.length));
        b.scf_for(zero, length, one, state, body)
    }

    /// Returns the values available at an element: row values, and kept values of earlier phases.
    fn known_at(&self, b: &mut FunctionBuilder, phase: &Phase, row: &RowValues, element: Value) -> ComputedValues {
        let mut known = row.values.clone();
        for &id in &phase.loaded {
            if let Some(tensor) = tensor_of(&row.tensors, id) {
                known.push((id, vec![b.extract(tensor, &[element])]));
            }
        }
        known
    }
}

fn tensor_of(tensors: &[(InstrId, Value)], id: InstrId) -> Option<Value> {
    tensors.iter().find(|(known, _)| *known == id).map(|(_, tensor)| *tensor)
}
