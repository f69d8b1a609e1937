//! Builds kernels in the [kernel IR](crate::ir).
//!
//! ```text
//! FunctionBuilder ──records operations, computes their types──> finish() -> ir::Function
//! KernelBuilder   ──records a kernel's entry function──────────> finish() -> Kernel
//! ```
//!
//! [`ir::builder`](crate::ir::builder) explains how a builder reports mistakes.

use std::ops::{Deref, DerefMut};

use crate::emitter::{EmitError, Fusion, Kernel, KernelCode, SubgraphCall, SubgraphKind};
use crate::hlo::{ArrayShape, InstrId, Shape};
use crate::ir::symbol_part;

#[doc(inline)]
pub use crate::ir::builder::*;

/// Builder of a kernel's entry function. The arguments of the function are the fusion's parameters
/// and outputs. The numbers of the thread and the block are predefined values.
///
/// The builder dereferences to [`FunctionBuilder`]. Closures for loops and branches receive only
/// the function builder, which can call subgraph functions but cannot declare them. So declare
/// subgraph functions before you record loops and branches:
///
/// ```
/// use fusebox_core::builder::KernelBuilder;
/// use fusebox_core::emitter::{EmitError, Fusion, Kernel};
///
/// /// Builds a kernel with one thread per element of a one-dimensional result.
/// fn emit(fusion: &Fusion) -> Result<Kernel, EmitError> {
///     let mut kernel = KernelBuilder::new(fusion);
///     let roots = kernel.values(&fusion.roots);
///     let thread = kernel.thread();
///     let results = kernel.call_subgraph(&roots, &[thread], &[]);
///     let outputs: Vec<_> = kernel.outputs().to_vec();
///     let written: Vec<_> =
///         results.iter().zip(outputs).map(|(&result, out)| kernel.insert(result, out, &[thread])).collect();
///     kernel.finish(&written)
/// }
/// ```
pub struct KernelBuilder<'f> {
    fusion: &'f Fusion,
    function: FunctionBuilder,
    parameters: Vec<Value>,
    outputs: Vec<Value>,
    thread: Value,
    block: Value,
    calls: Vec<SubgraphCall>,
}

impl<'f> KernelBuilder<'f> {
    /// Creates the entry function of a fusion's kernel, with the fusion's name.
    #[track_caller]
    pub fn new(fusion: &'f Fusion) -> Self {
        let mut function = FunctionBuilder::new(&fusion.name);
        function.set_attribute("fusebox.entry", Attribute::Unit);
        let computation = fusion.computation();
        let mut arguments = |shapes: Vec<(&str, &Shape)>| -> Vec<Value> {
            shapes.into_iter().map(|(name, shape)| tensor_argument(&mut function, name, shape)).collect()
        };
        let instructions = |ids: &[InstrId]| -> Vec<(&'f str, &'f Shape)> {
            let leaves = |&id: &InstrId| {
                let instruction = computation.instruction(id);
                instruction.shape.leaves().into_iter().map(|leaf| (instruction.name.as_str(), leaf))
            };
            ids.iter().flat_map(leaves).collect()
        };
        let parameters = arguments(instructions(&computation.parameters()));
        let outputs = arguments(instructions(&fusion.roots));
        let (thread, block) = (function.thread_id(), function.block_id());
        KernelBuilder { fusion, function, parameters, outputs, thread, block, calls: Vec::new() }
    }

    /// Allows each thread to use all available registers. Call this method if each thread keeps
    /// many values and a core need not run several blocks at a time. If a kernel does not call
    /// `keep_many_values`, the compiler may spill values to memory so that more blocks fit on a
    /// core.
    pub fn keep_many_values(&mut self) {
        self.function.set_attribute("fusebox.many_registers", Attribute::Unit);
    }

    /// Returns the fusion's parameters as tensors.
    pub fn parameters(&self) -> &[Value] {
        &self.parameters
    }

    /// Returns the output tensors, one per leaf of the roots, in order.
    pub fn outputs(&self) -> &[Value] {
        &self.outputs
    }

    /// Returns the number of the thread in its block.
    pub fn thread(&self) -> Value {
        self.thread
    }

    /// Returns the number of the block.
    pub fn block(&self) -> Value {
        self.block
    }

    /// Declares a function that computes instructions of equal dimensions at one index.
    #[track_caller]
    pub fn values(&mut self, instructions: &[InstrId]) -> Subgraph {
        let rank = self.common_rank("values", instructions);
        let kind = SubgraphKind::Values { instructions: instructions.to_vec() };
        self.declare(kind, self.symbol_for("values", instructions), vec![Type::INDEX; rank], instructions)
    }

    /// Declares a function that computes roots of equal dimensions at one index. The caller passes
    /// the values of `heroes` as arguments.
    #[track_caller]
    pub fn epilogue(&mut self, roots: &[InstrId], heroes: &[InstrId]) -> Subgraph {
        let rank = self.common_rank("epilogue", roots);
        let kind = SubgraphKind::Epilogue { roots: roots.to_vec(), heroes: heroes.to_vec() };
        let arguments = [vec![Type::INDEX; rank], self.leaf_types(heroes)].concat();
        self.declare(kind, self.symbol_for("epilogue", roots), arguments, roots)
    }

    /// Declares a function for the computation that a reduce, scatter, … applies. The function
    /// takes and returns scalars.
    #[track_caller]
    pub fn combiner(&mut self, instruction: InstrId) -> Subgraph {
        let name = format!("combiner of {}", self.fusion.computation().instruction(instruction).name);
        let applied = self.fusion.computation().instruction(instruction).op.applied();
        let (mut arguments, mut results) = (Vec::new(), Vec::new());
        match applied.map(|id| self.fusion.module.computation(id)) {
            None => _ = self.refuse(&name, "the instruction applies no computation"),
            Some(applied) => {
                let types = |ids: &[InstrId]| -> Vec<Type> {
                    let shapes = ids.iter().flat_map(|&id| applied.instruction(id).shape.leaves());
                    shapes.filter_map(Shape::as_array).map(|a| Type::of_element(a.element_type)).collect()
                };
                arguments = types(&applied.parameters());
                results = types(&[applied.root]);
            }
        }
        let symbol = self.symbol_for("combiner", &[instruction]);
        self.calls.push(SubgraphCall { symbol: symbol.clone(), kind: SubgraphKind::Combiner { instruction } });
        Subgraph::new(symbol, Vec::new(), arguments, results)
    }

    /// Finishes the kernel. The kernel returns the tensors `written`, which are the outputs after
    /// all writes.
    ///
    /// # Errors
    /// Returns the first misuse of the builder. The types of `written` must not differ from the
    /// types of the outputs.
    #[track_caller]
    pub fn finish(mut self, written: &[Value]) -> Result<Kernel, EmitError> {
        let (found, wanted) = (self.types_of(written), self.types_of(&self.outputs));
        if found != wanted {
            let message = format!("{} values returned, not one per output with its type", written.len());
            self.refuse(OpKind::Return, message);
        }
        self.function.ret(written);
        let code = KernelCode::Function(self.function.finish()?);
        Ok(Kernel { code, calls: self.calls })
    }

    #[track_caller]
    fn declare(&mut self, kind: SubgraphKind, symbol: String, arguments: Vec<Type>, returned: &[InstrId]) -> Subgraph {
        let known = self.calls.iter().find(|call| call.kind == kind).map(|call| call.symbol.clone());
        let symbol = known.unwrap_or_else(|| {
            self.calls.push(SubgraphCall { symbol: symbol.clone(), kind });
            symbol
        });
        Subgraph::new(symbol, self.parameters.clone(), arguments, self.leaf_types(returned))
    }

    /// Returns the symbol `<kernel>.<what>.<first instruction>`, with a number appended if another
    /// call uses this symbol.
    fn symbol_for(&self, what: &str, instructions: &[InstrId]) -> String {
        let subject = instructions.first().map_or("none", |&id| &self.fusion.computation().instruction(id).name);
        let base = format!("{}.{what}.{}", self.fusion.name, symbol_part(subject, '_'));
        let taken = |symbol: &str| self.calls.iter().any(|call| call.symbol == symbol);
        if !taken(&base) {
            return base;
        }
        // There is one more candidate than calls, so at least one candidate is unused.
        let mut candidates = (1..=self.calls.len() + 1).map(|i| format!("{base}.{i}"));
        candidates.find(|symbol| !taken(symbol)).unwrap_or(base)
    }

    #[track_caller]
    fn common_rank(&mut self, what: &str, instructions: &[InstrId]) -> usize {
        let computation = self.fusion.computation();
        let mut dims = instructions.iter().map(|&id| leaf_arrays(&computation.instruction(id).shape));
        let first = dims.next().and_then(|leaves| leaves.first().map(|leaf| leaf.dims.clone()));
        let equal = instructions
            .iter()
            .flat_map(|&id| leaf_arrays(&computation.instruction(id).shape))
            .all(|leaf| Some(&leaf.dims) == first.as_ref());
        if !equal || first.is_none() {
            let names: Vec<&str> = instructions.iter().map(|&id| computation.instruction(id).name.as_str()).collect();
            self.refuse(what, format!("instructions ({}) do not have equal dimensions", names.join(", ")));
        }
        first.map_or(0, |dims| dims.len())
    }

    fn leaf_types(&self, instructions: &[InstrId]) -> Vec<Type> {
        let computation = self.fusion.computation();
        let leaves = instructions.iter().flat_map(|&id| leaf_arrays(&computation.instruction(id).shape));
        leaves.map(|leaf| Type::of_element(leaf.element_type)).collect()
    }
}

fn leaf_arrays(shape: &Shape) -> Vec<&ArrayShape> {
    shape.leaves().into_iter().filter_map(Shape::as_array).collect()
}

#[track_caller]
fn tensor_argument(function: &mut FunctionBuilder, name: &str, shape: &Shape) -> Value {
    match shape {
        Shape::Array(array) => function.argument(Type::of_array(array)),
        _ => function.refuse("func.func", format!("{name} is no array; a kernel takes and gives arrays only")),
    }
}

impl Deref for KernelBuilder<'_> {
    type Target = FunctionBuilder;
    fn deref(&self) -> &FunctionBuilder {
        &self.function
    }
}

impl DerefMut for KernelBuilder<'_> {
    fn deref_mut(&mut self) -> &mut FunctionBuilder {
        &mut self.function
    }
}

impl From<BuildError> for EmitError {
    fn from(error: BuildError) -> EmitError {
        EmitError { message: error.to_string(), instruction: None }
    }
}
