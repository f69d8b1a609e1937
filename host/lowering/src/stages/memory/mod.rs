//! Replaces tensors by memory. Every access gets an address, the address's alignment and other
//! known facts.
//!
//! A chain of `tensor.insert` writes in place, so loops do not carry tensors. An address is a
//! pointer and an index in elements. The stage `indices` simplifies the index of each address. If
//! calls of a function pass tensors with different known facts, this stage writes one version of
//! the function for each set of facts.

mod access;
mod atomic;
mod recognise;
mod threads;

use std::collections::HashMap;

use fusebox_core::ir::{Attribute, Function, OpKind, Operation, Scalar, Type, Value};
use fusebox_core::plugin::limits::{MOST_SIMULATED_STACK_BYTES, MOST_STACK_BYTES};

use super::rewrite::{Rewriter, Stage};
use super::writer::Attributes;
use super::{Facts, KernelFunctions, StageError};
use crate::error::{Done, Unsupported};
use crate::targets::TargetInfo;

/// Alignment of stack memory in bytes.
const STACK_ALIGNMENT: u32 = 64;
/// Alignment of constant tensors in bytes.
const CONSTANT_ALIGNMENT: u32 = 64;

/// Known facts about a tensor's memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Known {
    /// Guaranteed alignment of the pointer in bytes.
    alignment: u32,
    /// Whether no thread writes the memory while the kernel runs.
    invariant: bool,
    /// Whether accesses are reported to the simulator.
    reported: bool,
    /// The threads that may access the memory.
    reach: Reach,
}

/// The threads that may access a tensor's memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Reach {
    Thread,
    Block,
    Kernel,
}

/// Representation of a value of the source function.
#[derive(Clone, Debug)]
pub(super) enum Slot {
    Value(Value),
    Tensor(Tensor),
    /// A constant tensor whose elements are all equal, represented by the bytes of one element.
    Splat(std::sync::Arc<[u8]>),
}

/// A tensor's memory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Tensor {
    pointer: Value,
    known: Known,
}

/// A version of a function, for tensor arguments about which these facts are known.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Variant {
    callee: String,
    tensors: Vec<Known>,
}

/// State of the rewriting of all functions of a kernel.
struct Kernel<'s> {
    facts: &'s Facts<'s>,
    target: &'s TargetInfo,
    functions: HashMap<&'s str, &'s Function>,
    /// Names of the function versions that are called.
    names: HashMap<Variant, String>,
    /// Function versions that are not yet written.
    pending: Vec<(&'s Function, Variant)>,
    /// Whether the kernel multiplies tiles with an instruction that reads the tiles directly from
    /// shared memory. If the kernel uses this instruction, barriers must make earlier stores to
    /// tiles visible to the instruction.
    multiplies_tiles: bool,
    /// Bytes of shared memory that the tiles allocated so far use.
    shared_taken: u64,
    /// Bytes of the tensors allocated so far on the stack of a thread.
    stack_taken: u64,
}

struct Memory<'s, 'k> {
    rewriter: Rewriter<'s, Slot>,
    kernel: &'k mut Kernel<'s>,
}

/// Writes the entry function and every function it calls.
pub(super) fn lower(
    kernel: &KernelFunctions,
    facts: &Facts<'_>,
    target: &TargetInfo,
) -> Result<KernelFunctions, StageError> {
    let functions = kernel.functions.iter().map(|function| (function.name.as_str(), function)).collect();
    let mut state = Kernel {
        facts,
        target,
        functions,
        names: HashMap::new(),
        pending: Vec::new(),
        multiplies_tiles: false,
        shared_taken: 0,
        stack_taken: 0,
    };
    let entry = kernel.entry();
    let mut written = vec![run(&mut state, entry, |memory| memory.entry())?];
    while let Some((function, variant)) = state.pending.pop() {
        written.push(run(&mut state, function, |memory| memory.callee(&variant))?);
    }
    Ok(KernelFunctions { functions: written })
}

fn run<'s>(
    kernel: &mut Kernel<'s>,
    function: &'s Function,
    write: impl FnOnce(&mut Memory<'s, '_>) -> Done<Function>,
) -> Result<Function, StageError> {
    let mut memory = Memory { rewriter: Rewriter::new(function), kernel };
    write(&mut memory).map_err(|reason| StageError::new(memory.rewriter.current, reason))
}

impl<'s> Stage<'s> for Memory<'s, '_> {
    type Slot = Slot;

    fn rewriter(&mut self) -> &mut Rewriter<'s, Slot> {
        &mut self.rewriter
    }

    fn passed(&self, ty: &Type) -> Done<Vec<Type>> {
        Ok(vec![match ty {
            // This is the address space of buffers. Tiles have another address space, but are never
            // passed between regions.
            Type::Tensor(..) => Type::Pointer(self.kernel.target.global_space),
            other => other.clone(),
        }])
    }

    fn values(&mut self, slot: &Slot) -> Done<Vec<Value>> {
        match slot {
            Slot::Value(value) => Ok(vec![*value]),
            Slot::Tensor(tensor) => Ok(vec![tensor.pointer]),
            Slot::Splat(_) => Unsupported::because("a constant tensor leaves its function"),
        }
    }

    fn slot_of(&mut self, ty: &Type, values: &[Value], like: &[Slot]) -> Done<Slot> {
        let Type::Tensor(..) = ty else { return Ok(Slot::Value(values[0])) };
        let reported = self.kernel.target.reports_accesses;
        let unknown = Known { alignment: 1, invariant: false, reported, reach: Reach::Kernel };
        let known = like.iter().filter_map(|slot| match slot {
            Slot::Tensor(tensor) => Some(tensor.known),
            _ => None,
        });
        let known = known.reduce(Known::weaker).unwrap_or(unknown);
        Ok(Slot::Tensor(Tensor { pointer: values[0], known }))
    }

    fn stays(&self, ty: &Type) -> bool {
        matches!(ty, Type::Tensor(..))
    }

    fn operation(&mut self, op: &'s Operation) -> Done {
        match op.kind {
            OpKind::Extract | OpKind::PredicatedExtract => self.extract(op),
            OpKind::Insert | OpKind::PredicatedInsert => self.insert(op),
            OpKind::TransferRead => self.read_row(op),
            OpKind::TransferWrite => self.write_row(op),
            OpKind::ReadTile => self.read_tile(op),
            OpKind::WriteTile => self.write_tile(op),
            OpKind::Empty => self.empty(op),
            OpKind::Constant => self.constant(op),
            OpKind::AllocateShared => self.allocate_shared(op),
            OpKind::SyncThreads => self.sync_threads(op),
            OpKind::AtomicRmw => self.atomic_update(op),
            OpKind::ShuffleReduce => self.shuffle_reduce(op),
            OpKind::Mma => self.matrix_product(op),
            OpKind::Wgmma => self.tile_product(op),
            OpKind::PureCall | OpKind::Call => self.call(op),
            OpKind::Select if matches!(self.rewriter.source.type_of(op.result()), Type::Tensor(..)) => {
                self.select_tensor(op)
            }
            OpKind::If => self.if_else(op),
            OpKind::IndexSwitch => self.index_switch(op),
            OpKind::For => self.same_loop(op, 3, 1),
            OpKind::Loop => {
                let map = super::map_of(op)?;
                self.same_loop(op, map.dims.len() + map.runtime.len(), map.ranges.len() + map.results.len())
            }
            OpKind::While => self.while_loop(op, |_| ()),
            _ => self.copied(op),
        }
    }
}

impl Known {
    /// Returns the facts that hold for both tensors.
    fn weaker(self, other: Known) -> Known {
        Known {
            alignment: self.alignment.min(other.alignment),
            invariant: self.invariant && other.invariant,
            reported: self.reported || other.reported,
            reach: self.reach.max(other.reach),
        }
    }
}

impl<'s> Memory<'s, '_> {
    /// Writes the entry function. The arguments of the entry function are the kernel's buffers, and
    /// the function returns nothing.
    fn entry(&mut self) -> Done<Function> {
        let source = self.rewriter.source;
        super::check_arguments(source, self.kernel.facts)?;
        let (facts, target) = (self.kernel.facts, self.kernel.target);
        let alone = target.is_cpu() && facts.blocks <= 1;
        let reach = if alone { Reach::Thread } else { Reach::Kernel };
        let mut synchronises = false;
        source.body.walk(&mut |op| self.kernel.multiplies_tiles |= op.kind == OpKind::Wgmma);
        source.body.walk(&mut |op| synchronises |= op.kind == OpKind::SyncThreads && !target.is_cpu());
        for (number, (&value, argument)) in source.body.arguments.iter().zip(facts.arguments).enumerate() {
            // A barrier makes writes of other threads visible. LLVM assumes that `noalias` memory
            // does not change at a barrier.
            let no_alias = argument.no_alias && (argument.read_only || !synchronises);
            // LLVM reads `dereferenceable` memory early, also in threads that do not use the value
            // while another thread writes it. PTX calls that a race.
            let bytes = if argument.read_only || !synchronises { argument.bytes } else { 0 };
            let mut described = source.argument_attributes.get(number).cloned().unwrap_or_default();
            described.extend(describe(&crate::Argument { no_alias, bytes, ..argument.clone() }));
            let pointer = self.out().argument(Type::Pointer(target.global_space), described);
            let (alignment, invariant) = (argument.alignment, argument.read_only);
            let known = Known { alignment, invariant, reported: target.reports_accesses, reach };
            self.rewriter.bind(value, Slot::Tensor(Tensor { pointer, known }));
        }
        self.region(&source.body, Vec::new())?;
        self.finished(&[])
    }

    fn callee(&mut self, variant: &Variant) -> Done<Function> {
        let source = self.rewriter.source;
        let name = self.kernel.names.get(variant).cloned().unwrap_or_default();
        self.out().set_name(name);
        let mut tensors = variant.tensors.iter();
        for &argument in &source.body.arguments {
            let ty = source.type_of(argument).clone();
            let passed = self.passed(&ty)?;
            let value = self.out().argument(passed[0].clone(), Vec::new());
            let slot = match (&ty, tensors.as_slice().first()) {
                (Type::Tensor(..), Some(&known)) => {
                    tensors.next();
                    Slot::Tensor(Tensor { pointer: value, known })
                }
                _ => Slot::Value(value),
            };
            self.rewriter.bind(argument, slot);
        }
        let returned = self.region(&source.body, Vec::new())?;
        self.finished(&returned)
    }

    fn value(&self, value: Value) -> Done<Value> {
        match self.rewriter.slot(value)? {
            Slot::Value(value) => Ok(value),
            _ => Unsupported::because("an operand is a tensor"),
        }
    }

    fn tensor(&self, value: Value) -> Done<Tensor> {
        match self.rewriter.slot(value)? {
            Slot::Tensor(tensor) => Ok(tensor),
            _ => Unsupported::because("an operand is no tensor in memory"),
        }
    }

    fn call(&mut self, op: &'s Operation) -> Done {
        let Some(callee) = op.callee() else { return Unsupported::because("the callee is not a function's name") };
        let &function =
            self.kernel.functions.get(callee).ok_or_else(|| Unsupported(format!("there is no function @{callee}")))?;
        let arguments = self.rewriter.slots(&op.operands)?;
        let values = self.values_all(&arguments)?;
        let tensors = arguments.iter().filter_map(|slot| match slot {
            Slot::Tensor(tensor) => Some(tensor.known),
            _ => None,
        });
        let variant = Variant { callee: callee.to_owned(), tensors: tensors.collect() };
        let name = match self.kernel.names.get(&variant) {
            Some(name) => name.clone(),
            None => {
                let others = self.kernel.names.keys().filter(|known| known.callee == variant.callee).count();
                let name = if others == 0 { callee.to_owned() } else { format!("{callee}.{others}") };
                self.kernel.names.insert(variant.clone(), name.clone());
                self.kernel.pending.push((function, variant));
                name
            }
        };
        let types = self.rewriter.source_types(&op.results);
        let passed = self.passed_all(&types)?;
        let callee = vec![("callee".into(), Attribute::Symbol(name))];
        let results = self.out().push(op.kind, values, callee, &passed, Vec::new());
        let likes = vec![Vec::new(); types.len()];
        let slots = self.slots_of(&types, &results, &likes)?;
        self.rewriter.bind_all(&op.results, slots);
        Ok(())
    }

    fn select_tensor(&mut self, op: &'s Operation) -> Done {
        let condition = self.value(op.operands[0])?;
        let (yes, no) = (self.tensor(op.operands[1])?, self.tensor(op.operands[2])?);
        if yes.known != no.known {
            return Unsupported::because("it selects between tensors of different memories");
        }
        let pointer = self.out().select(condition, yes.pointer, no.pointer);
        self.rewriter.bind(op.result(), Slot::Tensor(Tensor { pointer, ..yes }));
        Ok(())
    }

    fn constant(&mut self, op: &'s Operation) -> Done {
        let ty = self.rewriter.source.type_of(op.result());
        let slot = match (ty, op.attribute("value")) {
            (Type::Tensor(_, element), Some(Attribute::Dense(_, bytes))) => {
                if bytes.len() == element.byte_size() {
                    Slot::Splat(bytes.clone())
                } else {
                    let space = Type::Pointer(self.kernel.target.global_space);
                    let value = Attribute::Dense(ty.clone(), bytes.clone());
                    let pointer = self.out().at_beginning(OpKind::ConstantMemory, vec![("value".into(), value)], space);
                    let (alignment, reach) = (CONSTANT_ALIGNMENT, Reach::Kernel);
                    let known = Known { alignment, invariant: true, reported: false, reach };
                    Slot::Tensor(Tensor { pointer, known })
                }
            }
            (Type::Tensor(..), Some(value)) => {
                return Unsupported::because(format!("the constant {value} is not readable"));
            }
            (ty, _) => Slot::Value(self.rewriter.out.constant_like(op, ty)?),
        };
        self.rewriter.bind(op.result(), slot);
        Ok(())
    }

    fn empty(&mut self, op: &'s Operation) -> Done {
        let bytes = tensor_bytes(self.rewriter.source.type_of(op.result()))?;
        let tensor = self.stack_tensor(bytes)?;
        self.rewriter.bind(op.result(), Slot::Tensor(tensor));
        Ok(())
    }

    /// Allocates memory of the current thread on the stack.
    pub(super) fn stack_tensor(&mut self, bytes: u64) -> Done<Tensor> {
        self.kernel.stack_taken = self.kernel.stack_taken.saturating_add(bytes);
        let most = if self.kernel.target.reports_accesses { MOST_SIMULATED_STACK_BYTES } else { MOST_STACK_BYTES };
        if self.kernel.stack_taken > most {
            return Unsupported::because(format!(
                "a thread's own tensors up to this one take {} bytes; kernels have at most {most}",
                self.kernel.stack_taken
            ));
        }
        let attributes = sized(bytes, STACK_ALIGNMENT);
        let pointer = self.out().at_beginning(OpKind::StackMemory, attributes, Type::Pointer(0));
        let (alignment, reach) = (STACK_ALIGNMENT, Reach::Thread);
        Ok(Tensor { pointer, known: Known { alignment, invariant: false, reported: false, reach } })
    }
}

/// Returns the attributes of an operation that allocates memory.
fn sized(bytes: u64, alignment: u32) -> Attributes {
    vec![("bytes".into(), Attribute::i64(bytes as i64)), ("alignment".into(), Attribute::i64(i64::from(alignment)))]
}

/// Returns attributes of MLIR's `llvm` dialect that tell LLVM facts about a buffer.
fn describe(argument: &crate::Argument) -> Attributes {
    let mut described: Attributes = vec![
        ("llvm.align".into(), Attribute::i64(i64::from(argument.alignment))),
        ("llvm.nonnull".into(), Attribute::Unit),
        ("llvm.noundef".into(), Attribute::Unit),
    ];
    if argument.bytes > 0 {
        described.push(("llvm.dereferenceable".into(), Attribute::i64(argument.bytes as i64)));
    }
    if argument.no_alias {
        described.push(("llvm.noalias".into(), Attribute::Unit));
    }
    if argument.read_only {
        described.push(("llvm.readonly".into(), Attribute::Unit));
    }
    described
}

/// Returns the dimensions and the element type of a tensor. Fails if the tensor cannot be in
/// memory.
pub(super) fn static_tensor(ty: &Type) -> Done<(&[i64], Scalar)> {
    match ty.as_tensor() {
        Some((_, Scalar::Index)) => Unsupported::because("its elements are not handled"),
        Some((dims, element)) if dims.iter().all(|&size| size >= 0) => Ok((dims, element)),
        _ => Unsupported::because("its tensor is not statically shaped"),
    }
}

/// Returns the size of a tensor in bytes.
pub(super) fn tensor_bytes(ty: &Type) -> Done<u64> {
    let (dims, element) = static_tensor(ty)?;
    let bytes = dims.iter().try_fold(element.byte_size() as i64, |bytes, &size| bytes.checked_mul(size));
    match bytes.and_then(|bytes| u64::try_from(bytes).ok()) {
        Some(bytes) => Ok(bytes),
        None => Unsupported::because("its tensor is larger than any memory"),
    }
}
