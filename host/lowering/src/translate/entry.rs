//! Entry functions and the calling conventions around them.

use fusebox_core::indexing::Interval;

use super::function::{Done, Function};
use super::memory::tensor_bytes;
use super::slot::{Slot, Tensor};
use super::{Kernel, Known, Reach, Translation};
use crate::error::{LoweringError, Unsupported};
use crate::llvm::{Bb, IntPredicate, Op, Ty, Val};
use crate::mlir::{Block, Operation, Type};
use crate::{Argument, Target};

/// LLVM's number of the calling convention of NVIDIA's and AMD's kernels.
const PTX_KERNEL: u32 = 71;
const AMDGPU_KERNEL: u32 = 91;

/// Translates a kernel's entry function.
pub(super) fn translate(
    translation: &mut Translation,
    kernel: &mut Kernel<'_>,
    op: Operation,
) -> Result<(), LoweringError> {
    let target = translation.target.clone();
    let done = match (op.block(0), target) {
        (None, _) => Unsupported::because("the entry function has no body").map_err(|reason| (op, reason)),
        (Some(body), Target::Cpu | Target::Simt) => on_host(translation, kernel, op, body),
        (Some(body), Target::Nvptx { .. } | Target::Amdgpu { .. }) => on_gpu(translation, kernel, op, body),
    };
    done.map_err(|(at, reason)| translation.unsupported(kernel, at, reason))
}

type Outcome = Result<(), (Operation, Unsupported)>;

/// The body becomes a function of its own, whose parameters carry what is known about the buffers; the visible
/// function finds the buffers and calls it.
fn on_host(translation: &mut Translation, kernel: &mut Kernel<'_>, op: Operation, body: Block) -> Outcome {
    let llvm = &translation.llvm;
    let (pointer, word) = (llvm.pointer(0), llvm.int(64));
    let count = body.argument_count();
    check_arguments(kernel, body).map_err(|reason| (op, reason))?;
    let mut parameters = vec![pointer; count];
    parameters.extend([word, word]);
    let signature = llvm.signature(llvm.void(), &parameters);
    let inner = llvm.add_function(&format!("{}.body", kernel.name), signature, false);
    llvm.add_attribute(inner, u32::MAX, "alwaysinline", 0);
    llvm.add_attribute(inner, u32::MAX, "nounwind", 0);
    let (block, thread) = (llvm.parameter(inner, count), llvm.parameter(inner, count + 1));
    translation.past_caches = false;
    define_body(translation, kernel, op, body, inner, block, thread)?;
    match translation.target {
        Target::Simt => simt_wrapper(translation, kernel.name, count, signature, inner),
        _ => cpu_wrapper(translation, kernel, count, signature, inner),
    }
    Ok(())
}

/// `void kernel(void *const *args, int64_t first_block, int64_t end_block)`.
fn cpu_wrapper(translation: &Translation, kernel: &Kernel<'_>, count: usize, signature: Ty, inner: Val) {
    let llvm = &translation.llvm;
    let (pointer, word) = (llvm.pointer(0), llvm.int(64));
    let outer = llvm.add_function(kernel.name, llvm.signature(llvm.void(), &[pointer, word, word]), true);
    llvm.add_attribute(outer, u32::MAX, "nounwind", 0);
    let [entry, head, inside, done] = [(); 4].map(|()| llvm.add_block(outer));
    llvm.position_at_end(entry);
    let mut arguments = load_arguments(translation, outer, count);
    let (first, end) = (llvm.parameter(outer, 1), llvm.parameter(outer, 2));
    llvm.branch(head);

    llvm.position_at_end(head);
    let block = llvm.phi(word);
    llvm.add_incoming(block, first, entry);
    llvm.branch_if(llvm.compare_int(IntPredicate::LLVMIntSLT, block, end), inside, done);

    llvm.position_at_end(inside);
    arguments.push(block);
    let next = each_thread(translation, kernel, outer, |thread| {
        arguments.push(thread);
        llvm.call(signature, inner, &arguments);
    });
    llvm.add_incoming(block, llvm.binary_nsw(Op::LLVMAdd, block, llvm.const_int(word, 1)), next);
    llvm.branch(head);
    llvm.position_at_end(done);
    if translation.past_caches {
        llvm.settle_stores();
    }
    llvm.return_value(None);
}

/// `body` for each thread of a block; gives the block that comes after. One thread, the rule here, needs no loop.
fn each_thread(translation: &Translation, kernel: &Kernel<'_>, outer: Val, body: impl FnOnce(Val)) -> Bb {
    let llvm = &translation.llvm;
    let constant = |value| llvm.const_int(llvm.int(64), value);
    if kernel.threads == 1 {
        body(constant(0));
        return llvm.current_block();
    }
    let before = llvm.current_block();
    let [head, inside, next] = [(); 3].map(|()| llvm.add_block(outer));
    llvm.branch(head);
    llvm.position_at_end(head);
    let thread = llvm.phi(llvm.int(64));
    llvm.add_incoming(thread, constant(0), before);
    let threads = constant(i64::from(kernel.threads));
    llvm.branch_if(llvm.compare_int(IntPredicate::LLVMIntSLT, thread, threads), inside, next);

    llvm.position_at_end(inside);
    body(thread);
    llvm.add_incoming(thread, llvm.binary_nsw(Op::LLVMAdd, thread, constant(1)), inside);
    llvm.branch(head);
    llvm.position_at_end(next);
    next
}

/// `void kernel(void *const *args, int64_t block, int64_t thread)`.
fn simt_wrapper(translation: &Translation, name: &str, count: usize, signature: Ty, inner: Val) {
    let llvm = &translation.llvm;
    let (pointer, word) = (llvm.pointer(0), llvm.int(64));
    let outer = llvm.add_function(name, llvm.signature(llvm.void(), &[pointer, word, word]), true);
    llvm.add_attribute(outer, u32::MAX, "nounwind", 0);
    let entry = llvm.add_block(outer);
    llvm.position_at_end(entry);
    let mut arguments = load_arguments(translation, outer, count);
    arguments.extend([llvm.parameter(outer, 1), llvm.parameter(outer, 2)]);
    llvm.call(signature, inner, &arguments);
    llvm.return_value(None);
}

fn load_arguments(translation: &Translation, outer: Val, count: usize) -> Vec<Val> {
    let llvm = &translation.llvm;
    let pointer = llvm.pointer(0);
    let table = llvm.parameter(outer, 0);
    let load = |position: usize| {
        let place = llvm.element_pointer(pointer, table, llvm.const_int(llvm.int(64), position as i64));
        llvm.load(pointer, place, 8)
    };
    (0..count).map(load).collect()
}

fn on_gpu(translation: &mut Translation, kernel: &mut Kernel<'_>, op: Operation, body: Block) -> Outcome {
    check_arguments(kernel, body).map_err(|reason| (op, reason))?;
    let llvm = &translation.llvm;
    let pointer = llvm.pointer(translation.traits.global_space);
    let signature = llvm.signature(llvm.void(), &vec![pointer; body.argument_count()]);
    let function = llvm.add_function(kernel.name, signature, true);
    llvm.add_attribute(function, u32::MAX, "nounwind", 0);
    let threads = kernel.threads;
    let names = if let Target::Nvptx { .. } = translation.target {
        llvm.set_calling_convention(function, PTX_KERNEL);
        llvm.add_string_attribute(function, "nvvm.reqntid", &format!("{threads}"));
        ["llvm.nvvm.read.ptx.sreg.ctaid.x", "llvm.nvvm.read.ptx.sreg.tid.x"]
    } else {
        llvm.set_calling_convention(function, AMDGPU_KERNEL);
        llvm.add_string_attribute(function, "amdgpu-flat-work-group-size", &format!("{threads},{threads}"));
        ["llvm.amdgcn.workgroup.id.x", "llvm.amdgcn.workitem.id.x"]
    };
    define_gpu_body(translation, kernel, op, body, function, names)
}

fn define_gpu_body(
    translation: &mut Translation,
    kernel: &mut Kernel<'_>,
    op: Operation,
    body: Block,
    function: Val,
    [block_name, thread_name]: [&str; 2],
) -> Outcome {
    let start = {
        let llvm = &translation.llvm;
        let ids = llvm.add_block(function);
        llvm.position_at_end(ids);
        ids
    };
    let block = translation.llvm.call_intrinsic(block_name, &[], &[]);
    let thread = translation.llvm.call_intrinsic(thread_name, &[], &[]);
    for (id, count) in [(block, kernel.blocks), (thread, u64::from(kernel.threads))] {
        if (1..=i32::MAX as u64).contains(&count) {
            translation.llvm.set_result_range(id, count);
        }
    }
    let rest = define_body_after(translation, kernel, op, body, function, block, thread)?;
    translation.llvm.position_at_end(start);
    translation.llvm.branch(rest);
    Ok(())
}

fn define_body(
    translation: &mut Translation,
    kernel: &mut Kernel<'_>,
    op: Operation,
    body: Block,
    function: Val,
    block: Val,
    thread: Val,
) -> Outcome {
    define_body_after(translation, kernel, op, body, function, block, thread).map(|_| ())
}

/// Translates the entry function's body; gives its first block.
fn define_body_after(
    translation: &mut Translation,
    kernel: &mut Kernel<'_>,
    op: Operation,
    body: Block,
    function: Val,
    block: Val,
    thread: Val,
) -> Result<Bb, (Operation, Unsupported)> {
    let (arguments, blocks, threads) = (kernel.arguments, kernel.blocks, kernel.threads);
    let reported = translation.traits.reports_accesses;
    let synchronises = translation.target != Target::Cpu && synchronises(op);
    let alone = translation.target == Target::Cpu && blocks <= 1;
    let reach = if alone { Reach::Thread } else { Reach::Kernel };
    let mut state = Function::new(translation, kernel, function);
    let start = state.llvm().current_block();
    state.block_id = Some(state.leaf(block, Interval::from_size(i64::try_from(blocks).unwrap_or(i64::MAX))));
    state.thread_id = Some(state.leaf(thread, Interval::from_size(i64::from(threads))));
    for (position, (value, argument)) in body.arguments().zip(arguments).enumerate() {
        // What other threads write comes to be seen at a barrier, which LLVM does not expect of such memory.
        let no_alias = argument.no_alias && (argument.read_only || !synchronises);
        describe(&state, function, position, &Argument { no_alias, ..argument.clone() });
        let known = Known { alignment: argument.alignment, invariant: argument.read_only, reported, reach };
        let tensor = Tensor::new(state.llvm().parameter(function, position), known);
        state.bind(value, Slot::Tensor(tensor));
    }
    let done = state.operations(body);
    state.llvm().return_value(None);
    state.finish(start);
    let first = state.first_block();
    let failed = state.current.unwrap_or(op);
    done.map(|()| first).map_err(|reason| (failed, reason))
}

/// Whether threads wait for each other.
fn synchronises(function: Operation) -> bool {
    let mut found = false;
    function.walk(&mut |op| found |= op.name() == "xla_gpu.sync_threads");
    found
}

/// What LLVM may know about a buffer.
fn describe(state: &Function<'_, '_, '_>, function: Val, position: usize, argument: &Argument) {
    let llvm = state.llvm();
    let place = position as u32 + 1;
    llvm.add_attribute(function, place, "align", u64::from(argument.alignment));
    llvm.add_attribute(function, place, "nonnull", 0);
    llvm.add_attribute(function, place, "noundef", 0);
    if argument.bytes > 0 {
        llvm.add_attribute(function, place, "dereferenceable", argument.bytes);
    }
    if argument.no_alias {
        llvm.add_attribute(function, place, "noalias", 0);
    }
    if argument.read_only {
        llvm.add_attribute(function, place, "readonly", 0);
    }
}

fn check_arguments(kernel: &Kernel<'_>, body: Block) -> Done {
    if body.argument_count() != kernel.arguments.len() {
        return Unsupported::because(format!(
            "the entry function has {} arguments, the kernel is described with {}",
            body.argument_count(),
            kernel.arguments.len()
        ));
    }
    if kernel.arguments.iter().any(|argument| !argument.alignment.is_power_of_two()) {
        return Unsupported::because("the alignment of an argument is not a power of two");
    }
    for (value, argument) in body.arguments().zip(kernel.arguments) {
        if !matches!(value.ty(), Type::Tensor { .. }) {
            return Unsupported::because("an argument of the entry function is no tensor");
        }
        if tensor_bytes(&value.ty())? > argument.bytes {
            return Unsupported::because(format!(
                "an argument is {:?}, which its {} bytes do not hold",
                value.ty(),
                argument.bytes
            ));
        }
    }
    Ok(())
}
