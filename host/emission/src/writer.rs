//! One function under construction.
//!
//! Every scope of a function is a region. The writer fills the regions in the order of the
//! schedule. The writer adds an operation with regions when the regions are complete.

use std::collections::HashMap;

use fusebox_core::builder::{Attribute, FunctionBuilder, IntPredicate, OpKind, Region, Type, Value};
use fusebox_core::hlo::{InstrId, Op};
use fusebox_core::indexing::{IndexingMap, Variable};

use crate::EmissionError;
use crate::elemental::constant::{constant, iota};
use crate::error::Result;
use crate::index::IndexId;
use crate::partition::{BoundsCondition, Branch, InstructionRead, Partition, Recipe};
use crate::scope::{FunctionId, ScopeId, ScopeKind};

/// Largest number of iterations of a loop that is unrolled.
const MOST_ITERATIONS: i64 = 64;
/// Largest number of operations that unrolling a loop may create.
const MOST_OPERATIONS: i64 = 2048;

/// How a loop is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopForm {
    /// As a loop.
    Looped,
    /// Unrolled, if the unrolled code is small. If the loop is unrolled, a loop around it, for
    /// example over windows, contains no other loop and can be vectorised.
    UnrolledIfSmall,
}

/// Whether unrolling a loop with this body yields little code. False if the body contains loops.
/// Also false if the body contains calls, because the sizes of functions are not known yet.
fn may_unroll(map: &IndexingMap, body: &Region) -> bool {
    let size = |range: &Variable| range.bounds.upper.saturating_sub(range.bounds.lower).saturating_add(1);
    let turns = map.ranges.iter().map(size).fold(1, i64::saturating_mul);
    let (mut operations, mut is_plain) = (0, true);
    body.walk(&mut |operation| {
        operations += 1;
        is_plain &= !matches!(operation.kind, OpKind::Loop | OpKind::For | OpKind::While | OpKind::PureCall);
    });
    is_plain && turns <= MOST_ITERATIONS && turns.saturating_mul(operations) <= MOST_OPERATIONS
}

/// An instruction at its site. `operands` are the values of the recipe's reads.
pub struct SiteOperands<'r> {
    pub id: InstrId,
    pub recipe: &'r Recipe,
    pub operands: &'r [Vec<Value>],
}

/// One function under construction.
pub struct FunctionWriter<'p, 'm> {
    pub partition: &'p mut Partition<'m>,
    pub b: FunctionBuilder,
    pub function: FunctionId,
    /// Tensor of each parameter, by parameter number.
    parameters: Vec<Value>,
    /// The arguments that pass the values of all heroes to the function, in the order of the
    /// heroes. `injected_of` contains the values of each hero.
    injected: Vec<Value>,
    injected_of: HashMap<InstrId, Vec<Value>>,
    regions: HashMap<ScopeId, Region>,
    /// Loop-carried values of loop scopes.
    states: HashMap<ScopeId, Vec<Value>>,
    indices: HashMap<IndexId, Value>,
    values: HashMap<InstrId, Vec<Value>>,
    /// Values of instructions that this function reads but does not compute.
    fetched: HashMap<InstructionRead, Vec<Value>>,
}

impl<'p, 'm> FunctionWriter<'p, 'm> {
    pub fn new(partition: &'p mut Partition<'m>, function: FunctionId, heroes: &[InstrId], scopes: &[ScopeId]) -> Self {
        let mut b = FunctionBuilder::new(partition.function(function).symbol.clone());
        b.set_private();
        let shapes = partition.computation.parameters().into_iter().map(|id| &partition.instruction(id).shape);
        let arrays = shapes.filter_map(|shape| shape.as_array());
        let parameters = arrays.map(|array| b.argument(Type::of_array(array))).collect();
        let (indices, regions, states) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut writer = FunctionWriter {
            partition,
            b,
            function,
            parameters,
            injected: Vec::new(),
            injected_of: HashMap::new(),
            regions,
            states,
            indices,
            values: HashMap::new(),
            fetched: HashMap::new(),
        };
        writer.open(heroes, scopes);
        writer
    }

    /// Creates the arguments that follow the parameters. Creates the regions of all scopes.
    fn open(&mut self, heroes: &[InstrId], scopes: &[ScopeId]) {
        for index in self.partition.arguments(self.function) {
            let value = self.b.argument(Type::INDEX);
            self.indices.insert(index, value);
        }
        for &hero in heroes {
            let types = self.partition.leaf_types(hero);
            let values: Vec<Value> = types.into_iter().map(|ty| self.b.argument(ty)).collect();
            self.injected.extend(&values);
            self.injected_of.insert(hero, values);
        }
        for &scope in scopes {
            let arguments = match &self.partition.scope(scope).kind {
                ScopeKind::Body => continue,
                ScopeKind::Branch => Vec::new(),
                ScopeKind::Loop { sizes, state } => [vec![Type::INDEX; sizes.len()], state.clone()].concat(),
            };
            let (region, values) = self.b.detached(&arguments);
            let ranges = self.partition.ranges(scope);
            self.indices.extend(ranges.iter().copied().zip(values.iter().copied()));
            self.states.insert(scope, values[ranges.len()..].to_vec());
            self.regions.insert(scope, region);
        }
    }

    /// Records the values of an instruction, for its readers.
    pub fn set_values(&mut self, id: InstrId, values: Vec<Value>) {
        self.values.insert(id, values);
    }

    /// Records the value of an index.
    pub fn set_index(&mut self, index: IndexId, value: Value) {
        self.indices.insert(index, value);
    }

    /// Returns the values of an instruction for a reader. If this function does not compute the
    /// instruction, writes code for the values in the reader's scope.
    pub fn fetch(&mut self, read: &InstructionRead) -> Result<Vec<Value>> {
        let id = read.instruction;
        if let Some(values) = self.values.get(&id).or_else(|| self.injected_of.get(&id)) {
            return Ok(values.clone());
        }
        if let Some(values) = self.fetched.get(read) {
            return Ok(values.clone());
        }
        let values = self.within(read.scope, |writer| match writer.partition.sites[id.index()].clone() {
            Some(site) => Ok(writer.call(site.function, id, read)),
            None => writer.inline(id, read),
        })?;
        self.fetched.insert(read.clone(), values.clone());
        Ok(values)
    }

    fn call(&mut self, function: FunctionId, id: InstrId, read: &InstructionRead) -> Vec<Value> {
        let symbol = self.partition.function(function).symbol.clone();
        let index: Vec<Value> = read.token.iter().map(|&index| self.index(index)).collect();
        let arguments = [self.parameters.as_slice(), &index, &self.injected].concat();
        let results = self.partition.leaf_types(id);
        self.b.pure_call(&symbol, &arguments, &results)
    }

    fn inline(&mut self, id: InstrId, read: &InstructionRead) -> Result<Vec<Value>> {
        let instruction = self.partition.instruction(id);
        let index: Vec<Value> = read.token.iter().map(|&index| self.index(index)).collect();
        let value = match &instruction.op {
            Op::Parameter { number } => match self.parameters.get(*number as usize) {
                Some(&tensor) => Ok(self.b.extract(tensor, &index)),
                None => Err("there is no such parameter".to_owned()),
            },
            Op::Broadcast { .. } => {
                let scalar =
                    InstructionRead { instruction: instruction.operands[0], scope: read.scope, token: Vec::new() };
                return self.inline(scalar.instruction, &scalar);
            }
            Op::Constant(literal) => constant(&mut self.b, literal, &index),
            Op::Iota { dimension } => {
                let array = self.partition.array(id)?;
                iota(&mut self.b, array.element_type, index[*dimension as usize])
            }
            _ => Err("has no value here".to_owned()),
        };
        let value = value.map_err(|message| EmissionError::at(self.partition.module, instruction, message))?;
        Ok(vec![value])
    }

    /// Returns the value of an index. Writes constants where they are used.
    pub fn index(&mut self, index: IndexId) -> Value {
        if let Some(value) = self.partition.indices.as_constant(index) {
            return self.b.index(value);
        }
        match self.indices.get(&index) {
            Some(&value) => value,
            None => self.b.refuse("index", "used before it was computed"),
        }
    }

    /// Runs `write`. The operations that `write` adds go into the region of `scope`.
    pub fn within<R>(&mut self, scope: ScopeId, write: impl FnOnce(&mut Self) -> R) -> R {
        match self.regions.remove(&scope) {
            None => write(self),
            Some(region) => {
                self.b.enter(region);
                let result = write(self);
                let region = self.b.leave();
                self.regions.insert(scope, region);
                result
            }
        }
    }

    /// Completes the region of a scope. The region yields the values that `end` returns.
    pub fn close(
        &mut self,
        scope: ScopeId,
        terminator: OpKind,
        end: impl FnOnce(&mut Self, &[Value]) -> Result<Vec<Value>>,
    ) -> Result<Region> {
        let state = self.states.remove(&scope).unwrap_or_default();
        let region = self.regions.remove(&scope).unwrap_or_else(|| self.b.detached(&[]).0);
        self.b.enter(region);
        let result = end(self, &state);
        let yielded = result.as_deref().unwrap_or_default().to_vec();
        self.b.op(terminator, &yielded, Vec::new(), &[], Vec::new());
        let region = self.b.leave();
        result.map(|_| region)
    }

    /// Writes an `xla_gpu.loop` over the ranges of a scope. `body` computes the next loop-carried
    /// values from the current ones.
    pub fn loop_over(
        &mut self,
        scope: ScopeId,
        turns: LoopForm,
        initial: &[Value],
        body: impl FnOnce(&mut Self, &[Value]) -> Result<Vec<Value>>,
    ) -> Result<Vec<Value>> {
        let sizes = match &self.partition.scope(scope).kind {
            ScopeKind::Loop { sizes, .. } => sizes.clone(),
            ScopeKind::Body | ScopeKind::Branch => Vec::new(),
        };
        let map = IndexingMap { ranges: sizes.into_iter().map(Variable::from_size).collect(), ..Default::default() };
        let region = self.close(scope, OpKind::LoopYield, body)?;
        let unroll = match turns {
            LoopForm::UnrolledIfSmall if may_unroll(&map, &region) => (0..map.ranges.len() as i64).collect(),
            LoopForm::UnrolledIfSmall | LoopForm::Looped => Vec::new(),
        };
        let attributes =
            vec![("map", Attribute::Map(std::sync::Arc::new(map))), ("unroll", Attribute::I64Array(unroll))];
        let types = self.b.types_of(initial);
        Ok(self.b.op(OpKind::Loop, initial, attributes, &types, vec![region]))
    }

    /// Writes an `scf.if` with the region of a scope as its first branch.
    pub fn branch_to(
        &mut self,
        condition: Value,
        scope: ScopeId,
        results: &[Type],
        on_true: impl FnOnce(&mut Self) -> Result<Vec<Value>>,
        on_false: Region,
    ) -> Result<Vec<Value>> {
        let first = self.close(scope, OpKind::Yield, |writer, _| on_true(writer))?;
        Ok(self.b.op(OpKind::If, &[condition], Vec::new(), results, vec![first, on_false]))
    }

    /// Returns the values of `compute` if the conditions of a branch hold, and `state` otherwise.
    pub fn behind(
        &mut self,
        branch: Option<&Branch>,
        state: &[Value],
        compute: impl FnOnce(&mut Self) -> Result<Vec<Value>>,
    ) -> Result<Vec<Value>> {
        let Some(branch) = branch.filter(|branch| !branch.conditions.is_empty()) else { return compute(self) };
        let types = self.b.types_of(state);
        let condition = self.holds(&branch.conditions);
        let skipped = self.yielding(state);
        self.branch_to(condition, branch.scope, &types, compute, skipped)
    }

    /// Returns a region that yields existing values.
    fn yielding(&mut self, values: &[Value]) -> Region {
        let values = values.to_vec();
        self.b.region(&[], |b, _| {
            b.op(OpKind::Yield, &values, Vec::new(), &[], Vec::new());
        })
    }

    pub fn holds(&mut self, conditions: &[BoundsCondition]) -> Value {
        let mut all = None;
        for condition in conditions {
            let index = self.index(condition.index);
            let possible = self.partition.indices.bounds(condition.index);
            let (lower, upper) = (condition.bounds.lower, condition.bounds.upper);
            let mut tests = Vec::new();
            if lower == upper {
                tests.push((IntPredicate::Eq, lower));
            } else {
                tests.extend((possible.lower < lower).then_some((IntPredicate::Sge, lower)));
                tests.extend((possible.upper > upper).then_some((IntPredicate::Sle, upper)));
            }
            for (predicate, bound) in tests {
                let bound = self.b.index(bound);
                let test = self.b.cmpi(predicate, index, bound);
                all = Some(match all {
                    None => test,
                    Some(others) => self.b.andi(others, test),
                });
            }
        }
        all.unwrap_or_else(|| self.b.bool(true))
    }
}

impl FunctionWriter<'_, '_> {
    /// Creates an error whose location is an instruction of the partition.
    pub fn error(&self, id: InstrId, message: impl Into<String>) -> EmissionError {
        EmissionError::at(self.partition.module, self.partition.instruction(id), message)
    }
}
