//! The stages between the kernel IR and LLVM IR. Each stage is a pass that handles one aspect of
//! the kernel.
//!
//! ```text
//! kernel    as the emitter and the host's emission wrote it
//! inlined   equal operations merged, small subgraph functions inlined
//! memory    tensors are pointers; every access has an address, its alignment and other known facts
//! loops     loops over maps are nests of scf.for, unrolled, or split where conditions then vanish
//! indices   maps are integer arithmetic, simplified by ranges, in 32 bits where they suffice
//! scalars   narrow floats are integers, complex numbers two floats, functions calls of the math library
//! ```
//!
//! The output of each stage is kernel IR too. The text of the output is MLIR, which can be parsed
//! again. [`crate::lower`] can resume lowering from the text of any stage.

mod indices;
mod inline;
mod lanes;
mod loops;
mod memory;
mod merge;
pub(crate) mod rewrite;
pub(crate) mod scalars;
pub(crate) mod tracker;
pub(crate) mod writer;

use std::collections::BTreeSet;
use std::sync::Arc;

use fusebox_core::indexing::IndexingMap;
use fusebox_core::ir::{Attribute, Function, OpKind, Operation, Place, Type, Value};

pub(crate) use fusebox_core::ir::operations::Form;
pub(crate) use indices::is_division;
pub(crate) use lanes::{Surroundings, moves_memory};
pub(crate) use rewrite::Stage;

use crate::Stage as Step;
use crate::error::{Done, LoweringError, Unsupported};
use crate::math as library;
use crate::targets::TargetInfo;

/// A kernel's name, arguments and launch.
pub(crate) struct Facts<'k> {
    pub(crate) name: &'k str,
    pub(crate) arguments: &'k [crate::Argument],
    pub(crate) blocks: u64,
    pub(crate) threads: u32,
    /// Shared memory that the plan requests, in bytes.
    pub(crate) shared_bytes: u64,
    /// Lines of the user's program from which the HLO instructions come. `None` for the math
    /// library.
    pub(crate) origins: Option<&'k crate::Origins>,
}

impl Facts<'_> {
    /// Returns the number of different values of a block id or thread id. Returns `None` for a
    /// dimension that grids do not have.
    fn id_count(&self, op: &Operation) -> Option<i64> {
        let x = op.attribute("dimension").is_some_and(|dimension| dimension.to_string().contains("dim x"));
        x.then(|| match op.kind {
            OpKind::ThreadId => i64::from(self.threads),
            _ => i64::try_from(self.blocks).unwrap_or(i64::MAX),
        })
    }
}

/// The functions of one kernel at some stage. The entry function comes first.
#[derive(Clone)]
pub(crate) struct KernelFunctions {
    pub(crate) functions: Vec<Function>,
}

/// Reason why a stage failed, and the operation at which it failed.
pub(crate) struct StageError {
    operation: String,
    place: Place,
    reason: Unsupported,
}

impl StageError {
    pub(crate) fn new(op: Option<&Operation>, reason: Unsupported) -> Self {
        match op {
            Some(op) => StageError { operation: op.kind.name().into(), place: op.place.clone(), reason },
            None => StageError { operation: "func.func".into(), place: Place::default(), reason },
        }
    }

    pub(crate) fn in_kernel(self, facts: &Facts<'_>, target: &TargetInfo) -> LoweringError {
        LoweringError::Unsupported {
            kernel: facts.name.to_owned(),
            operation: self.operation,
            location: self.place.to_string(),
            target: target.device.name.clone(),
            reason: self.reason.0,
        }
    }
}

impl KernelFunctions {
    fn entry(&self) -> &Function {
        &self.functions[0]
    }

    /// Rewrites each function with `write`, which also gets the function's number.
    fn each(
        &self,
        mut write: impl FnMut(usize, &Function) -> Result<Function, StageError>,
    ) -> Result<KernelFunctions, StageError> {
        let functions = self.functions.iter().enumerate().map(|(number, function)| write(number, function));
        Ok(KernelFunctions { functions: functions.collect::<Result<_, _>>()? })
    }

    /// Returns all functions as MLIR text, including the functions of the math library that they
    /// call, so that the text is complete.
    pub(crate) fn text(&self, target: &TargetInfo) -> String {
        let own = |name: &str| self.functions.iter().any(|function| function.name == name);
        let mut called = BTreeSet::new();
        for function in &self.functions {
            function.body.walk(&mut |op| called.extend(op.callee().and_then(library::symbol).filter(|it| !own(it))));
        }
        let printed = |function: &Function| {
            let mut function = function.clone();
            function.renumber();
            function.to_string()
        };
        let library = library::definitions(called, target.math).unwrap_or_default();
        let library = library.iter().filter_map(|function| scalars::lowered(function, target).ok());
        let library: Vec<Function> = library.collect();
        self.functions.iter().chain(&library).map(printed).collect()
    }
}

/// Lowers the kernel from the preceding stage to `to`.
pub(crate) fn advance(
    kernel: KernelFunctions,
    to: Step,
    facts: &Facts<'_>,
    target: &TargetInfo,
) -> Result<KernelFunctions, StageError> {
    match to {
        Step::Inlined => Ok(inlined(kernel, target)),
        Step::Memory => memory::lower(&kernel, facts, target),
        Step::Loops => loops::lower(&kernel, facts, target),
        Step::Indices => indices::lower(&kernel, facts, target),
        Step::Scalars => scalars::lower(&kernel, target),
        Step::Kernel | Step::LlvmDialect | Step::LlvmUnoptimized | Step::Llvm | Step::Assembly => Ok(kernel),
    }
}

fn inlined(mut kernel: KernelFunctions, target: &TargetInfo) -> KernelFunctions {
    kernel.functions.iter_mut().for_each(merge::merge);
    let small = if target.is_gpu() { inline::SMALL_ON_GPU } else { inline::SMALL };
    inline::inline_calls(&mut kernel.functions, small);
    inline::drop_uncalled(&mut kernel.functions);
    kernel.functions.iter_mut().for_each(Function::renumber);
    kernel
}

pub(crate) fn map_of(op: &Operation) -> Done<Arc<IndexingMap>> {
    match op.attribute("map") {
        Some(Attribute::Map(map)) => Ok(Arc::clone(map)),
        _ => Unsupported::because("it has no map"),
    }
}

/// Checks that the entry function's arguments are the kernel's buffers.
fn check_arguments(entry: &Function, facts: &Facts<'_>) -> Done {
    let given = entry.body.arguments.len();
    if given != facts.arguments.len() {
        return Unsupported::because(format!(
            "the entry function has {given} arguments, the kernel is described with {}",
            facts.arguments.len()
        ));
    }
    if facts.arguments.iter().any(|argument| !argument.alignment.is_power_of_two()) {
        return Unsupported::because("the alignment of an argument is not a power of two");
    }
    for (&value, argument) in entry.body.arguments.iter().zip(facts.arguments) {
        let ty = entry.type_of(value);
        if !matches!(ty, Type::Tensor(..)) {
            return Unsupported::because("an argument of the entry function is no tensor");
        }
        if memory::tensor_bytes(ty)? > argument.bytes {
            return Unsupported::because(format!(
                "an argument is {ty}, which its {} bytes do not hold",
                argument.bytes
            ));
        }
    }
    Ok(())
}

/// Writes an atomic update with these operands. Rewrites the region of the update like any other
/// region.
fn copy_atomic<'s, S: Stage<'s>>(
    stage: &mut S,
    op: &'s Operation,
    operands: Vec<Value>,
    attributes: writer::Attributes,
) -> Done {
    let [body] = op.regions.as_slice() else { return Unsupported::because("it has no body") };
    let types = stage.rewriter().source_types(&body.arguments);
    let passed = stage.passed_all(&types)?;
    let arguments = stage.out().open(&passed);
    let slots = stage.slots_of(&types, &arguments, &vec![Vec::new(); types.len()])?;
    let new = stage.region(body, slots)?;
    let new = stage.values_all(&new)?;
    let region = stage.out().close_with(OpKind::LoopYield, new);
    stage.out().place = op.place.clone();
    stage.out().push(op.kind, operands, attributes, &[], vec![region]);
    Ok(())
}
