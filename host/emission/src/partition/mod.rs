//! A computation cut into functions: where each instruction is computed, and which values it reads
//! there. Module `cut` decides which function computes each instruction.

mod cut;

use std::collections::HashSet;

use fusebox_core::builder::Type;
use fusebox_core::hlo::{ArrayShape, Computation, InstrId, Instruction, Module, Op, Shape};
use fusebox_core::indexing::Interval;

use crate::EmissionError;
use crate::error::Result;
use crate::index::{Atom, IndexId, IndexTable, Token};
use crate::scope::{FunctionId, Scope, ScopeId, ScopeKind};

pub use cut::FunctionRequest;

/// A read of an instruction's value at an index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InstructionRead {
    pub instruction: InstrId,
    pub scope: ScopeId,
    pub token: Token,
}

/// The function, scope and index at which an instruction is computed.
#[derive(Clone, Debug)]
pub struct InstructionSite {
    pub function: FunctionId,
    pub scope: ScopeId,
    pub token: Token,
}

/// A function of a partition.
pub struct PartitionFunction {
    pub symbol: String,
    /// Outermost scope of the function.
    pub body: ScopeId,
    /// Sizes of the dimensions that the function's index arguments belong to.
    pub dims: Vec<i64>,
    pub results: Vec<InstructionRead>,
    pub instructions: u32,
    /// Number of instructions that have no site yet and whose known readers are all in this
    /// function.
    pub pending: u32,
}

/// How an instruction reads its operands at its site. Module `elemental` writes the code that a
/// recipe describes.
#[derive(Clone, Debug, Default)]
pub struct Recipe {
    /// The reads in the order of the operands. Reads that happen only if another read's conditions
    /// do not hold come last.
    pub reads: Vec<InstructionRead>,
    /// Operand number of each read.
    pub operands: Vec<usize>,
    /// Loops, outermost first.
    pub loops: Vec<ScopeId>,
    pub branches: Vec<Branch>,
    /// Further indices whose values the code needs.
    pub indices: Vec<IndexId>,
}

/// A part of an instruction that is computed only under conditions.
#[derive(Clone, Debug)]
pub struct Branch {
    pub parent: ScopeId,
    /// The scope of this part. Equals `parent` if there are no conditions, or if the conditions
    /// never hold.
    pub scope: ScopeId,
    /// The conditions, all of which must hold.
    pub conditions: Vec<BoundsCondition>,
    /// False if the conditions never hold, so that the branch reads nothing.
    pub reachable: bool,
}

/// The condition that an index is within bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundsCondition {
    pub index: IndexId,
    /// Bounds of the index, both included.
    pub bounds: Interval,
}

/// A computation cut into functions.
pub struct Partition<'m> {
    pub module: &'m Module,
    pub computation: &'m Computation,
    /// Instructions that the functions do not compute, but whose values they take as arguments.
    pub injected: HashSet<InstrId>,
    pub functions: Vec<PartitionFunction>,
    pub scopes: Vec<Scope>,
    pub indices: IndexTable,
    /// Site of each instruction. The site is `None` if the instruction has no readers, or if the
    /// readers write the instruction inline.
    pub sites: Vec<Option<InstructionSite>>,
    /// For each instruction with a site, how it reads its operands.
    pub recipes: Vec<Option<Recipe>>,
    demands: Vec<Demand>,
    prefix: String,
    symbols: HashSet<String>,
}

/// The known readers of an instruction.
#[derive(Clone)]
enum Demand {
    Unread,
    /// All readers can use one value, which is computed in `scope` at the index `token`.
    At {
        scope: ScopeId,
        token: Token,
        /// Whether only one scope reads the value. If only one scope reads the value, a separate
        /// function for it would be called only once.
        by_one: bool,
    },
    /// The readers need different indices, or have no common scope.
    Scattered,
}

impl<'m> Partition<'m> {
    pub fn instruction(&self, id: InstrId) -> &'m Instruction {
        self.computation.instruction(id)
    }

    pub fn scope(&self, id: ScopeId) -> &Scope {
        &self.scopes[id.0 as usize]
    }

    pub fn function(&self, id: FunctionId) -> &PartitionFunction {
        &self.functions[id.0 as usize]
    }

    /// Whether readers write the instruction inline.
    pub fn is_inline(&self, id: InstrId) -> bool {
        if self.injected.contains(&id) {
            return true;
        }
        let instruction = self.instruction(id);
        match &instruction.op {
            Op::Parameter { .. } | Op::Constant(_) | Op::Iota { .. } => true,
            Op::Broadcast { .. } => {
                let operand = instruction.operands[0];
                let scalar = self.instruction(operand).shape.as_array().is_some_and(|shape| shape.dims.is_empty());
                let leaf = matches!(self.instruction(operand).op, Op::Constant(_) | Op::Parameter { .. });
                scalar && leaf && !self.injected.contains(&operand)
            }
            _ => false,
        }
    }

    /// Adds a scope inside another one.
    pub fn add_scope(&mut self, parent: ScopeId, kind: ScopeKind) -> ScopeId {
        let (function, depth) = (self.scope(parent).function, self.scope(parent).depth + 1);
        self.push_scope(Scope { function, parent: Some(parent), depth, kind })
    }

    /// Returns the range variables of a loop scope.
    pub fn ranges(&mut self, scope: ScopeId) -> Token {
        let sizes = match &self.scope(scope).kind {
            ScopeKind::Loop { sizes, .. } => sizes.clone(),
            ScopeKind::Body | ScopeKind::Branch => Vec::new(),
        };
        let range = |(axis, &size): (usize, &i64)| {
            self.indices.atom(Atom::Range { scope, axis: axis as u32 }, Interval::from_size(size), scope)
        };
        sizes.iter().enumerate().map(range).collect()
    }

    /// Returns the body of the function that a scope belongs to.
    pub fn body_of(&self, scope: ScopeId) -> ScopeId {
        self.function(self.scope(scope).function).body
    }

    /// Records that code in `scope` needs an instruction's value at an index. Moves the read out of
    /// loops on which the index does not depend. Returns the read.
    pub fn read(&mut self, instruction: InstrId, scope: ScopeId, token: Token) -> InstructionRead {
        let scope = self.hoist(scope, &token);
        if !self.is_inline(instruction) {
            let demand = self.take_demand(instruction);
            let demand = self.merge(demand, instruction, scope, &token);
            if let Demand::At { scope, .. } = demand {
                self.pending(scope, 1);
            }
            self.demands[instruction.index()] = demand;
        }
        InstructionRead { instruction, scope, token }
    }

    fn take_demand(&mut self, instruction: InstrId) -> Demand {
        let demand = std::mem::replace(&mut self.demands[instruction.index()], Demand::Unread);
        if let Demand::At { scope, .. } = demand {
            self.pending(scope, -1);
        }
        demand
    }

    /// Adds `change` to the number of pending instructions of the function that contains `scope`.
    fn pending(&mut self, scope: ScopeId, change: i32) {
        let function = self.scope(scope).function;
        let pending = &mut self.functions[function.0 as usize].pending;
        *pending = pending.saturating_add_signed(change);
    }

    fn merge(&self, demand: Demand, instruction: InstrId, scope: ScopeId, token: &Token) -> Demand {
        match demand {
            Demand::Unread => Demand::At { scope, token: token.clone(), by_one: true },
            Demand::At { scope: other, token: t, by_one } if t == *token => {
                match self.common_scope(scope, other, instruction, token) {
                    Some(common) => Demand::At { scope: common, token: t, by_one: by_one && scope == other },
                    None => Demand::Scattered,
                }
            }
            Demand::At { .. } | Demand::Scattered => Demand::Scattered,
        }
    }

    /// Returns the scope that can compute a value for readers in scopes `a` and `b`. If the two
    /// readers are under different conditions, the value is computed outside of these conditions.
    /// Computing a value outside of its readers' conditions is possible only if the value's index
    /// is always within bounds.
    fn common_scope(&self, a: ScopeId, b: ScopeId, instruction: InstrId, token: &Token) -> Option<ScopeId> {
        if self.scope(a).function != self.scope(b).function {
            return None;
        }
        let (mut x, mut y) = (a, b);
        while x != y {
            let (p, q) = (self.scope(x), self.scope(y));
            if p.depth >= q.depth {
                x = p.parent?;
            } else {
                y = q.parent?;
            }
        }
        (x == a || x == b || self.is_within_bounds(instruction, token)).then_some(x)
    }

    /// Whether an index is within an instruction's bounds, regardless of any conditions.
    fn is_within_bounds(&self, instruction: InstrId, token: &[IndexId]) -> bool {
        let is_within = |(&index, &size): (&IndexId, &i64)| {
            let bounds = self.indices.bounds(index);
            0 <= bounds.lower && bounds.upper < size
        };
        leaf_dims(&self.instruction(instruction).shape)
            .is_some_and(|dims| dims.len() == token.len() && token.iter().zip(dims).all(is_within))
    }

    /// Returns the outermost scope around `scope` in which an instruction can be computed at an
    /// index. If only the conditions around `scope` keep the index within bounds, returns `scope`
    /// itself. If the index is always within bounds, returns the innermost scope that the
    /// computation of the index needs.
    fn outermost(&self, instruction: InstrId, scope: ScopeId, token: &[IndexId]) -> ScopeId {
        if !self.is_within_bounds(instruction, token) {
            return scope;
        }
        let needed = token.iter().filter_map(|&index| self.indices.scope(index));
        needed.max_by_key(|&scope| self.scope(scope).depth).unwrap_or_else(|| self.body_of(scope))
    }

    fn hoist(&self, mut scope: ScopeId, token: &[IndexId]) -> ScopeId {
        while let Scope { kind: ScopeKind::Loop { .. }, parent: Some(parent), .. } = self.scope(scope) {
            if token.iter().any(|&index| self.indices.scope(index) == Some(scope)) {
                break;
            }
            scope = *parent;
        }
        scope
    }

    fn push_scope(&mut self, scope: Scope) -> ScopeId {
        let id = ScopeId(self.scopes.len() as u32);
        self.indices.register_scope(id, scope.depth);
        self.scopes.push(scope);
        id
    }

    /// Returns the index arguments of a function.
    pub fn arguments(&mut self, function: FunctionId) -> Token {
        let PartitionFunction { body, dims, .. } = self.function(function);
        let (body, dims) = (*body, dims.clone());
        let argument = |(dim, &size): (usize, &i64)| {
            let atom = Atom::Argument { function, dim: dim as u32 };
            self.indices.atom(atom, Interval::from_size(size), body)
        };
        dims.iter().enumerate().map(argument).collect()
    }

    pub fn error(&self, id: InstrId, message: impl Into<String>) -> EmissionError {
        EmissionError::at(self.module, self.instruction(id), message)
    }

    /// Returns the shape of an instruction whose result is one array.
    pub fn array(&self, id: InstrId) -> Result<&ArrayShape> {
        self.instruction(id).shape.as_array().ok_or_else(|| self.error(id, "is not an array"))
    }

    /// Returns the shape of an operand whose result is one array.
    pub fn operand_array(&self, id: InstrId, k: usize) -> Result<&ArrayShape> {
        match self.instruction(id).operands.get(k) {
            Some(&operand) => self.array(operand),
            None => Err(self.error(id, format!("operand {k} is missing"))),
        }
    }

    /// Returns the scalar types of an instruction's leaves.
    pub fn leaf_types(&self, id: InstrId) -> Vec<Type> {
        let leaves = self.instruction(id).shape.leaves();
        leaves.iter().filter_map(|leaf| leaf.as_array()).map(|array| Type::of_element(array.element_type)).collect()
    }
}

impl Recipe {
    /// Returns the value of an operand. `values` contains one value per read.
    pub fn of_operand<'v, V>(&self, operand: usize, values: &'v [V]) -> Option<&'v V> {
        self.operands.iter().position(|&known| known == operand).and_then(|at| values.get(at))
    }
}

/// Returns the dimensions that all leaves of a shape have. `None` if the leaves have different
/// dimensions.
pub fn leaf_dims(shape: &Shape) -> Option<&[i64]> {
    let leaves = shape.leaves();
    let first = leaves.first()?.as_array()?;
    let equal = |leaf: &&Shape| leaf.as_array().is_some_and(|array| array.dims == first.dims);
    leaves.iter().all(equal).then_some(first.dims.as_slice())
}
