//! Writes entry functions with the calling conventions of the targets.

use fusebox_core::ir::Function;

use super::function::{Body, Ids};
use super::{Callee, Outcome, Translation};
use crate::hints::{Buffer, named};
use crate::llvm::{Bb, IntPredicate, Op, Val};
use crate::stages::Facts;
use crate::stages::writer::Attributes;
use crate::targets::{Form, GpuCode};

/// Attribute of entry functions whose threads need many registers.
const MANY_REGISTERS: &str = "fusebox.many_registers";

/// Writes a kernel. The kernel can be launched only if `is_visible` is true.
pub(super) fn write<'s>(
    translation: &mut Translation<'_>,
    entry: &'s Function,
    facts: &Facts<'_>,
    is_visible: bool,
) -> Outcome<'s> {
    match translation.target.gpu {
        Some(gpu) => on_gpu(translation, entry, facts, &gpu),
        None => on_host(translation, entry, facts, is_visible),
    }
}

/// Writes the kernel's body as a separate function, which composites can call. The facts about a
/// buffer are attributes of the separate function's parameter for this buffer. If the kernel is
/// visible, also writes a visible function that loads the addresses of the buffers and calls the
/// separate function.
fn on_host<'s>(
    translation: &mut Translation<'_>,
    entry: &'s Function,
    facts: &Facts<'_>,
    is_visible: bool,
) -> Outcome<'s> {
    let llvm = &translation.llvm;
    let (pointer, word) = (llvm.pointer(0), llvm.int(64));
    let count = entry.body.arguments.len();
    let mut parameters = vec![pointer; count];
    parameters.extend([word, word]);
    let signature = llvm.signature(llvm.void(), &parameters);
    let inner = llvm.add_function(&format!("{}.body", facts.name), signature, false);
    llvm.add_attribute(inner, u32::MAX, "alwaysinline", 0);
    llvm.add_attribute(inner, u32::MAX, "nounwind", 0);
    let ids = [llvm.parameter(inner, count), llvm.parameter(inner, count + 1)];
    translation.past_caches = false;
    define(translation, entry, inner, Ids { facts, parameters: Some(ids) })?;
    let callee = Callee {
        body: inner,
        signature,
        arguments: count,
        blocks: facts.blocks,
        threads: facts.threads,
        past_caches: translation.past_caches,
        operations: 0,
        is_visible,
    };
    match translation.target.form {
        _ if !is_visible => {}
        Form::Thread => thread_wrapper(translation, facts.name, &callee),
        _ => blocks_wrapper(translation, facts.name, &callee),
    }
    translation.callees.insert(facts.name.to_owned(), callee);
    Ok(())
}

fn on_gpu<'s>(translation: &mut Translation<'_>, entry: &'s Function, facts: &Facts<'_>, gpu: &GpuCode) -> Outcome<'s> {
    let llvm = &translation.llvm;
    let pointer = llvm.pointer(translation.target.global_space);
    let signature = llvm.signature(llvm.void(), &vec![pointer; entry.body.arguments.len()]);
    let function = llvm.add_function(facts.name, signature, true);
    llvm.add_attribute(function, u32::MAX, "nounwind", 0);
    llvm.set_calling_convention(function, gpu.calling_convention);
    let (name, value) = (gpu.block_size)(facts.threads);
    llvm.add_string_attribute(function, name, &value);
    if let (Some((name, value)), true) = (gpu.many_registers, entry.attribute(MANY_REGISTERS).is_some()) {
        llvm.add_string_attribute(function, name, value);
    }
    llvm.begin_lines(function, facts.name);
    define(translation, entry, function, Ids { facts, parameters: None })
}

/// Writes the body of the entry function and the attributes of its buffers.
fn define<'s>(translation: &mut Translation<'_>, entry: &'s Function, function: Val, ids: Ids<'_>) -> Outcome<'s> {
    let start = translation.llvm.add_block(function);
    translation.llvm.position_at_end(start);
    let is_host = translation.target.gpu.is_none();
    let mut body = Body::new(translation, entry, Some(ids));
    let has = |attributes: &Attributes, name: &str| attributes.iter().any(|(other, _)| other == name);
    let known = |it: &Attributes| Buffer { no_alias: has(it, "llvm.noalias"), read_only: has(it, "llvm.readonly") };
    let apart = named(&entry.argument_attributes.iter().map(known).collect::<Vec<_>>());
    for (position, &argument) in entry.body.arguments.iter().enumerate() {
        let parameter = body.llvm().parameter(function, position);
        body.bind(argument, parameter);
        for (name, value) in entry.argument_attributes.get(position).into_iter().flatten() {
            let Some(name) = name.strip_prefix("llvm.") else { continue };
            // GPUs read `noalias` buffers through a separate cache, so on GPUs all these buffers
            // keep the attribute.
            if name == "noalias" && is_host && !apart[position] {
                continue;
            }
            let value = value.as_integer().and_then(|value| u64::try_from(value).ok()).unwrap_or(0);
            body.llvm().add_attribute(function, position as u32 + 1, name, value);
        }
    }
    body.returning(&entry.body)
}

/// Writes `void kernel(void *const *args, int64_t first_block, int64_t end_block)`.
fn blocks_wrapper(translation: &Translation<'_>, name: &str, callee: &Callee) {
    let llvm = &translation.llvm;
    let (pointer, word) = (llvm.pointer(0), llvm.int(64));
    let outer = llvm.add_function(name, llvm.signature(llvm.void(), &[pointer, word, word]), true);
    llvm.add_attribute(outer, u32::MAX, "nounwind", 0);
    llvm.position_at_end(llvm.add_block(outer));
    let buffers = find_buffers(translation, outer, callee.arguments);
    let range = [1, 2].map(|place| llvm.parameter(outer, place));
    each_block(translation, range, callee.threads, |block, thread| {
        llvm.call(callee.signature, callee.body, &[&buffers[..], &[block, thread]].concat());
    });
    if callee.past_caches {
        llvm.settle_stores();
    }
    llvm.return_value(None);
}

/// Writes loops that run `body` once for each thread of each block in a range.
pub(super) fn each_block(
    translation: &Translation<'_>,
    [first, end]: [Val; 2],
    threads: u32,
    body: impl FnOnce(Val, Val),
) {
    let llvm = &translation.llvm;
    let word = llvm.int(64);
    let before = llvm.current_block();
    let [head, inside, done] = [(); 3].map(|()| llvm.add_block_after_current());
    llvm.branch(head);
    llvm.position_at_end(head);
    let block = llvm.phi(word);
    llvm.add_incoming(block, first, before);
    llvm.branch_if(llvm.compare_int(IntPredicate::LLVMIntSLT, block, end), inside, done);

    llvm.position_at_end(inside);
    let next = each_thread(translation, threads, |thread| body(block, thread));
    llvm.add_incoming(block, llvm.binary_nsw(Op::LLVMAdd, block, llvm.const_int(word, 1)), next);
    llvm.branch(head);
    llvm.position_at_end(done);
}

/// Writes a loop that runs `body` for each thread of a block. Returns the LLVM block after the
/// loop. A block with one thread, which is the usual case, needs no loop.
fn each_thread(translation: &Translation<'_>, threads: u32, body: impl FnOnce(Val)) -> Bb {
    let llvm = &translation.llvm;
    let constant = |value| llvm.const_int(llvm.int(64), value);
    if threads == 1 {
        body(constant(0));
        return llvm.current_block();
    }
    let before = llvm.current_block();
    let [head, inside, next] = [(); 3].map(|()| llvm.add_block_after_current());
    llvm.branch(head);
    llvm.position_at_end(head);
    let thread = llvm.phi(llvm.int(64));
    llvm.add_incoming(thread, constant(0), before);
    let threads = constant(i64::from(threads));
    llvm.branch_if(llvm.compare_int(IntPredicate::LLVMIntSLT, thread, threads), inside, next);

    llvm.position_at_end(inside);
    body(thread);
    llvm.add_incoming(thread, llvm.binary_nsw(Op::LLVMAdd, thread, constant(1)), llvm.current_block());
    llvm.branch(head);
    llvm.position_at_end(next);
    next
}

/// Writes `void kernel(void *const *args, int64_t block, int64_t thread)`.
fn thread_wrapper(translation: &Translation<'_>, name: &str, callee: &Callee) {
    let llvm = &translation.llvm;
    let (pointer, word) = (llvm.pointer(0), llvm.int(64));
    let outer = llvm.add_function(name, llvm.signature(llvm.void(), &[pointer, word, word]), true);
    llvm.add_attribute(outer, u32::MAX, "nounwind", 0);
    let entry = llvm.add_block(outer);
    llvm.position_at_end(entry);
    let mut arguments = find_buffers(translation, outer, callee.arguments);
    arguments.extend([llvm.parameter(outer, 1), llvm.parameter(outer, 2)]);
    llvm.call(callee.signature, callee.body, &arguments);
    llvm.return_value(None);
}

/// Loads the addresses of the buffers from a table. The first argument of the visible function
/// `outer` points to the table.
pub(super) fn find_buffers(translation: &Translation<'_>, outer: Val, count: usize) -> Vec<Val> {
    let llvm = &translation.llvm;
    let pointer = llvm.pointer(0);
    let table = llvm.parameter(outer, 0);
    let load = |position: usize| {
        let place = llvm.element_pointer(pointer, table, llvm.const_int(llvm.int(64), position as i64));
        llvm.load(pointer, place, 8)
    };
    (0..count).map(load).collect()
}
