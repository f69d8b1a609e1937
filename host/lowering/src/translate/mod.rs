//! From kernel IR to LLVM IR, in one walk.
//!
//! Index arithmetic is not translated where it stands but remembered as expressions ([`crate::indices`]) and
//! written where an address, a comparison or a loop bound needs it. Tensors become pointers: a chain of
//! `tensor.insert` writes in place. Floats that the target does not compute with are kept as their bits.

mod arith;
mod atomic;
mod control;
mod entry;
mod floats;
mod function;
mod index;
mod loops;
mod math;
mod memory;
mod narrow;
mod numbers;
mod rounding;
mod shuffle;
mod simt;
mod slot;
mod splitting;
mod threads;
mod traits;
mod vector;

use std::collections::{BTreeSet, HashMap};

use crate::error::{LoweringError, Unsupported};
use crate::llvm::{FastMath, Module, Ty, Val};
use crate::mlir::{Operation, source::Source};
use crate::{KernelSource, Target, math as library};
use function::Function;
use slot::Shape;
pub(crate) use traits::Traits;

/// A batch of kernels on its way to one LLVM module.
pub(crate) struct Translation {
    pub(crate) llvm: Module,
    pub(crate) traits: Traits,
    target: Target,
    /// Functions that have been called or defined, of all kernels and of the math library.
    functions: HashMap<Variant, Declared>,
    /// Math functions called and not yet defined.
    wanted: BTreeSet<&'static str>,
    /// Places of memory accesses, for the simulator.
    pub(crate) sites: Vec<String>,
    /// The kernel being translated writes past the caches.
    past_caches: bool,
    fast_math: HashMap<*const std::ffi::c_void, FastMath>,
}

/// A function by its name and what is known about the tensors it is called with.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Variant {
    name: String,
    tensors: Vec<Known>,
}

/// What is known about a tensor's memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Known {
    /// Guaranteed alignment of the pointer in bytes.
    alignment: u32,
    /// Never written while the kernel runs, by no one.
    invariant: bool,
    /// Whether accesses are reported to the simulator.
    reported: bool,
    /// Who else may access it meanwhile.
    reach: Reach,
}

/// The threads that may access a tensor's memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Reach {
    Thread,
    Block,
    Kernel,
}

impl From<&str> for Variant {
    fn from(name: &str) -> Self {
        Variant { name: name.to_owned(), tensors: Vec::new() }
    }
}

/// An LLVM function that stands for one of the IR.
#[derive(Clone)]
struct Declared {
    function: Val,
    signature: Ty,
    results: Vec<Shape>,
    defined: bool,
}

/// The kernel being translated.
struct Kernel<'s> {
    name: &'s str,
    symbols: HashMap<String, Operation>,
    /// Functions called and not yet defined.
    pending: Vec<(Operation, Variant)>,
    arguments: &'s [crate::Argument],
    blocks: u64,
    threads: u32,
    /// Shared memory that the plan asks for, in bytes, and what tiles take of it.
    shared_bytes: u64,
    shared_taken: u64,
    /// Bytes of tensors on the stack of a thread.
    stack_taken: u64,
    /// Operations that have been written, each as often as it is.
    written: u64,
}

impl Translation {
    pub(crate) fn new(llvm: Module, target: &Target, traits: Traits) -> Self {
        Translation {
            llvm,
            traits,
            target: target.clone(),
            functions: HashMap::new(),
            wanted: BTreeSet::new(),
            sites: Vec::new(),
            past_caches: false,
            fast_math: HashMap::new(),
        }
    }

    /// Adds one kernel, whose functions are in `source`.
    pub(crate) fn add_kernel(&mut self, kernel: &KernelSource, source: &Source) -> Result<(), LoweringError> {
        let symbols = symbols_of(source);
        let Some(&entry) = symbols.get(&kernel.entry) else {
            return Err(LoweringError::Invalid {
                kernel: kernel.entry.clone(),
                diagnostics: vec![crate::Diagnostic {
                    location: kernel.entry.clone(),
                    message: "there is no function of the kernel's name".into(),
                }],
            });
        };
        let mut state = Kernel {
            name: &kernel.entry,
            symbols,
            pending: Vec::new(),
            arguments: &kernel.arguments,
            blocks: kernel.launch.blocks,
            threads: kernel.launch.threads_per_block,
            shared_bytes: u64::from(kernel.shared_bytes),
            shared_taken: 0,
            stack_taken: 0,
            written: 0,
        };
        entry::translate(self, &mut state, entry)?;
        self.add_pending(&mut state)
    }

    /// Defines the math functions that kernels have called.
    pub(crate) fn add_math(&mut self) -> Result<(), LoweringError> {
        if self.wanted.is_empty() {
            return Ok(());
        }
        let wanted = std::mem::take(&mut self.wanted);
        let text = library::definitions(wanted.iter().copied(), self.traits.fused_multiply_add)
            .map_err(|error| LoweringError::Llvm(error.to_string()))?;
        let source = Source::parse_own("math library", &text)
            .map_err(|diagnostics| LoweringError::Invalid { kernel: "math library".into(), diagnostics })?;
        let symbols = symbols_of(&source);
        let pending =
            wanted.iter().filter_map(|symbol| Some((*symbols.get(*symbol)?, Variant::from(*symbol)))).collect();
        let mut state = Kernel {
            name: "math library",
            symbols,
            pending,
            arguments: &[],
            blocks: 1,
            threads: 1,
            shared_bytes: 0,
            shared_taken: 0,
            stack_taken: 0,
            written: 0,
        };
        self.add_pending(&mut state)
    }

    fn add_pending(&mut self, kernel: &mut Kernel<'_>) -> Result<(), LoweringError> {
        while let Some((function, variant)) = kernel.pending.pop() {
            Function::define(self, kernel, function, &variant)?;
        }
        Ok(())
    }

    /// The error for an operation.
    fn unsupported(&self, kernel: &Kernel<'_>, op: Operation, Unsupported(reason): Unsupported) -> LoweringError {
        LoweringError::Unsupported {
            kernel: kernel.name.to_owned(),
            operation: op.name().to_owned(),
            location: op.location(),
            target: self.target.to_string(),
            reason,
        }
    }
}

fn symbols_of(source: &Source) -> HashMap<String, Operation> {
    source
        .functions()
        .filter_map(|function| Some((function.attribute("sym_name")?.string()?.to_owned(), function)))
        .collect()
}
