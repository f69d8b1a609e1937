//! Writes composites, which are functions that call kernels.
//!
//! LLVM inlines calls of kernels, so that it can keep values of the composite's own buffers in
//! registers. Limits on the number of inlined operations bound the size of the code.

use std::collections::{BTreeSet, HashMap};

use super::entry::{each_block, find_buffers};
use super::{Callee, Translation};
use crate::error::{Done, LoweringError, Required, Unsupported};
use crate::hints::{Buffer, named};
use crate::llvm::{Bb, IntPredicate, Val};
use crate::{Composite, Step};

/// Maximum number of operations of a kernel that is inlined at several calls.
const REPEATED: usize = 400;
/// Maximum number of inlined operations of a composite. Further calls are not inlined, because the
/// time of LLVM's passes grows faster than the number of operations.
const MOST: usize = 20_000;

impl Translation<'_> {
    /// Writes composites. The kernels that the composites call must already be written.
    pub(crate) fn add_composites(&mut self, composites: &[Composite]) -> Result<(), LoweringError> {
        let inlined = inlined(composites, &self.callees);
        for (composite, inlined) in composites.iter().zip(&inlined) {
            Writer { translation: self, composite, inlined, buffers: Vec::new() }
                .write()
                .map_err(|Unsupported(reason)| LoweringError::Composite { name: composite.name.clone(), reason })?;
        }
        Ok(())
    }
}

/// Returns for each composite the kernels that are inlined into it. Short kernels, and kernels that
/// only one call uses, are inlined until the composite reaches its size limit.
fn inlined<'c>(composites: &'c [Composite], callees: &HashMap<String, Callee>) -> Vec<BTreeSet<&'c str>> {
    let calls_of = |composite: &'c Composite| {
        let mut calls: HashMap<&str, usize> = HashMap::new();
        for step in fusebox_thunks::all(&composite.steps) {
            if let Step::Kernel { kernel, .. } = step {
                *calls.entry(kernel).or_default() += 1;
            }
        }
        calls
    };
    let mut all: HashMap<&str, usize> = HashMap::new();
    composites.iter().flat_map(calls_of).for_each(|(kernel, calls)| *all.entry(kernel).or_default() += calls);
    let of_one = |composite| {
        let operations = |kernel: &str| callees.get(kernel).map_or(0, |callee| callee.operations);
        let mut calls: Vec<(&str, usize)> = calls_of(composite).into_iter().collect();
        calls.sort_by_key(|&(kernel, calls)| (operations(kernel).saturating_mul(calls), kernel));
        let mut total = 0usize;
        let fits = |&(kernel, calls): &(&str, usize)| {
            let is_only_here = all.get(kernel) == Some(&1) && callees.get(kernel).is_some_and(|it| !it.is_visible);
            total = total.saturating_add(operations(kernel).saturating_mul(calls));
            total <= MOST && (is_only_here || operations(kernel) <= REPEATED)
        };
        calls.into_iter().filter(fits).map(|(kernel, _)| kernel).collect()
    };
    composites.iter().map(of_one).collect()
}

/// A composite that is being written.
struct Writer<'w, 't> {
    translation: &'w Translation<'t>,
    composite: &'w Composite,
    inlined: &'w BTreeSet<&'w str>,
    /// Addresses of the buffers.
    buffers: Vec<Val>,
}

impl Writer<'_, '_> {
    /// Writes two functions, like the two functions of a kernel. The parameters of the first
    /// function have the facts about the buffers as attributes. The second function is visible: it
    /// loads the addresses of the buffers and calls the first function.
    fn write(mut self) -> Done {
        let (llvm, composite) = (&self.translation.llvm, self.composite);
        let count = composite.arguments.len();
        let signature = llvm.signature(llvm.void(), &vec![llvm.pointer(0); count]);
        let body = llvm.add_function(&format!("{}.body", composite.name), signature, false);
        llvm.add_attribute(body, u32::MAX, "alwaysinline", 0);
        llvm.add_attribute(body, u32::MAX, "nounwind", 0);
        let known = |it: &crate::Argument| Buffer { no_alias: it.no_alias, read_only: it.read_only };
        let apart = named(&composite.arguments.iter().map(known).collect::<Vec<_>>());
        for (number, argument) in composite.arguments.iter().enumerate() {
            let place = number as u32 + 1;
            llvm.add_attribute(body, place, "align", argument.alignment.into());
            if argument.bytes > 0 {
                llvm.add_attribute(body, place, "dereferenceable", argument.bytes);
            }
            let flags = [(apart[number], "noalias"), (argument.read_only, "readonly")];
            flags.iter().filter(|(holds, _)| *holds).for_each(|(_, name)| llvm.add_attribute(body, place, name, 0));
            self.buffers.push(llvm.parameter(body, number));
        }
        llvm.position_at_end(llvm.add_block(body));
        let own = composite.own.iter().map(|&bytes| llvm.stack_array(llvm.int(8), bytes, ALIGNMENT));
        self.buffers.extend(own);
        self.steps(&composite.steps)?;
        llvm.return_value(None);
        let (pointer, word) = (llvm.pointer(0), llvm.int(64));
        let outer = llvm.add_function(&composite.name, llvm.signature(llvm.void(), &[pointer, word, word]), true);
        llvm.add_attribute(outer, u32::MAX, "nounwind", 0);
        llvm.position_at_end(llvm.add_block(outer));
        llvm.call(signature, body, &find_buffers(self.translation, outer, count));
        llvm.return_value(None);
        Ok(())
    }

    fn steps(&self, steps: &[Step]) -> Done {
        steps.iter().try_for_each(|step| match step {
            Step::Kernel { kernel, arguments } => self.call(kernel, arguments),
            Step::Copy { from, to } => self.copy(*from, *to),
            Step::HostOp { op, .. } => match *op {},
            Step::While { condition, predicate, body, .. } => self.repeat(condition, *predicate, body),
            Step::Conditional { index, branches, .. } => self.branch(*index, branches),
        })
    }

    fn call(&self, kernel: &str, buffers: &[usize]) -> Done {
        let callee = self.translation.callees.get(kernel).required("there is no kernel of a step's name")?;
        if callee.arguments != buffers.len() {
            return Unsupported::because("a step gives a kernel the wrong number of buffers");
        }
        let llvm = &self.translation.llvm;
        let mut arguments = buffers.iter().map(|&buffer| self.buffer(buffer)).collect::<Done<Vec<Val>>>()?;
        let constant = |value| llvm.const_int(llvm.int(64), value);
        let range = [0, callee.blocks as i64].map(constant);
        each_block(self.translation, range, callee.threads, |block, thread| {
            arguments.extend([block, thread]);
            let call = llvm.call(callee.signature, callee.body, &arguments);
            if !self.inlined.contains(kernel) {
                llvm.add_call_attribute(call, "noinline");
            }
        });
        if callee.past_caches {
            llvm.settle_stores();
        }
        Ok(())
    }

    fn copy(&self, from: usize, to: usize) -> Done {
        let bytes = self.composite.bytes(from);
        if bytes != self.composite.bytes(to) {
            return Unsupported::because("a step copies between buffers of different sizes");
        }
        let llvm = &self.translation.llvm;
        let bytes = llvm.const_int(llvm.int(64), bytes.unwrap_or(0) as i64);
        llvm.copy(self.buffer(from)?, self.buffer(to)?, bytes, ALIGNMENT);
        Ok(())
    }

    fn repeat(&self, condition: &[Step], predicate: usize, body: &[Step]) -> Done {
        let llvm = &self.translation.llvm;
        let [head, inside, after] = self.new_blocks();
        llvm.branch(head);
        llvm.position_at_end(head);
        self.steps(condition)?;
        let byte = llvm.load(llvm.int(8), self.buffer(predicate)?, 1);
        llvm.branch_if(llvm.compare_int(IntPredicate::LLVMIntNE, byte, llvm.const_int(llvm.int(8), 0)), inside, after);
        llvm.position_at_end(inside);
        self.steps(body)?;
        llvm.branch_back_in_order(head);
        llvm.position_at_end(after);
        Ok(())
    }

    fn branch(&self, index: usize, branches: &[Vec<Step>]) -> Done {
        let llvm = &self.translation.llvm;
        let bits = 8 * self.composite.bytes(index).unwrap_or(0) as u32;
        let last = branches.len().checked_sub(1).required("a conditional has no branch")?;
        // If the index is a byte, true selects the first branch. If the index is a word, the word
        // is the number of the branch.
        let (first, others): (usize, Vec<(i64, usize)>) = match bits {
            8 => (0, vec![(0, last)]),
            32 => (last, (0..last).map(|branch| (branch as i64, branch)).collect()),
            _ => return Unsupported::because("a conditional's index is neither a byte nor a word"),
        };
        let [after] = self.new_blocks();
        let blocks: Vec<Bb> = branches.iter().map(|_| llvm.add_block_after_current()).collect();
        let ty = llvm.int(bits);
        let value = llvm.load(ty, self.buffer(index)?, 1);
        let cases: Vec<(Val, Bb)> =
            others.iter().map(|&(value, branch)| (llvm.const_int(ty, value), blocks[branch])).collect();
        llvm.switch(value, &cases, blocks[first]);
        for (branch, &block) in branches.iter().zip(&blocks) {
            llvm.position_at_end(block);
            self.steps(branch)?;
            llvm.branch(after);
        }
        llvm.position_at_end(after);
        Ok(())
    }

    fn buffer(&self, number: usize) -> Done<Val> {
        self.buffers.get(number).copied().required("a step names a buffer that does not exist")
    }

    fn new_blocks<const N: usize>(&self) -> [Bb; N] {
        [(); N].map(|()| self.translation.llvm.add_block_after_current())
    }
}

/// Alignment of all buffers in bytes.
const ALIGNMENT: u32 = 64;
