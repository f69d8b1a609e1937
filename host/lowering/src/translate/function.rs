//! The state of translating one function, and the dispatch over operations.

use std::collections::HashMap;

use fusebox_core::indexing::Interval;
use fusebox_core::plugin::limits::MOST_WRITTEN;

use super::rounding::Rounding;
use super::slot::{Shape, Slot, Tensor};
use super::splitting::Splitting;
use super::{Declared, Kernel, Known, Reach, Translation, Variant};
use crate::error::{LoweringError, Unsupported};
use crate::indices::{Indices, Ix};
use crate::llvm::{Bb, Module, Ty, Val};
use crate::mlir::{Block, Operation, Type, Value, ValueKey};

/// Outcome of translating one operation.
pub(super) type Done<T = ()> = Result<T, Unsupported>;

/// One function while it is translated.
pub(super) struct Function<'t, 'k, 's> {
    pub(super) translation: &'t mut Translation,
    pub(super) kernel: &'k mut Kernel<'s>,
    values: HashMap<ValueKey, Slot>,
    pub(super) indices: Indices,
    /// LLVM values of index expressions, with the scope they were written in.
    pub(super) written: HashMap<(Ix, u32), (Val, u32)>,
    /// LLVM values of leaves.
    pub(super) leaves: HashMap<Ix, Val>,
    /// Scopes from the function to the current block; a value written in one of them is visible here.
    scopes: Vec<u32>,
    next_scope: u32,
    /// Where stack memory is reserved; ends with a branch to the function's first real block.
    reservations: Bb,
    /// The operation being translated.
    pub(super) current: Option<Operation>,
    pub(super) block_id: Option<Ix>,
    pub(super) thread_id: Option<Ix>,
    /// Copies of the current block that unrolling the loops around it makes.
    pub(super) copies: i64,
    /// Conditions decided by splitting loops.
    pub(super) splitting: Splitting,
    /// Tiles by the value that stands for them when they are made; one, however often it is met.
    pub(super) tiles: HashMap<ValueKey, Tensor>,
    pub(super) rounding: Rounding,
}

impl<'t, 'k, 's> Function<'t, 'k, 's> {
    pub(super) fn new(translation: &'t mut Translation, kernel: &'k mut Kernel<'s>, function: Val) -> Self {
        let reservations = translation.llvm.add_block(function);
        let start = translation.llvm.add_block(function);
        translation.llvm.position_at_end(start);
        Function {
            translation,
            kernel,
            values: HashMap::new(),
            indices: Indices::default(),
            written: HashMap::new(),
            leaves: HashMap::new(),
            scopes: vec![0],
            next_scope: 1,
            reservations,
            current: None,
            block_id: None,
            thread_id: None,
            copies: 1,
            splitting: Splitting::default(),
            tiles: HashMap::new(),
            rounding: Rounding::default(),
        }
    }

    /// Defines a function that has been declared by a call.
    pub(super) fn define(
        translation: &'t mut Translation,
        kernel: &'k mut Kernel<'s>,
        op: Operation,
        variant: &Variant,
    ) -> Result<(), LoweringError> {
        let declared = translation.functions.get_mut(variant).filter(|declared| !declared.defined);
        let (Some(declared), Some(body)) = (declared, op.block(0)) else { return Ok(()) };
        declared.defined = true;
        let declared = declared.clone();
        let mut function = Function::new(translation, kernel, declared.function);
        let done = function.body_of_callee(&declared, body, &variant.tensors);
        let failed = function.current.unwrap_or(op);
        done.map_err(|reason| translation.unsupported(kernel, failed, reason))
    }

    fn body_of_callee(&mut self, declared: &Declared, body: Block, tensors: &[Known]) -> Done {
        let start = self.llvm().current_block();
        let mut position = 0;
        let mut tensors = tensors.iter();
        for argument in body.arguments() {
            let shape = self.shape_of(&argument.ty())?;
            let values: Vec<Val> =
                (0..shape.width()).map(|part| self.llvm().parameter(declared.function, position + part)).collect();
            position += shape.width();
            let slot = match (&shape, tensors.as_slice().first()) {
                (Shape::Tensor, Some(known)) => {
                    tensors.next();
                    Slot::Tensor(Tensor::new(values[0], *known))
                }
                _ => self.slot_of(&shape, &values, None),
            };
            self.bind(argument, slot);
        }
        self.operations(body)?;
        let returned = self.terminator(body)?;
        let values = self.flattened(&returned)?;
        let result = self.packed(&declared.results, &values);
        self.llvm().return_value(result);
        self.finish(start);
        Ok(())
    }

    /// The function's first block in the order of control.
    pub(super) fn first_block(&self) -> Bb {
        self.reservations
    }

    /// Connects the block of reservations with the function's first real block.
    pub(super) fn finish(&mut self, start: Bb) {
        let reservations = self.reservations;
        self.llvm().position_at_end(reservations);
        self.llvm().branch(start);
    }

    fn packed(&self, shapes: &[Shape], values: &[Val]) -> Option<Val> {
        match values {
            [] => None,
            [value] => Some(*value),
            _ => {
                let llvm = self.llvm();
                let structure = llvm.structure(&self.types_of(shapes));
                let start = llvm.undefined(structure);
                Some(values.iter().enumerate().fold(start, |all, (at, &value)| llvm.with_field(all, value, at)))
            }
        }
    }

    /// `func.call` and `xla_gpu.pure_call`.
    pub(super) fn call(&mut self, op: Operation) -> Done {
        let Some(callee) = op.attribute("callee").and_then(|callee| callee.symbol()) else {
            return Unsupported::because("the callee is not a function's name");
        };
        let Some(&target) = self.kernel.symbols.get(callee) else {
            return Unsupported::because(format!("there is no function @{callee}"));
        };
        self.check_call(op, target, callee)?;
        let arguments: Vec<Slot> = op.operands().map(|operand| self.slot(operand)).collect::<Done<_>>()?;
        let shapes = op.results().map(|result| self.shape_of(&result.ty())).collect::<Done<Vec<_>>>()?;
        let values = self.flattened(&arguments)?;
        let tensors = arguments.iter().filter_map(|slot| match slot {
            Slot::Tensor(tensor) => Some(tensor.known),
            _ => None,
        });
        let variant = Variant { name: callee.to_owned(), tensors: tensors.collect() };
        let declared = match self.translation.functions.get(&variant) {
            Some(declared) => declared.clone(),
            None => {
                self.kernel.pending.push((target, variant.clone()));
                let parameters: Vec<Ty> = values.iter().map(|&value| self.llvm().type_of(value)).collect();
                let declared = self.declare(variant, &parameters, shapes);
                // What inlining has left stays: a chain of functions that each call the next one twice would
                // take LLVM's inliner time exponential in its length.
                self.llvm().add_attribute(declared.function, u32::MAX, "noinline", 0);
                declared
            }
        };
        let result = self.llvm().call(declared.signature, declared.function, &values);
        self.bind_results(op, &declared.results, result);
        Ok(())
    }

    /// The results of a function of scalars, whose body is written here.
    pub(super) fn applied(&mut self, callee: &str, arguments: &[Slot]) -> Done<Vec<Slot>> {
        let Some(body) = self.kernel.symbols.get(callee).and_then(|function| function.block(0)) else {
            return Unsupported::because(format!("there is no function @{callee} with a body"));
        };
        if body.argument_count() != arguments.len() {
            return Unsupported::because(format!(
                "the function @{callee} takes {} values, not {}",
                body.argument_count(),
                arguments.len()
            ));
        }
        for (argument, slot) in body.arguments().zip(arguments) {
            self.bind(argument, slot.clone());
        }
        let current = self.current;
        self.operations(body)?;
        self.current = current;
        self.terminator(body)
    }

    fn check_call(&self, op: Operation, target: Operation, callee: &str) -> Done {
        let Some(body) = target.block(0) else {
            return Unsupported::because(format!("the function @{callee} has no body"));
        };
        let wanted: Vec<Type> = body.arguments().map(|value| value.ty()).collect();
        let given: Vec<Type> = op.operands().map(|value| value.ty()).collect();
        let returned: Vec<Type> =
            body.terminator().map(|end| end.operands().map(|value| value.ty()).collect()).unwrap_or_default();
        let results: Vec<Type> = op.results().map(|value| value.ty()).collect();
        if wanted == given && returned == results {
            Ok(())
        } else {
            Unsupported::because(format!("operands or results differ from those of the function @{callee}"))
        }
    }

    pub(super) fn declare(&mut self, variant: Variant, parameters: &[Ty], results: Vec<Shape>) -> Declared {
        let types = self.types_of(&results);
        let llvm = self.llvm();
        let result = match types.as_slice() {
            [] => llvm.void(),
            [ty] => *ty,
            types => llvm.structure(types),
        };
        let signature = llvm.signature(result, parameters);
        let function = llvm.add_function(&variant.name, signature, false);
        llvm.add_attribute(function, u32::MAX, "nounwind", 0);
        let declared = Declared { function, signature, results, defined: false };
        self.translation.functions.insert(variant, declared.clone());
        declared
    }

    fn bind_results(&mut self, op: Operation, shapes: &[Shape], result: Val) {
        let total: usize = shapes.iter().map(Shape::width).sum();
        let values: Vec<Val> =
            if total == 1 { vec![result] } else { (0..total).map(|at| self.llvm().field(result, at)).collect() };
        let mut rest = values.as_slice();
        for (value, shape) in op.results().zip(shapes) {
            let (mine, others) = rest.split_at(shape.width());
            rest = others;
            let slot = self.slot_of(shape, mine, None);
            self.bind(value, slot);
        }
    }

    pub(super) fn llvm(&self) -> &Module {
        &self.translation.llvm
    }

    pub(super) fn bind(&mut self, value: Value, slot: Slot) {
        self.values.insert(value.key(), slot);
    }

    pub(super) fn bind_plain(&mut self, op: Operation, value: Val) {
        self.bind(op.result(0), Slot::Plain(value));
    }

    pub(super) fn slot(&self, value: Value) -> Done<Slot> {
        let known = self.values.get(&value.key()).cloned();
        known.ok_or_else(|| Unsupported("it uses a value that is not available here".into()))
    }

    /// The LLVM value of an integer, float or vector.
    pub(super) fn plain(&self, value: Value) -> Done<Val> {
        match self.slot(value)? {
            Slot::Plain(value) => Ok(value),
            _ => Unsupported::because("an operand is no integer, float or vector"),
        }
    }

    pub(super) fn index(&self, value: Value) -> Done<Ix> {
        match self.slot(value)? {
            Slot::Index(ix) => Ok(ix),
            _ => Unsupported::because("an operand is no index"),
        }
    }

    pub(super) fn tensor(&self, value: Value) -> Done<Tensor> {
        match self.slot(value)? {
            Slot::Tensor(tensor) => Ok(tensor),
            _ => Unsupported::because("an operand is no tensor in memory"),
        }
    }

    /// Nesting depth of the current block.
    pub(super) fn depth(&self) -> u32 {
        self.scopes.len() as u32 - 1
    }

    pub(super) fn scope(&self) -> u32 {
        self.scopes.last().copied().unwrap_or(0)
    }

    pub(super) fn is_visible(&self, scope: u32) -> bool {
        self.scopes.binary_search(&scope).is_ok()
    }

    /// Runs `inside` in a scope of its own: what is written there is not reused after it.
    pub(super) fn scoped<T>(&mut self, inside: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(self.next_scope);
        self.next_scope += 1;
        let result = inside(self);
        self.scopes.pop();
        result
    }

    /// Runs `inside` where the function reserves stack memory.
    pub(super) fn in_reservations<T>(&mut self, inside: impl FnOnce(&mut Self) -> T) -> T {
        let here = self.llvm().current_block();
        let reservations = self.reservations;
        self.llvm().position_at_end(reservations);
        let result = inside(self);
        self.llvm().position_at_end(here);
        result
    }

    /// A leaf for a value that is available from the current scope on.
    pub(super) fn leaf(&mut self, value: Val, range: Interval) -> Ix {
        let depth = self.depth();
        let ix = self.indices.leaf(range, depth);
        self.leaves.insert(ix, value);
        ix
    }

    pub(super) fn shape_of(&self, ty: &Type) -> Done<Shape> {
        Ok(match ty {
            Type::Index => Shape::Index,
            Type::Tensor { .. } => Shape::Tensor,
            Type::Complex(part) => Shape::Complex(self.type_of(&Type::Float(*part))?),
            other => Shape::Plain(self.type_of(other)?),
        })
    }

    pub(super) fn types_of(&self, shapes: &[Shape]) -> Vec<Ty> {
        let of = |shape: &Shape| match shape {
            // Indices cross functions and blocks in full width: their range is not known on the other side.
            Shape::Index => vec![self.llvm().int(64)],
            Shape::Plain(ty) => vec![*ty],
            Shape::Complex(part) => vec![*part, *part],
            // Memory of buffers. Tiles lie elsewhere, and stay where they are.
            Shape::Tensor => vec![self.llvm().pointer(self.translation.traits.global_space)],
        };
        shapes.iter().flat_map(of).collect()
    }

    pub(super) fn flattened(&mut self, slots: &[Slot]) -> Done<Vec<Val>> {
        let mut values = Vec::with_capacity(slots.len());
        for slot in slots {
            match slot {
                Slot::Index(ix) => values.push(self.index_value(*ix, 64)),
                Slot::Plain(value) => values.push(*value),
                Slot::Complex(re, im) => values.extend([*re, *im]),
                Slot::Tensor(tensor) => values.push(tensor.pointer),
                Slot::Splat(_) => return Unsupported::because("a constant tensor leaves its function"),
            }
        }
        Ok(values)
    }

    /// The slot of this shape made of these values; a tensor takes its properties from `like`.
    pub(super) fn slot_of(&mut self, shape: &Shape, values: &[Val], like: Option<&Slot>) -> Slot {
        match shape {
            Shape::Index => Slot::Index(self.leaf(values[0], Interval::ALL)),
            Shape::Plain(_) => Slot::Plain(values[0]),
            Shape::Complex(_) => Slot::Complex(values[0], values[1]),
            Shape::Tensor => {
                let reported = self.translation.traits.reports_accesses;
                let unknown = Known { alignment: 1, invariant: false, reported, reach: Reach::Kernel };
                let known = if let Some(Slot::Tensor(tensor)) = like { tensor.known } else { unknown };
                Slot::Tensor(Tensor::new(values[0], known))
            }
        }
    }

    /// The LLVM type of an integer, float, index or vector.
    pub(super) fn type_of(&self, ty: &Type) -> Done<Ty> {
        let llvm = self.llvm();
        Ok(match ty {
            Type::Integer(bits) if *bits <= 64 => llvm.int(*bits),
            Type::Index => llvm.int(64),
            Type::Float(crate::mlir::FloatFormat::F32) => llvm.float(),
            Type::Float(crate::mlir::FloatFormat::F64) => llvm.double(),
            Type::Float(format) => llvm.int(8 * format.bytes()),
            Type::Vector { lanes, element } => llvm.vector(self.type_of(element)?, *lanes),
            other => return Unsupported::because(format!("values of type {other:?} are not handled")),
        })
    }

    /// Translates the operations of a block up to its terminator.
    pub(super) fn operations(&mut self, block: Block) -> Done {
        for op in block.operations() {
            if matches!(op.name(), "func.return" | "scf.yield" | "scf.condition" | "xla_gpu.yield") {
                self.current = Some(op);
                return Ok(());
            }
            self.single(op)?;
        }
        Ok(())
    }

    /// Translates one operation.
    pub(super) fn single(&mut self, op: Operation) -> Done {
        self.current = Some(op);
        self.count(lanes_of(op))?;
        self.operation(op)
    }

    /// Counts what is written: unrolled loops and combiners are written many times.
    pub(super) fn count(&mut self, operations: u64) -> Done {
        self.kernel.written = self.kernel.written.saturating_add(operations);
        if self.kernel.written > MOST_WRITTEN {
            return Unsupported::because(format!(
                "with this the kernel has more than {MOST_WRITTEN} operations, loops unrolled and functions inlined"
            ));
        }
        Ok(())
    }

    /// The slots of what a block's terminator hands on.
    pub(super) fn terminator(&mut self, block: Block) -> Done<Vec<Slot>> {
        let Some(end) = block.terminator() else { return Unsupported::because("a block has no terminator") };
        end.operands().map(|operand| self.slot(operand)).collect()
    }

    fn operation(&mut self, op: Operation) -> Done {
        let name = op.name();
        match name.split_once('.').map_or(name, |(dialect, _)| dialect) {
            "arith" => self.arith(op),
            "math" => self.math(op),
            "complex" => self.complex(op),
            "tensor" => self.tensor_operation(op),
            "scf" => self.control(op),
            "vector" => self.vector_operation(op),
            "gpu" => self.ids(op),
            "func" if name == "func.call" => self.call(op),
            "xla_gpu" => self.xla_gpu(op),
            _ => Unsupported::because("the operation is not part of the kernel IR"),
        }
    }

    fn xla_gpu(&mut self, op: Operation) -> Done {
        match op.name() {
            "xla_gpu.pure_call" => self.call(op),
            "xla_gpu.apply_indexing" => self.apply_indexing(op),
            "xla_gpu.loop" => self.indexed_loop(op),
            "xla_gpu.predicated_extract" => self.predicated_extract(op),
            "xla_gpu.predicated_insert" => self.predicated_insert(op),
            "xla_gpu.allocate_shared" => self.allocate_shared(op),
            "xla_gpu.sync_threads" => self.sync_threads(op),
            "xla_gpu.shuffle_reduce" => self.shuffle_reduce(op),
            "xla_gpu.atomic_rmw" => self.atomic_update(op),
            _ => Unsupported::because("the operation is not part of the kernel IR"),
        }
    }

    fn ids(&mut self, op: Operation) -> Done {
        let x = op.attribute("dimension").is_some_and(|dimension| dimension.text().contains("dim x"));
        let id = match op.name() {
            "gpu.thread_id" => self.thread_id,
            "gpu.block_id" => self.block_id,
            _ => None,
        };
        let ix = match id {
            Some(ix) if x => ix,
            Some(_) => self.indices.constant(0),
            None => return Unsupported::because("only the ids of block and thread are known, in the entry function"),
        };
        self.bind(op.result(0), Slot::Index(ix));
        Ok(())
    }
}

/// What an operation counts: as much as its vectors have lanes.
fn lanes_of(op: Operation) -> u64 {
    let lanes = |value: Value| match value.ty() {
        Type::Vector { lanes, .. } => u64::from(lanes),
        _ => 1,
    };
    if op.name().starts_with("vector.") || op.name() == "arith.constant" {
        return op.results().map(lanes).max().unwrap_or(1);
    }
    1
}
