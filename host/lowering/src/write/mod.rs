//! Writes the lowest form of the kernel IR as LLVM IR. Each operation becomes an instruction, a
//! call, or blocks.

mod arith;
mod atomic;
mod composite;
mod control;
mod entry;
mod function;
mod lines;
mod math;
mod memory;
mod simulator;
mod tile;
mod vector;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fusebox_core::ir::{Function, Operation};

use crate::Origins;
use crate::error::{LoweringError, Unsupported};
use crate::hints::only_reads;
use crate::llvm::{Module, Ty, Val};
use crate::math as library;
use crate::math_versions::Definitions;
use crate::stages::{Facts, KernelFunctions, StageError};
use crate::targets::TargetInfo;
use function::Body;
use math::VectorFunction;

/// State of the translation of a batch of kernels to one LLVM module.
pub(crate) struct Translation<'t> {
    pub(crate) llvm: Module,
    target: &'t TargetInfo,
    /// Kernels that are already written, and that composites may call. The key is the kernel's
    /// name.
    callees: HashMap<String, Callee>,
    /// Functions of the current kernel.
    own: HashMap<String, Declared>,
    /// Functions of the simulator that are already declared.
    shared: HashMap<&'static str, Declared>,
    /// Functions of the math library that kernels use. The key consists of the function's name and
    /// a flag, which is `true` for a called function and `false` for an inlined function.
    math: BTreeMap<(&'static str, bool), Declared>,
    /// Functions of the math library in the lowest form of kernel IR.
    definitions: Definitions<'t>,
    /// Math functions whose vector versions are declared. `add_vector_math` writes the bodies of
    /// the vector versions after LLVM's vectoriser has run.
    vector_math: Vec<VectorFunction>,
    /// The math functions that the current kernel calls. The kernel inlines all other math
    /// functions that it uses.
    called: BTreeSet<&'static str>,
    /// Locations of operations that report to the simulator.
    pub(crate) sites: Vec<String>,
    /// Whether the current kernel has non-temporal stores.
    past_caches: bool,
    /// Number of rows, and bytes of a row, of the current kernel's tile registers.
    tile_shape: Option<[i64; 2]>,
    /// The lines of the user's program from which the current kernel's HLO instructions come.
    origins: Origins,
}

/// A kernel that composites may call.
#[derive(Clone)]
struct Callee {
    /// A function whose parameters are the buffers, the id of a block and the id of a thread.
    body: Val,
    signature: Ty,
    arguments: usize,
    blocks: u64,
    threads: u32,
    /// Whether the kernel has non-temporal stores, for which callers must wait.
    past_caches: bool,
    /// Number of operations of all functions of the kernel.
    operations: usize,
    /// Whether the kernel is also called from outside of composites.
    is_visible: bool,
}

/// An LLVM function.
#[derive(Clone)]
struct Declared {
    function: Val,
    signature: Ty,
    results: usize,
}

/// Value of LLVM's attribute `memory` for functions that only read memory through their arguments.
/// LLVM merges equal calls of functions with this attribute.
const READS_ARGUMENTS: u64 = 1;

type Outcome<'s> = Result<(), (Option<&'s Operation>, Unsupported)>;

impl<'t> Translation<'t> {
    pub(crate) fn new(llvm: Module, target: &'t TargetInfo) -> Self {
        Translation {
            llvm,
            target,
            callees: HashMap::new(),
            own: HashMap::new(),
            shared: HashMap::new(),
            math: BTreeMap::new(),
            definitions: Definitions::new(target),
            vector_math: Vec::new(),
            called: BTreeSet::new(),
            sites: Vec::new(),
            past_caches: false,
            tile_shape: None,
            origins: Origins::default(),
        }
    }

    /// Writes a kernel. Only composites can call a kernel that is not visible.
    pub(crate) fn add_kernel(
        &mut self,
        kernel: &KernelFunctions,
        facts: &Facts<'_>,
        is_visible: bool,
    ) -> Result<(), LoweringError> {
        let target = self.target;
        let failed = |(op, reason)| StageError::new(op, reason).in_kernel(facts, target);
        let Some((entry, callees)) = kernel.functions.split_first() else { return Ok(()) };
        // A text may contain functions of the math library. These are written once for all kernels.
        let callees: Vec<&Function> = callees.iter().filter(|callee| library::symbol(&callee.name).is_none()).collect();
        self.own.clear();
        self.tile_shape = None;
        self.origins = facts.origins.cloned().unwrap_or_default();
        self.called = self.definitions.called(kernel)?;
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
            self.llvm.begin_lines(declared.function, &callee.name);
            self.define(callee, &declared).map_err(failed)?;
        }
        self.llvm.end_lines();
        Ok(())
    }

    /// Records a kernel that the lowering `mlir` has already written to the module, so that
    /// composites may call the kernel. `body` is the LLVM function with the kernel's operations.
    pub(crate) fn adopt_kernel(
        &mut self,
        kernel: &KernelFunctions,
        facts: &Facts<'_>,
        is_visible: bool,
        (body, past_caches): (Val, bool),
    ) {
        let (pointer, word) = (self.llvm.pointer(0), self.llvm.int(64));
        let arguments = facts.arguments.len();
        let parameters = [vec![pointer; arguments], vec![word; 2]].concat();
        let callee = Callee {
            body,
            signature: self.llvm.signature(self.llvm.void(), &parameters),
            arguments,
            blocks: facts.blocks,
            threads: facts.threads,
            past_caches,
            operations: kernel.functions.iter().map(Function::size).sum(),
            is_visible,
        };
        self.callees.insert(facts.name.to_owned(), callee);
    }

    /// Writes a function's body.
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
        // LLVM must not inline the functions that remain after `stages/inline.rs`. Suppose that
        // each function in a chain calls the next function twice. The time of LLVM's inliner would
        // then be exponential in the length of the chain.
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
