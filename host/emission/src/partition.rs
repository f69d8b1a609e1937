//! Cuts a computation into functions so that nothing is computed twice and code stays linear.
//!
//! ```text
//! calls of a kernel ──users before operands──> per instruction: its site (function, scope, index)
//!                                              per function: scopes, results
//! ```
//!
//! An instruction belongs to exactly one function. It joins the function of its users if all of them
//! read it at the same index from scopes that have a common one; otherwise it starts its own function,
//! which the readers call. A *scope* is a place in a function where values are available: its body, the
//! body of a loop, a branch. Constants, iotas, parameters and broadcasts of such scalars have no site:
//! every reader writes them in place.
//!
//! Worked example: in `slice(x)[0:2] + slice(x)[1:3]` a computed `x` is read at `i` and at `i + 1`, so it
//! becomes a function with two calls; in `exp(x) + neg(exp(x))` everything joins one function.

use std::collections::HashSet;

use fusebox_core::builder::Type;
use fusebox_core::hlo::{Computation, InstrId, Instruction, Module, Op, Shape};
use fusebox_core::indexing::Interval;

use crate::EmissionError;
use crate::access::Recipe;
use crate::error::Result;
use crate::index::{Atom, IndexId, Indices, Token};

/// Number of a function of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// Number of a scope of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScopeId(pub u32);

/// A place where values are available.
pub struct Scope {
    pub function: FunctionId,
    /// The scope around it; `None` for a function's body.
    pub parent: Option<ScopeId>,
    /// Number of scopes around it.
    pub depth: u32,
    pub kind: ScopeKind,
}

/// What makes a scope.
pub enum ScopeKind {
    Body,
    /// A nest of loops over ranges of these sizes that carries values of these types.
    Loop {
        sizes: Vec<i64>,
        state: Vec<Type>,
    },
    /// One side of a condition.
    Branch,
}

/// An instruction read at an index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Read {
    pub instruction: InstrId,
    pub scope: ScopeId,
    pub token: Token,
}

/// Where an instruction is computed.
#[derive(Clone, Debug)]
pub struct Site {
    pub function: FunctionId,
    pub scope: ScopeId,
    pub token: Token,
}

/// A function of a partition.
pub struct Function {
    pub symbol: String,
    /// Its outermost scope.
    pub body: ScopeId,
    /// Sizes of the dimensions that its index arguments range over.
    pub dims: Vec<i64>,
    pub results: Vec<Read>,
    pub instructions: u32,
}

/// A function that someone outside calls.
pub struct Request {
    pub symbol: String,
    /// Instructions of equal dimensions whose values it returns.
    pub instructions: Vec<InstrId>,
}

/// Functions larger than this are continued in another function: compile time of a function is not
/// linear everywhere behind us.
const MAX_INSTRUCTIONS: u32 = 1000;
/// Scopes nested deeper than this are continued in another function.
const MAX_DEPTH: u32 = 24;

/// How a computation is cut into functions.
pub struct Partition<'m> {
    pub module: &'m Module,
    pub computation: &'m Computation,
    /// Instructions whose values are given, not computed.
    pub injected: HashSet<InstrId>,
    pub functions: Vec<Function>,
    pub scopes: Vec<Scope>,
    pub indices: Indices,
    /// Per instruction; `None` if nobody reads it or it is written in place.
    pub sites: Vec<Option<Site>>,
    /// Per instruction with a site, how it reads its operands.
    pub recipes: Vec<Option<Recipe>>,
    demands: Vec<Demand>,
    prefix: String,
    symbols: HashSet<String>,
}

/// What is known of the readers of an instruction.
#[derive(Clone)]
enum Demand {
    Unread,
    /// All can be served from this place.
    At {
        scope: ScopeId,
        token: Token,
    },
    /// They need different indices.
    Scattered,
}

impl<'m> Partition<'m> {
    /// Partitions what the requested functions need.
    ///
    /// `prefix` starts the names of further functions; `taken` are names not to be used for them.
    ///
    /// # Errors
    /// If an instruction cannot be computed element by element.
    pub fn new(
        module: &'m Module,
        computation: &'m Computation,
        requests: &[Request],
        injected: &[InstrId],
        prefix: &str,
        taken: &HashSet<String>,
    ) -> Result<Self> {
        let n = computation.instructions.len();
        let mut partition = Partition {
            module,
            computation,
            injected: injected.iter().copied().collect(),
            functions: Vec::new(),
            scopes: Vec::new(),
            indices: Indices::default(),
            sites: vec![None; n],
            recipes: (0..n).map(|_| None).collect(),
            demands: vec![Demand::Unread; n],
            prefix: prefix.to_owned(),
            symbols: taken.clone(),
        };
        for request in requests {
            partition.request(request)?;
        }
        for id in computation.ids().rev() {
            partition.place(id)?;
        }
        Ok(partition)
    }

    pub fn instruction(&self, id: InstrId) -> &'m Instruction {
        self.computation.instruction(id)
    }

    pub fn scope(&self, id: ScopeId) -> &Scope {
        &self.scopes[id.0 as usize]
    }

    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.0 as usize]
    }

    /// Whether readers write the instruction in place.
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

    /// A scope inside another one.
    pub fn add_scope(&mut self, parent: ScopeId, kind: ScopeKind) -> ScopeId {
        let (function, depth) = (self.scope(parent).function, self.scope(parent).depth + 1);
        self.push_scope(Scope { function, parent: Some(parent), depth, kind })
    }

    /// The range variables of a loop scope.
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

    /// The body of the function that a scope belongs to.
    pub fn body_of(&self, scope: ScopeId) -> ScopeId {
        self.function(self.scope(scope).function).body
    }

    /// Notes that `scope` needs an instruction at an index. Loops that the index does not depend on are
    /// left; the read that results is returned.
    pub fn read(&mut self, instruction: InstrId, scope: ScopeId, token: Token) -> Read {
        let scope = self.hoist(scope, &token);
        if !self.is_inline(instruction) {
            let demand = std::mem::replace(&mut self.demands[instruction.index()], Demand::Scattered);
            self.demands[instruction.index()] = self.merge(demand, scope, &token);
        }
        Read { instruction, scope, token }
    }

    fn merge(&self, demand: Demand, scope: ScopeId, token: &Token) -> Demand {
        match demand {
            Demand::Unread => Demand::At { scope, token: token.clone() },
            Demand::At { scope: other, token: t } if t == *token => match self.common_scope(scope, other, token) {
                Some(scope) => Demand::At { scope, token: t },
                None => Demand::Scattered,
            },
            Demand::At { .. } | Demand::Scattered => Demand::Scattered,
        }
    }

    /// The scope from which two scopes of a function can be served. A value that is read behind two
    /// different conditions must not be computed without either, unless it has no index that could
    /// be out of bounds.
    fn common_scope(&self, a: ScopeId, b: ScopeId, token: &Token) -> Option<ScopeId> {
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
        (x == a || x == b || token.is_empty()).then_some(x)
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

    fn request(&mut self, request: &Request) -> Result<()> {
        let mut dims: Option<&[i64]> = None;
        for &id in &request.instructions {
            let found = leaf_dims(&self.instruction(id).shape).ok_or_else(|| {
                let name = &self.instruction(id).name;
                EmissionError::in_call(
                    &request.symbol,
                    format!("{name} is no array, nor a tuple of arrays of equal dimensions"),
                )
            })?;
            if dims.is_some_and(|dims| dims != found) {
                let message = "the instructions it is to compute have different dimensions";
                return Err(EmissionError::in_call(&request.symbol, message));
            }
            dims = Some(found);
        }
        let function = self.add_function(request.symbol.clone(), dims.unwrap_or_default().to_vec());
        let (body, token) = (self.function(function).body, self.arguments(function));
        let reads = request.instructions.iter().map(|&id| self.read(id, body, token.clone())).collect();
        self.functions[function.0 as usize].results = reads;
        Ok(())
    }

    /// Gives an instruction whose readers are all known its site, and notes what it reads.
    fn place(&mut self, id: InstrId) -> Result<()> {
        let site = match std::mem::replace(&mut self.demands[id.index()], Demand::Unread) {
            Demand::Unread => return Ok(()),
            Demand::At { scope, token } if self.has_room(scope) => {
                Site { function: self.scope(scope).function, scope, token }
            }
            Demand::At { .. } | Demand::Scattered => self.own_function(id)?,
        };
        self.functions[site.function.0 as usize].instructions += 1;
        self.sites[id.index()] = Some(site.clone());
        self.recipes[id.index()] = Some(self.recipe(id, &site)?);
        Ok(())
    }

    fn has_room(&self, scope: ScopeId) -> bool {
        let Scope { function, depth, .. } = *self.scope(scope);
        // A function that was just started always takes its first instruction.
        let instructions = self.function(function).instructions;
        depth < MAX_DEPTH && instructions < MAX_INSTRUCTIONS
    }

    fn own_function(&mut self, id: InstrId) -> Result<Site> {
        let instruction = self.instruction(id);
        let dims = leaf_dims(&instruction.shape).ok_or_else(|| {
            EmissionError::at(self.module, instruction, "leaves of different dimensions cannot share an index")
        })?;
        let symbol = self.fresh_symbol(&instruction.name);
        let function = self.add_function(symbol, dims.to_vec());
        let (scope, token) = (self.function(function).body, self.arguments(function));
        let read = Read { instruction: id, scope, token: token.clone() };
        self.functions[function.0 as usize].results = vec![read];
        Ok(Site { function, scope, token })
    }

    fn add_function(&mut self, symbol: String, dims: Vec<i64>) -> FunctionId {
        let function = FunctionId(self.functions.len() as u32);
        let body = self.push_scope(Scope { function, parent: None, depth: 0, kind: ScopeKind::Body });
        self.functions.push(Function { symbol, body, dims, results: Vec::new(), instructions: 0 });
        function
    }

    fn push_scope(&mut self, scope: Scope) -> ScopeId {
        let id = ScopeId(self.scopes.len() as u32);
        self.indices.register_scope(id, scope.depth);
        self.scopes.push(scope);
        id
    }

    /// The index arguments of a function.
    pub fn arguments(&mut self, function: FunctionId) -> Token {
        let Function { body, dims, .. } = self.function(function);
        let (body, dims) = (*body, dims.clone());
        let argument = |(dim, &size): (usize, &i64)| {
            let atom = Atom::Argument { function, dim: dim as u32 };
            self.indices.atom(atom, Interval::from_size(size), body)
        };
        dims.iter().enumerate().map(argument).collect()
    }

    fn fresh_symbol(&mut self, name: &str) -> String {
        let clean: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '_' }).collect();
        let base = format!("{}.{clean}", self.prefix);
        let mut symbol = base.clone();
        let mut number = 1;
        while !self.symbols.insert(symbol.clone()) {
            number += 1;
            symbol = format!("{base}_{number}");
        }
        symbol
    }
}

/// The dimensions that all leaves of a shape have.
pub fn leaf_dims(shape: &Shape) -> Option<&[i64]> {
    let leaves = shape.leaves();
    let first = leaves.first()?.as_array()?;
    let equal = |leaf: &&Shape| leaf.as_array().is_some_and(|array| array.dims == first.dims);
    leaves.iter().all(equal).then_some(first.dims.as_slice())
}
