//! Emits the phases of a row for all threads that share it.
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
//! All threads of a block reach every barrier and every shuffle. Threads without a row read the last row again and write nothing.

use fusebox_core::analysis::{RowChain, RowPlace};
use fusebox_core::builder::{FunctionBuilder, GroupPlace, IntPredicate, KernelBuilder, Partial, Type, Value};
use fusebox_core::emitter::{EmitError, Fusion, Kernel};
use fusebox_core::hlo::InstrId;

use super::facts::Keep;
use super::layout::Layout;
use crate::body::{Body, PerHero, Starts, write};
use crate::chain::parts::{Known, Phase, computed, groups, operands, phases, root_writes, row_values, value_of};

/// A chain with its subgraph functions declared, and the thread's row.
struct Chain<'c> {
    fusion: &'c Fusion,
    chain: &'c RowChain,
    layout: &'c Layout,
    phases: Vec<Phase>,
    bodies: Vec<Body<'c>>,
    place: GroupPlace,
    /// The thread's row, or the last row if the thread has none.
    row: Value,
    /// Whether the thread has a row. `None` if all threads have one.
    is_row: Option<Value>,
}

/// Values of the row computed so far.
struct Row {
    /// Results of the complete reductions.
    heroes: Known,
    /// Values that elements depend on.
    values: Known,
    kept: Kept,
}

/// Kept elements.
enum Kept {
    /// Values per unit and lane.
    Registers(Vec<Vec<Known>>),
    /// Tiles in shared memory, one per kept instruction.
    Shared(Vec<(InstrId, Value)>),
}

/// Adjacent elements of one thread.
struct Unit {
    /// Number of the unit in its loop iteration, or after the loop.
    number: usize,
    /// Its position in the row.
    position: Value,
    elements: Vec<Value>,
}

/// Visitor of a unit and a state. Returns the next state, and the unit's values to keep.
type Visit<'a> = dyn FnMut(&mut FunctionBuilder, &Unit, &[Value]) -> (Vec<Value>, Vec<Value>) + 'a;

/// Builds the kernel.
pub fn emit(fusion: &Fusion, chain: &RowChain, layout: &Layout) -> Result<Kernel, EmitError> {
    let mut kernel = KernelBuilder::new(fusion);
    let groups = groups(chain);
    let phases = phases(&mut kernel, fusion, chain, &layout.kept);
    let bodies: Vec<Body> = groups.iter().map(|group| Body::of_combiners(&mut kernel, group)).collect();
    let (thread, block) = (kernel.thread(), kernel.block());
    let outputs = kernel.outputs().to_vec();
    let b: &mut FunctionBuilder = &mut kernel;
    let at = b.apply_indexing(&layout.thread_map(), &[thread, block]);
    let &[row, in_row, row_in_block] = at.as_slice() else { return kernel.finish(&[]) };
    let place = GroupPlace { group: row_in_block, thread: in_row };
    let (row, is_row) = existing(b, layout, row);
    let declared = Chain { fusion, chain, layout, phases, bodies, place, row, is_row };
    let written = declared.row(b, &outputs);
    kernel.finish(&written)
}

fn existing(b: &mut FunctionBuilder, layout: &Layout, row: Value) -> (Value, Option<Value>) {
    if layout.blocks * layout.rows == layout.all_rows {
        return (row, None);
    }
    let (count, last) = (b.index(layout.all_rows), b.index(layout.all_rows - 1));
    let is_row = b.cmpi(IntPredicate::Slt, row, count);
    (b.minsi(row, last), Some(is_row))
}

impl Chain<'_> {
    fn row(&self, b: &mut FunctionBuilder, outputs: &[Value]) -> Vec<Value> {
        let kept = match self.layout.keep {
            Keep::Shared => Kept::Shared(self.tiles(b)),
            _ => Kept::Registers(Vec::new()),
        };
        let mut row = Row { heroes: Vec::new(), values: Vec::new(), kept };
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

    /// Emits the loop of a phase over a row's elements, and its reductions.
    fn reduce(&self, b: &mut FunctionBuilder, phase: &Phase, body: &Body<'_>, row: &mut Row) {
        let starts = body.starts(b);
        let tiles: Vec<Value> = match &row.kept {
            Kept::Shared(tiles) => tiles.iter().map(|(_, tile)| *tile).collect(),
            Kept::Registers(_) => Vec::new(),
        };
        let start = starts.start.concat();
        let absent = self.absent(b, phase);
        let state = [start.as_slice(), &tiles].concat();
        let (state, made) = self.walk(b, &state, &absent, &mut |b, unit, state| {
            let (held, tiles) = state.split_at(start.len());
            let found = self.elements(b, phase, row, unit, tiles);
            let mut held = like(&starts.start, held);
            if let Some(unit) = self.combined(b, body, &found) {
                held = body.combine_all(b, &held, &unit);
            }
            let (tiles, made) = self.store(b, phase, row, unit, tiles, &found);
            ([held.concat(), tiles].concat(), made)
        });
        let (own, tiles) = state.split_at(start.len());
        match &mut row.kept {
            Kept::Shared(held) => held.iter_mut().zip(tiles).for_each(|((_, held), &tile)| *held = tile),
            Kept::Registers(held) => remember(held, phase, self.layout.vector as usize, &made),
        }
        self.complete(b, body, &starts, own, row);
    }

    /// Combines a unit's elements in pairs. Sums of few equal numbers are exact.
    fn combined(&self, b: &mut FunctionBuilder, body: &Body<'_>, found: &[Known]) -> Option<PerHero> {
        let mut parts: Vec<PerHero> = found.iter().map(|found| operands(body.group(), found)).collect();
        while parts.len() > 1 {
            let pairs = parts.chunks(2).map(|pair| match pair {
                [first, second] => body.combine_all(b, first, second),
                _ => pair.concat(),
            });
            parts = pairs.collect();
        }
        parts.pop()
    }

    fn complete(&self, b: &mut FunctionBuilder, body: &Body<'_>, starts: &Starts, own: &[Value], row: &mut Row) {
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

    /// Returns placeholders for the values of a unit that a thread does not have, if values are kept in registers.
    fn absent(&self, b: &mut FunctionBuilder, phase: &Phase) -> Vec<Value> {
        if self.layout.keep != Keep::Registers {
            return Vec::new();
        }
        let lane: Vec<Value> = phase.stored.iter().map(|&id| b.zero(&self.type_of(id))).collect();
        (0..self.layout.vector).flat_map(|_| lane.clone()).collect()
    }

    /// Returns, per lane of a unit, the computed and the available values of a phase.
    fn elements(&self, b: &mut FunctionBuilder, phase: &Phase, row: &Row, unit: &Unit, tiles: &[Value]) -> Vec<Known> {
        let lanes = unit.elements.iter().enumerate().map(|(lane, &element)| {
            let mut known = row.values.clone();
            match &row.kept {
                Kept::Registers(units) => {
                    let held = units.get(unit.number).and_then(|unit| unit.get(lane)).into_iter().flatten();
                    known.extend(held.filter(|(id, _)| phase.loaded.contains(id)).cloned());
                }
                Kept::Shared(held) => {
                    let at = self.tile_index(b, unit, lane);
                    let loaded = held.iter().zip(tiles).filter(|((id, _), _)| phase.loaded.contains(id));
                    known.extend(loaded.map(|((id, _), &tile)| (*id, vec![b.extract(tile, &at)])));
                }
            }
            let found = computed(b, &phase.elements, &[self.row, element], &known);
            [found, known].concat()
        });
        lanes.collect()
    }

    /// Keeps a phase's values of a unit. Returns the updated tiles, and the values to keep in registers.
    fn store(
        &self,
        b: &mut FunctionBuilder,
        phase: &Phase,
        row: &Row,
        unit: &Unit,
        tiles: &[Value],
        found: &[Known],
    ) -> (Vec<Value>, Vec<Value>) {
        let value = |found: &Known, id: InstrId| value_of(found, id).and_then(|values| values.first().copied());
        let Kept::Shared(held) = &row.kept else {
            let made = found.iter().flat_map(|found| phase.stored.iter().filter_map(|&id| value(found, id)));
            return (Vec::new(), made.collect());
        };
        let mut tiles = tiles.to_vec();
        for (lane, found) in found.iter().enumerate() {
            let at = self.tile_index(b, unit, lane);
            for ((id, _), tile) in held.iter().zip(&mut tiles).filter(|((id, _), _)| phase.stored.contains(id)) {
                if let Some(value) = value(found, *id) {
                    *tile = b.insert(value, *tile, &at);
                }
            }
        }
        (tiles, Vec::new())
    }

    fn tile_index(&self, b: &mut FunctionBuilder, unit: &Unit, lane: usize) -> [Value; 3] {
        [self.place.group, b.index(lane as i64), unit.position]
    }

    fn write_elements(&self, b: &mut FunctionBuilder, phase: &Phase, row: &Row, outputs: &[Value]) -> Vec<Value> {
        if self.chain.roots.iter().all(|root| root.place == RowPlace::Row) {
            return outputs.to_vec();
        }
        let tiles: Vec<Value> = match &row.kept {
            Kept::Shared(tiles) => tiles.iter().map(|(_, tile)| *tile).collect(),
            Kept::Registers(_) => Vec::new(),
        };
        let (outputs, _) = self.walk(b, outputs, &[], &mut |b, unit, outputs| {
            let found = self.elements(b, phase, row, unit, &tiles);
            let mut writes = Vec::new();
            for (found, &element) in found.iter().zip(&unit.elements) {
                let point = [self.row, element];
                writes.extend(root_writes(b, self.fusion, self.chain, RowPlace::Element, &point, found));
            }
            // Adjacent elements of an output follow each other, so that one access writes them.
            writes.sort_by_key(|write| write.output);
            (write(b, &writes, outputs), Vec::new())
        });
        outputs
    }

    fn write_row(&self, b: &mut FunctionBuilder, phase: &Phase, row: &Row, outputs: &[Value]) -> Vec<Value> {
        if self.chain.roots.iter().all(|root| root.place == RowPlace::Element) {
            return outputs.to_vec();
        }
        let zero = b.index(0);
        let is_first = (self.layout.threads > 1).then(|| b.cmpi(IntPredicate::Eq, self.place.thread, zero));
        guarded(b, is_first, outputs, |b| {
            let found = computed(b, &phase.row, &[self.row], &row.heroes);
            let found = [found.as_slice(), &row.heroes].concat();
            let writes = root_writes(b, self.fusion, self.chain, RowPlace::Row, &[self.row], &found);
            write(b, &writes, outputs)
        })
    }

    /// Visits all units of a thread: in a loop while all threads have units, then unrolled.
    ///
    /// `visit` returns the state after a unit, and the unit's values. `absent` replaces the values of a unit that the thread does not have. Returns the final state, and the values of each remaining unit.
    fn walk(
        &self,
        b: &mut FunctionBuilder,
        state: &[Value],
        absent: &[Value],
        visit: &mut Visit<'_>,
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
        let mut all_made = Vec::new();
        for number in 0..self.layout.steps() - turns * self.layout.unrolled {
            let unit = self.unit(b, (turns, 1), zero, number);
            let fallback = [state.as_slice(), absent].concat();
            let is_unit = self.is_unit(b, &unit, turns * self.layout.unrolled + number);
            let next = guarded(b, is_unit, &fallback, |b| {
                let (state, made) = visit(b, &unit, &state);
                [state, made].concat()
            });
            let (next, made) = next.split_at(state.len());
            all_made.push(made.to_vec());
            state = next.to_vec();
        }
        (state, all_made)
    }

    /// Returns a unit by its number in an iteration. Iterations are counted from `first`.
    fn unit(&self, b: &mut FunctionBuilder, (first, turns): (i64, i64), turn: Value, number: i64) -> Unit {
        let position = b.apply_indexing(&self.layout.unit_map(first, turns, number), &[self.place.thread, turn]);
        let position = position.first().copied().unwrap_or(turn);
        let elements =
            (0..self.layout.vector).flat_map(|lane| b.apply_indexing(&self.layout.element_map(lane), &[position]));
        Unit { number: number as usize, position, elements: elements.collect() }
    }

    /// Returns whether the thread has a unit, or `None` if all threads have it.
    fn is_unit(&self, b: &mut FunctionBuilder, unit: &Unit, step: i64) -> Option<Value> {
        let units = self.layout.units();
        let count = b.index(units);
        ((step + 1) * self.layout.threads > units).then(|| b.cmpi(IntPredicate::Slt, unit.position, count))
    }
}

/// Returns the values of `body` where the condition holds or is `None`, and `otherwise` elsewhere.
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

/// Groups values by hero, as in `shape`.
fn like(shape: &PerHero, values: &[Value]) -> PerHero {
    let mut values = values.iter().copied();
    shape.iter().map(|hero| values.by_ref().take(hero.len()).collect()).collect()
}

/// Adds a phase's values of each unit, lane after lane, to the kept values.
fn remember(held: &mut Vec<Vec<Known>>, phase: &Phase, lanes: usize, made: &[Vec<Value>]) {
    if phase.stored.is_empty() {
        return;
    }
    held.resize(made.len(), vec![Known::new(); lanes]);
    for (held, made) in held.iter_mut().zip(made) {
        for (held, values) in held.iter_mut().zip(made.chunks(phase.stored.len())) {
            held.extend(phase.stored.iter().zip(values).map(|(&id, &value)| (id, vec![value])));
        }
    }
}
