//! The last form of the kernel IR written as LLVM IR, one to one: each operation is an instruction, a call, or blocks.

mod arith;
mod atomic;
mod composite;
mod control;
mod entry;
mod function;
mod memory;
mod simulator;
mod tile;
mod vector;

use std::collections::{BTreeSet, HashMap};

use fusebox_core::ir::{Effect, Function, OpKind, Operation};

use crate::error::{LoweringError, Unsupported};
use crate::llvm::{Module, Ty, Val};
use crate::math as library;
use crate::stages::{Facts, KernelFunctions, StageError, scalars};
use crate::targets::TargetInfo;
use composite::Callee;
use function::Body;

/// A batch of kernels on its way to one LLVM module.
pub(crate) struct Translation<'t> {
    pub(crate) llvm: Module,
    target: &'t TargetInfo,
    /// Kernels that are written, for composites to call.
    callees: HashMap<String, Callee>,
    /// Functions of the kernel being written.
    own: HashMap<String, Declared>,
    /// Functions of the math library and of the simulator that have been called.
    shared: HashMap<&'static str, Declared>,
    /// Math functions called and not yet defined.
    wanted: BTreeSet<&'static str>,
    /// Places of memory accesses, for the simulator.
    pub(crate) sites: Vec<String>,
    /// The kernel being written writes past the caches.
    past_caches: bool,
    /// Rows, and bytes of a row, of the kernel's tile registers.
    tile_shape: Option<[i64; 2]>,
}

/// An LLVM function.
#[derive(Clone)]
struct Declared {
    function: Val,
    signature: Ty,
    results: usize,
}

/// LLVM's number for functions that do nothing to memory but read what arguments point to: equal calls are made once.
const READS_ARGUMENTS: u64 = 1;

type Outcome<'s> = Result<(), (Option<&'s Operation>, Unsupported)>;

/// Whether all that a function does to memory is to read it, if those that it calls do no more.
fn only_reads(function: &Function) -> bool {
    let mut only_reads = true;
    function.body.walk(&mut |op| {
        only_reads &= matches!(op.kind, OpKind::Load | OpKind::Call)
            || !matches!(op.kind.effect(), Effect::Memory | Effect::Allocates);
    });
    only_reads
}

impl<'t> Translation<'t> {
    pub(crate) fn new(llvm: Module, target: &'t TargetInfo) -> Self {
        Translation {
            llvm,
            target,
            callees: HashMap::new(),
            own: HashMap::new(),
            shared: HashMap::new(),
            wanted: BTreeSet::new(),
            sites: Vec::new(),
            past_caches: false,
            tile_shape: None,
        }
    }

    /// Writes a kernel; one that is not visible is there for composites alone.
    pub(crate) fn add_kernel(
        &mut self,
        kernel: &KernelFunctions,
        facts: &Facts<'_>,
        is_visible: bool,
    ) -> Result<(), LoweringError> {
        let target = self.target;
        let failed = |(op, reason)| StageError::new(op, reason).in_kernel(facts, target);
        let Some((entry, callees)) = kernel.functions.split_first() else { return Ok(()) };
        // Those of the math library, which a text may bring along, are written once for all kernels.
        let callees: Vec<&Function> = callees.iter().filter(|callee| library::symbol(&callee.name).is_none()).collect();
        self.own.clear();
        self.tile_shape = None;
        for callee in &callees {
            self.declare(callee).map_err(|reason| failed((None, reason)))?;
        }
        if callees.iter().all(|callee| only_reads(callee)) {
            let declared = callees.iter().filter_map(|callee| self.own.get(&callee.name));
            declared.for_each(|it| self.llvm.add_attribute(it.function, u32::MAX, "memory", READS_ARGUMENTS));
        }
        entry::write(self, entry, facts, is_visible).map_err(failed)?;
        if let Some(callee) = self.callees.get_mut(facts.name) {
            callee.operations = kernel.functions.iter().map(Function::size).sum();
        }
        for callee in callees {
            let Some(declared) = self.own.get(&callee.name).cloned() else { continue };
            self.define(callee, &declared).map_err(failed)?;
        }
        Ok(())
    }

    /// Defines the math functions that kernels have called.
    pub(crate) fn add_math(&mut self) -> Result<(), LoweringError> {
        let wanted = std::mem::take(&mut self.wanted);
        if wanted.is_empty() {
            return Ok(());
        }
        let facts = Facts { name: "math library", arguments: &[], blocks: 1, threads: 1, shared_bytes: 0 };
        let definitions = library::definitions(wanted.iter().copied(), self.target.fused_multiply_add)
            .map_err(|error| LoweringError::Llvm(error.to_string()))?;
        for definition in &definitions {
            let lowered =
                scalars::lowered(definition, self.target).map_err(|error| error.in_kernel(&facts, self.target))?;
            let target = self.target;
            let Some(declared) = self.shared.get(definition.name.as_str()).cloned() else { continue };
            self.define(&lowered, &declared)
                .map_err(|(op, reason)| StageError::new(op, reason).in_kernel(&facts, target))?;
        }
        Ok(())
    }

    fn define<'s>(&mut self, function: &'s Function, declared: &Declared) -> Outcome<'s> {
        let start = self.llvm.add_block(declared.function);
        self.llvm.position_at_end(start);
        let mut body = Body::new(self, function, None);
        for (position, &argument) in function.body.arguments.iter().enumerate() {
            let parameter = body.llvm().parameter(declared.function, position);
            body.bind(argument, parameter);
        }
        body.returning(&function.body)
    }

    /// Declares a function of the kernel.
    fn declare(&mut self, function: &Function) -> Result<(), Unsupported> {
        let parameters = function.body.arguments.iter().map(|&argument| self.type_of(function.type_of(argument)));
        let parameters = parameters.collect::<Result<Vec<Ty>, Unsupported>>()?;
        let results = function.results.iter().map(|ty| self.type_of(ty)).collect::<Result<Vec<Ty>, Unsupported>>()?;
        let declared = self.declared(&function.name, &parameters, &results);
        // What inlining has left stays: a chain of functions that each call the next one twice would
        // take LLVM's inliner time exponential in its length.
        self.llvm.add_attribute(declared.function, u32::MAX, "noinline", 0);
        self.own.insert(function.name.clone(), declared);
        Ok(())
    }

    fn declared(&self, name: &str, parameters: &[Ty], results: &[Ty]) -> Declared {
        let llvm = &self.llvm;
        let result = match results {
            [] => llvm.void(),
            [ty] => *ty,
            types => llvm.structure(types),
        };
        let signature = llvm.signature(result, parameters);
        let function = llvm.add_function(name, signature, false);
        llvm.add_attribute(function, u32::MAX, "nounwind", 0);
        Declared { function, signature, results: results.len() }
    }
}
