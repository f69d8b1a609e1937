//! Cuts a computation into functions so that no value is computed twice and the code's size is
//! linear in the number of instructions.
//!
//! ```text
//! calls of a kernel ──users before operands──> per instruction: its site (function, scope, index)
//!                                              per function: scopes, results
//! ```
//!
//! An instruction belongs to exactly one function. An instruction joins the function of its users
//! if two conditions hold: all users read the instruction at the same index from scopes of this
//! function, and one scope can compute the value for all users. An instruction that does not meet
//! both conditions starts a separate function, which the users call. A *scope* is a region of a
//! function where values are available: the function's body, the body of a loop, a branch.
//! Constants, iotas, parameters, and broadcasts of scalar constants or parameters have no site:
//! every reader writes them inline.
//!
//! Worked example: in `slice(x)[0:2] + slice(x)[1:3]` a computed `x` is read at `i` and at `i + 1`,
//! so `x` becomes a function with two calls. In `exp(x) + neg(exp(x))` all instructions join one
//! function.

use std::collections::HashSet;

use fusebox_core::hlo::{Computation, InstrId, Module};
use fusebox_core::ir::symbol_part;

use super::{Demand, InstructionRead, InstructionSite, Partition, PartitionFunction, leaf_dims};
use crate::EmissionError;
use crate::error::Result;
use crate::index::{IndexId, IndexTable};
use crate::scope::{FunctionId, Scope, ScopeId, ScopeKind};

/// A function that code outside of the partition calls.
pub struct FunctionRequest {
    pub symbol: String,
    /// The function returns the values of these instructions, which all have equal dimensions.
    pub instructions: Vec<InstrId>,
}

/// Largest number of instructions of a function. The time of LLVM's passes is not linear in the
/// size of a function, so a large function is cut into several. A function is cut only at an
/// instruction that a single scope reads. If a function were cut at instructions that several
/// scopes read, several functions would compute the same values, and each further cut would double
/// this work.
const MAX_INSTRUCTIONS: u32 = 1000;
/// Largest depth of a scope in which instructions are computed. An instruction whose readers are in
/// deeper scopes is computed in an outer scope. If only the conditions of the deeper scopes keep
/// the instruction's index within bounds, another function computes the instruction.
const MAX_DEPTH: u32 = 24;

impl<'m> Partition<'m> {
    /// Partitions the instructions that the requested functions need.
    ///
    /// Each function that is not requested gets a name that begins with `prefix` and is not in
    /// `used_names`.
    ///
    /// # Errors
    /// If an instruction cannot be computed element by element.
    pub fn new(
        module: &'m Module,
        computation: &'m Computation,
        requests: &[FunctionRequest],
        injected: &[InstrId],
        prefix: &str,
        used_names: &HashSet<String>,
    ) -> Result<Self> {
        let n = computation.instructions.len();
        let mut partition = Partition {
            module,
            computation,
            injected: injected.iter().copied().collect(),
            functions: Vec::new(),
            scopes: Vec::new(),
            indices: IndexTable::default(),
            sites: vec![None; n],
            recipes: (0..n).map(|_| None).collect(),
            demands: vec![Demand::Unread; n],
            prefix: prefix.to_owned(),
            symbols: used_names.clone(),
        };
        for request in requests {
            partition.request(request)?;
        }
        for id in computation.ids().rev() {
            partition.place(id)?;
        }
        Ok(partition)
    }

    fn request(&mut self, request: &FunctionRequest) -> Result<()> {
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

    /// Assigns a site to an instruction whose readers are all known, and records its reads.
    fn place(&mut self, id: InstrId) -> Result<()> {
        let site = match self.take_demand(id) {
            Demand::Unread => return Ok(()),
            Demand::At { scope, token, by_one } => match self.with_room(id, scope, &token, by_one) {
                Some(scope) => InstructionSite { function: self.scope(scope).function, scope, token },
                None => self.own_function(id)?,
            },
            Demand::Scattered => self.own_function(id)?,
        };
        self.functions[site.function.0 as usize].instructions += 1;
        self.sites[id.index()] = Some(site.clone());
        self.recipes[id.index()] = Some(self.recipe(id, &site)?);
        Ok(())
    }

    /// Returns the scope in which to compute an instruction that readers in `scope` need. The scope
    /// is `scope` itself or, if `scope` is nested deeply, the outermost possible scope. Returns
    /// `None` if the instruction needs another function.
    fn with_room(&self, id: InstrId, scope: ScopeId, token: &[IndexId], by_one: bool) -> Option<ScopeId> {
        let is_shallow = |scope: ScopeId| self.scope(scope).depth < MAX_DEPTH;
        // A function that was just started always takes its first instruction.
        let function = self.function(self.scope(scope).function);
        if function.instructions >= MAX_INSTRUCTIONS && function.pending == 0 && by_one {
            return None;
        }
        // A separate function would recompute values that outer scopes read as well. In a chain,
        // each instruction would double this work.
        let scope = if is_shallow(scope) { scope } else { self.outermost(id, scope, token) };
        is_shallow(scope).then_some(scope)
    }

    fn own_function(&mut self, id: InstrId) -> Result<InstructionSite> {
        let instruction = self.instruction(id);
        let dims = leaf_dims(&instruction.shape).ok_or_else(|| {
            EmissionError::at(self.module, instruction, "leaves of different dimensions cannot share an index")
        })?;
        let symbol = self.fresh_symbol(&instruction.name);
        let function = self.add_function(symbol, dims.to_vec());
        let (scope, token) = (self.function(function).body, self.arguments(function));
        let read = InstructionRead { instruction: id, scope, token: token.clone() };
        self.functions[function.0 as usize].results = vec![read];
        Ok(InstructionSite { function, scope, token })
    }

    fn add_function(&mut self, symbol: String, dims: Vec<i64>) -> FunctionId {
        let function = FunctionId(self.functions.len() as u32);
        let body = self.push_scope(Scope { function, parent: None, depth: 0, kind: ScopeKind::Body });
        self.functions.push(PartitionFunction { symbol, body, dims, results: Vec::new(), instructions: 0, pending: 0 });
        function
    }

    fn fresh_symbol(&mut self, name: &str) -> String {
        let base = format!("{}.{}", self.prefix, symbol_part(name, '.'));
        let mut symbol = base.clone();
        let mut number = 1;
        while !self.symbols.insert(symbol.clone()) {
            number += 1;
            symbol = format!("{base}_{number}");
        }
        symbol
    }
}
