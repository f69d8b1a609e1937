//! Input of one compilation: kernels, and composites, which are functions that call several
//! kernels.

use std::collections::BTreeSet;

use crate::{Argument, KernelSource};

/// Kernels and composites that are compiled together.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'b> {
    /// All kernels, including the kernels that composites call.
    pub kernels: &'b [KernelSource],
    /// Functions that call these kernels.
    pub composites: &'b [Composite],
    /// Names of the kernels that only composites call. The compiled code does not export them.
    pub inner: &'b BTreeSet<String>,
}

/// A function that runs kernels, copies, loops and branches in sequence. A composite has the
/// signature of a kernel with one block. Each buffer has a number: the arguments come first, then
/// the composite's own buffers.
#[derive(Clone, Debug, PartialEq)]
pub struct Composite {
    /// Name of the function.
    pub name: String,
    /// Buffers that the caller passes.
    pub arguments: Vec<Argument>,
    /// Sizes in bytes of the composite's own buffers. These buffers exist only during a call.
    pub own: Vec<u64>,
    /// Steps, in order of execution.
    pub steps: Vec<Step>,
}

/// A step of a composite.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Runs all blocks of a kernel, one after the other.
    Kernel {
        /// Name of the kernel.
        kernel: String,
        /// Numbers of the kernel's buffers: first the parameters, then the outputs.
        buffers: Vec<usize>,
    },
    /// Copies a buffer to another of the same size.
    Copy {
        /// Index of the buffer that is copied.
        from: usize,
        /// Index of the buffer that receives the copy.
        to: usize,
    },
    /// Repeats `body` as long as `condition` writes true to the predicate.
    While {
        /// Steps that compute the predicate.
        condition: Vec<Step>,
        /// Index of the predicate's buffer, which has one byte.
        predicate: usize,
        /// Steps that compute the next state.
        body: Vec<Step>,
    },
    /// Executes one of several branches.
    Conditional {
        /// Index of the buffer that selects the branch. If the buffer has one byte, true selects
        /// the first branch. If it holds an `s32`, the value is the number of the branch, and a
        /// value out of range selects the last branch.
        index: usize,
        /// The branches: two for a byte, at least one for an `s32`.
        branches: Vec<Vec<Step>>,
    },
}

impl Composite {
    /// Returns the size of a buffer in bytes.
    pub fn bytes(&self, buffer: usize) -> Option<u64> {
        let own = || self.own.get(buffer.checked_sub(self.arguments.len())?).copied();
        self.arguments.get(buffer).map(|argument| argument.bytes).or_else(own)
    }

    /// Calls `f` for every step, including nested ones.
    pub fn walk<'s>(&'s self, f: &mut dyn FnMut(&'s Step)) {
        walk(&self.steps, f);
    }
}

fn walk<'s>(steps: &'s [Step], f: &mut dyn FnMut(&'s Step)) {
    for step in steps {
        f(step);
        match step {
            Step::Kernel { .. } | Step::Copy { .. } => {}
            Step::While { condition, body, .. } => [condition, body].into_iter().for_each(|inside| walk(inside, f)),
            Step::Conditional { branches, .. } => branches.iter().for_each(|branch| walk(branch, f)),
        }
    }
}
