//! Emits the phases of a row for all threads that compute the row together.
//!
//! ```text
//! for phase
//!   for the thread's elements: accumulate; keep values for later phases
//!   combine the row's result for all its threads
//!   compute values of the row
//! for the thread's elements: write roots
//! the row's first thread writes roots of the row
//! ```
//!
//! All threads of a block reach every barrier and every shuffle. Threads without a row read the
//! last row again and write nothing.

use fusebox_core::analysis::{RowChain, RowPlace};
use fusebox_core::builder::{FunctionBuilder, GroupPlace, IntPredicate, KernelBuilder, Partial, Type, Value};
use fusebox_core::emitter::{EmitError, Fusion, Kernel};
use fusebox_core::hlo::InstrId;

use super::layout::ThreadLayout;
use super::properties::ElementStorage;
use crate::body::{PerHero, ReductionBody, StartValues, write};
use crate::chain::functions::{
    ComputedValues, Phase, computed, groups, operands, phases, root_writes, row_values, value_of,
};

/// A chain, its declared subgraph functions, and the thread's row.
struct ThreadChainKernel<'c> {
    fusion: &'c Fusion,
    chain: &'c RowChain,
    layout: &'c ThreadLayout,
    phases: Vec<Phase>,
    bodies: Vec<ReductionBody<'c>>,
    place: GroupPlace,
    /// The thread's row, or the last row if the thread has none.
    row: Value,
    /// Whether the thread has a row. `None` if all threads have a row.
    is_row: Option<Value>,
}

/// Values of the row that the emitted code has already computed.
struct ThreadRowValues {
    /// Results of the reductions of all completed phases.
    heroes: ComputedValues,
    /// Values with one element per row, which later computations of row elements read.
    values: ComputedValues,
    kept: KeptElements,
}

/// Elements that are kept between phases.
enum KeptElements {
    /// Values in registers, per unit and lane.
    Registers(Vec<Vec<ComputedValues>>),
    /// Tiles in shared memory, one per kept instruction.
    Shared(Vec<(InstrId, Value)>),
}

/// Adjacent elements that one thread processes together.
struct ElementUnit {
    /// Index of the unit among the units of its loop iteration. If the code after the loop visits
    /// the unit, the field is the index among the units that this code visits.
    number: usize,
    /// Position of the unit in the row, in units.
    position: Value,
    elements: Vec<Value>,
}

/// A function that processes a unit. The function takes the unit and a state, and returns the next
/// state and the unit's values to keep.
type UnitVisitor<'a> = dyn FnMut(&mut FunctionBuilder, &ElementUnit, &[Value]) -> (Vec<Value>, Vec<Value>) + 'a;

/// Builds the kernel.
pub fn emit(fusion: &Fusion, chain: &RowChain, layout: &ThreadLayout) -> Result<Kernel, EmitError> {
    let mut kernel = KernelBuilder::new(fusion);
    let groups = groups(chain);
    let phases = phases(&mut kernel, fusion, chain, &layout.kept);
    let bodies: Vec<ReductionBody> =
        groups.iter().map(|group| ReductionBody::of_combiners(&mut kernel, group)).collect();
    let (thread, block) = (kernel.thread(), kernel.block());
    let outputs = kernel.outputs().to_vec();
    let b: &mut FunctionBuilder = &mut kernel;
    let at = b.apply_indexing(&layout.thread_map(), &[thread, block]);
    let &[row, in_row, row_in_block] = at.as_slice() else { return kernel.finish(&[]) };
    let place = GroupPlace { group: row_in_block, thread: in_row };
    let (row, is_row) = existing(b, layout, row);
    let declared = ThreadChainKernel { fusion, chain, layout, phases, bodies, place, row, is_row };
    let written = declared.row(b, &outputs);
    kernel.finish(&written)
}

fn existing(b: &mut FunctionBuilder, layout: &ThreadLayout, row: Value) -> (Value, Option<Value>) {
    if layout.blocks * layout.rows == layout.all_rows {
        return (row, None);
    }
    let (count, last) = (b.index(layout.all_rows), b.index(layout.all_rows - 1));
    let is_row = b.cmpi(IntPredicate::Slt, row, count);
    (b.minsi(row, last), Some(is_row))
}

impl ThreadChainKernel<'_> {
    fn row(&self, b: &mut FunctionBuilder, outputs: &[Value]) -> Vec<Value> {
        let kept = match self.layout.keep {
            ElementStorage::Shared => KeptElements::Shared(self.tiles(b)),
            _ => KeptElements::Registers(Vec::new()),
        };
        let mut row = ThreadRowValues { heroes: Vec::new(), values: Vec::new(), kept };
        for (phase, body) in self.phases.iter().zip(&self.bodies) {
            self.reduce(b, phase, body, &mut row);
            let news = row_values(b, self.chain, phase, self.row, &row.heroes, &row.values);
            row.values.extend(news);
        }
        let Some(last) = self.phases.last() else { return outputs.to_vec() };
        guarded(b, self.is_row, outputs, |b| {
            let outputs = self.write_elements(b, last, &row, outputs);
            self.write_row(b, last, &row, &outputs)
        })
    }

    /// Allocates shared memory for the kept elements.
    fn tiles(&self, b: &mut FunctionBuilder) -> Vec<(InstrId, Value)> {
        let dims = self.layout.kept_dims();
        let kept = self.layout.kept.iter().map(|&(id, _)| (id, self.type_of(id)));
        kept.map(|(id, ty)| (id, b.allocate_shared(&dims, ty.element()))).collect()
    }

    fn type_of(&self, id: InstrId) -> Type {
        let array = self.fusion.computation().instruction(id).shape.as_array();
        array.map_or(Type::INDEX, |array| Type::of_element(array.element_type))
    }

    /// Emits the loop of a phase over a row's elements, and the phase's reductions.
    fn reduce(&self, b: &mut FunctionBuilder, phase: &Phase, body: &ReductionBody<'_>, row: &mut ThreadRowValues) {
        let starts = body.starts(b);
        let tiles: Vec<Value> = match &row.kept {
            KeptElements::Shared(tiles) => tiles.iter().map(|(_, tile)| *tile).collect(),
            KeptElements::Registers(_) => Vec::new(),
        };
        let start = starts.start.concat();
        let absent = self.absent(b, phase);
        let state = [start.as_slice(), &tiles].concat();
        let (state, new_values) = self.walk(b, &state, &absent, &mut |b, unit, state| {
            let (held, tiles) = state.split_at(start.len());
            let computed_values = self.elements(b, phase, row, unit, tiles);
            let mut held = like(&starts.start, held);
            if let Some(unit) = self.combined(b, body, &computed_values) {
                held = body.combine_all(b, &held, &unit);
            }
            let (tiles, new_values) = self.store(b, phase, row, unit, tiles, &computed_values);
            ([held.concat(), tiles].concat(), new_values)
        });
        let (own, tiles) = state.split_at(start.len());
        match &mut row.kept {
            KeptElements::Shared(held) => held.iter_mut().zip(tiles).for_each(|((_, held), &tile)| *held = tile),
            KeptElements::Registers(held) => remember(held, phase, self.layout.vector as usize, &new_values),
        }
        self.complete(b, body, &starts, own, row);
    }

    /// Combines a unit's elements in pairs, then the results in pairs, and so on. In this order,
    /// the sum of a few equal numbers is exact, because each addition doubles a number.
    fn combined(
        &self,
        b: &mut FunctionBuilder,
        body: &ReductionBody<'_>,
        computed_values: &[ComputedValues],
    ) -> Option<PerHero> {
        let mut parts: Vec<PerHero> =
            computed_values.iter().map(|computed_values| operands(body.group(), computed_values)).collect();
        while parts.len() > 1 {
            let pairs = parts.chunks(2).map(|pair| match pair {
                [first, second] => body.combine_all(b, first, second),
                _ => pair.concat(),
            });
            parts = pairs.collect();
        }
        parts.pop()
    }

    fn complete(
        &self,
        b: &mut FunctionBuilder,
        body: &ReductionBody<'_>,
        starts: &StartValues,
        own: &[Value],
        row: &mut ThreadRowValues,
    ) {
        let heroes = like(&starts.start, own).into_iter().zip(&starts.start).enumerate();
        let partials: Vec<Partial> = heroes
            .map(|(hero, (values, neutral))| Partial {
                combiner: body.combiner(hero),
                values,
                neutral: neutral.clone(),
            })
            .collect();
        let totals = b.reduce_across_threads(&self.layout.groups(), self.place, &partials);
        let complete = body.complete(b, starts, &totals);
        let heroes = body.group().heroes.iter().map(|hero| hero.instruction);
        row.heroes.extend(heroes.zip(complete));
    }

    /// For a unit beyond the end of the row, returns placeholders for the values that a phase
    /// keeps. The list is empty if the layout does not keep values in registers.
    fn absent(&self, b: &mut FunctionBuilder, phase: &Phase) -> Vec<Value> {
        if self.layout.keep != ElementStorage::Registers {
            return Vec::new();
        }
        let lane: Vec<Value> = phase.stored.iter().map(|&id| b.zero(&self.type_of(id))).collect();
        (0..self.layout.vector).flat_map(|_| lane.clone()).collect()
    }

    /// Returns, for each lane of a unit, the values that a phase computes, the values of the row,
    /// and the kept values that the phase loads.
    fn elements(
        &self,
        b: &mut FunctionBuilder,
        phase: &Phase,
        row: &ThreadRowValues,
        unit: &ElementUnit,
        tiles: &[Value],
    ) -> Vec<ComputedValues> {
        let lanes = unit.elements.iter().enumerate().map(|(lane, &element)| {
            let mut known = row.values.clone();
            match &row.kept {
                KeptElements::Registers(units) => {
                    let held = units.get(unit.number).and_then(|unit| unit.get(lane)).into_iter().flatten();
                    known.extend(held.filter(|(id, _)| phase.loaded.contains(id)).cloned());
                }
                KeptElements::Shared(held) => {
                    let at = self.tile_index(b, unit, lane);
                    let loaded = held.iter().zip(tiles).filter(|((id, _), _)| phase.loaded.contains(id));
                    known.extend(loaded.map(|((id, _), &tile)| (*id, vec![b.extract(tile, &at)])));
                }
            }
            let computed_values = computed(b, &phase.elements, &[self.row, element], &known);
            [computed_values, known].concat()
        });
        lanes.collect()
    }

    /// Stores the values that a phase keeps for one unit. Returns the updated tiles, and the values
    /// to keep in registers.
    fn store(
        &self,
        b: &mut FunctionBuilder,
        phase: &Phase,
        row: &ThreadRowValues,
        unit: &ElementUnit,
        tiles: &[Value],
        computed_values: &[ComputedValues],
    ) -> (Vec<Value>, Vec<Value>) {
        let value = |computed_values: &ComputedValues, id: InstrId| {
            value_of(computed_values, id).and_then(|values| values.first().copied())
        };
        let KeptElements::Shared(held) = &row.kept else {
            let new_values = computed_values
                .iter()
                .flat_map(|computed_values| phase.stored.iter().filter_map(|&id| value(computed_values, id)));
            return (Vec::new(), new_values.collect());
        };
        let mut tiles = tiles.to_vec();
        for (lane, computed_values) in computed_values.iter().enumerate() {
            let at = self.tile_index(b, unit, lane);
            for ((id, _), tile) in held.iter().zip(&mut tiles).filter(|((id, _), _)| phase.stored.contains(id)) {
                if let Some(value) = value(computed_values, *id) {
                    *tile = b.insert(value, *tile, &at);
                }
            }
        }
        (tiles, Vec::new())
    }

    fn tile_index(&self, b: &mut FunctionBuilder, unit: &ElementUnit, lane: usize) -> [Value; 3] {
        [self.place.group, b.index(lane as i64), unit.position]
    }

    fn write_elements(
        &self,
        b: &mut FunctionBuilder,
        phase: &Phase,
        row: &ThreadRowValues,
        outputs: &[Value],
    ) -> Vec<Value> {
        if self.chain.roots.iter().all(|root| root.place == RowPlace::Row) {
            return outputs.to_vec();
        }
        let tiles: Vec<Value> = match &row.kept {
            KeptElements::Shared(tiles) => tiles.iter().map(|(_, tile)| *tile).collect(),
            KeptElements::Registers(_) => Vec::new(),
        };
        let (outputs, _) = self.walk(b, outputs, &[], &mut |b, unit, outputs| {
            let computed_values = self.elements(b, phase, row, unit, &tiles);
            let mut writes = Vec::new();
            for (computed_values, &element) in computed_values.iter().zip(&unit.elements) {
                let point = [self.row, element];
                writes.extend(root_writes(b, self.fusion, self.chain, RowPlace::Element, &point, computed_values));
            }
            // Sorts the writes so that adjacent elements of an output follow each other, and one
            // access writes them.
            writes.sort_by_key(|write| write.output);
            (write(b, &writes, outputs), Vec::new())
        });
        outputs
    }

    fn write_row(
        &self,
        b: &mut FunctionBuilder,
        phase: &Phase,
        row: &ThreadRowValues,
        outputs: &[Value],
    ) -> Vec<Value> {
        if self.chain.roots.iter().all(|root| root.place == RowPlace::Element) {
            return outputs.to_vec();
        }
        let zero = b.index(0);
        let is_first = (self.layout.threads > 1).then(|| b.cmpi(IntPredicate::Eq, self.place.thread, zero));
        guarded(b, is_first, outputs, |b| {
            let computed_values = computed(b, &phase.row, &[self.row], &row.heroes);
            let computed_values = [computed_values.as_slice(), &row.heroes].concat();
            let writes = root_writes(b, self.fusion, self.chain, RowPlace::Row, &[self.row], &computed_values);
            write(b, &writes, outputs)
        })
    }

    /// Visits all units of a thread. A loop runs for the iterations in which every thread has all
    /// its units. Unrolled code after the loop visits the remaining units.
    ///
    /// `visit` returns the state after a unit, and the unit's values. `absent` replaces the values
    /// of a unit beyond the end of the row. Returns the final state, and the values of each unit
    /// that the unrolled code visits.
    fn walk(
        &self,
        b: &mut FunctionBuilder,
        state: &[Value],
        absent: &[Value],
        visit: &mut UnitVisitor<'_>,
    ) -> (Vec<Value>, Vec<Vec<Value>>) {
        let turns = self.layout.full_turns();
        let (zero, one) = (b.index(0), b.index(1));
        let mut state = state.to_vec();
        if turns > 0 {
            let end = b.index(turns);
            state = b.scf_for(zero, end, one, &state, |b, turn, state| {
                let mut state = state.to_vec();
                for number in 0..self.layout.unrolled {
                    let unit = self.unit(b, (0, turns), turn, number);
                    state = visit(b, &unit, &state).0;
                }
                state
            });
        }
        let mut all_new_values = Vec::new();
        for number in 0..self.layout.steps() - turns * self.layout.unrolled {
            let unit = self.unit(b, (turns, 1), zero, number);
            let fallback = [state.as_slice(), absent].concat();
            let is_unit = self.is_unit(b, &unit, turns * self.layout.unrolled + number);
            let next = guarded(b, is_unit, &fallback, |b| {
                let (state, new_values) = visit(b, &unit, &state);
                [state, new_values].concat()
            });
            let (next, new_values) = next.split_at(state.len());
            all_new_values.push(new_values.to_vec());
            state = next.to_vec();
        }
        (state, all_new_values)
    }

    /// Returns unit `number` of iteration `first + turn`.
    fn unit(&self, b: &mut FunctionBuilder, (first, turns): (i64, i64), turn: Value, number: i64) -> ElementUnit {
        let position = b.apply_indexing(&self.layout.unit_map(first, turns, number), &[self.place.thread, turn]);
        let position = position.first().copied().unwrap_or(turn);
        let elements =
            (0..self.layout.vector).flat_map(|lane| b.apply_indexing(&self.layout.element_map(lane), &[position]));
        ElementUnit { number: number as usize, position, elements: elements.collect() }
    }

    /// Returns whether the thread's `unit` lies within the row, or `None` if the units of all
    /// threads lie within the row.
    fn is_unit(&self, b: &mut FunctionBuilder, unit: &ElementUnit, step: i64) -> Option<Value> {
        let units = self.layout.units();
        let count = b.index(units);
        ((step + 1) * self.layout.threads > units).then(|| b.cmpi(IntPredicate::Slt, unit.position, count))
    }
}

/// Builds code that runs `body` if `condition` is true, and returns `otherwise` if `condition` is
/// false. Without a condition (`None`), the code always runs `body`.
fn guarded(
    b: &mut FunctionBuilder,
    condition: Option<Value>,
    otherwise: &[Value],
    body: impl FnOnce(&mut FunctionBuilder) -> Vec<Value>,
) -> Vec<Value> {
    let Some(condition) = condition else { return body(b) };
    let types = b.types_of(otherwise);
    b.scf_if(condition, &types, body, |_| otherwise.to_vec())
}

/// Groups values by hero. The number of values per hero is the same as in `shape`.
fn like(shape: &PerHero, values: &[Value]) -> PerHero {
    let mut values = values.iter().copied();
    shape.iter().map(|hero| values.by_ref().take(hero.len()).collect()).collect()
}

/// Adds a phase's new values to the kept values. `new_values` contains the values of each unit,
/// lane by lane.
fn remember(held: &mut Vec<Vec<ComputedValues>>, phase: &Phase, lanes: usize, new_values: &[Vec<Value>]) {
    if phase.stored.is_empty() {
        return;
    }
    held.resize(new_values.len(), vec![ComputedValues::new(); lanes]);
    for (held, new_values) in held.iter_mut().zip(new_values) {
        for (held, values) in held.iter_mut().zip(new_values.chunks(phase.stored.len())) {
            held.extend(phase.stored.iter().zip(values).map(|(&id, &value)| (id, vec![value])));
        }
    }
}
