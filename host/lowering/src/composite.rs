//! What becomes one module of code: kernels, and functions made of several of them.

use std::collections::BTreeSet;

use crate::{Argument, KernelSource};

/// Kernels and composites that are compiled together.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'b> {
    /// All kernels, those included that composites call.
    pub kernels: &'b [KernelSource],
    /// Functions made of them.
    pub composites: &'b [Composite],
    /// Names of the kernels that nobody but composites calls: they are not visible.
    pub inner: &'b BTreeSet<String>,
}

/// A loop of kernels as one function, with the signature of a kernel of one block. Buffers are numbered: first the
/// arguments, then those of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Composite {
    /// Name of the function.
    pub name: String,
    /// Buffers that it is given.
    pub arguments: Vec<Argument>,
    /// Sizes in bytes of buffers that live as long as a call.
    pub own: Vec<u64>,
    /// What it does.
    pub steps: Vec<Step>,
}

/// A step of a composite.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Runs all blocks of a kernel, one after the other.
    Kernel {
        /// Its name.
        kernel: String,
        /// Buffers of its parameters, then of its outputs.
        buffers: Vec<usize>,
    },
    /// Copies a buffer to another of the same size.
    Copy {
        /// Source.
        from: usize,
        /// Destination.
        to: usize,
    },
    /// Repeats `body` as long as `condition` leaves a true predicate.
    While {
        /// Computes the predicate.
        condition: Vec<Step>,
        /// A buffer of one byte.
        predicate: usize,
        /// Computes the next state.
        body: Vec<Step>,
    },
    /// Takes one branch.
    Conditional {
        /// A buffer of one byte, of which true takes the first branch, or of an `s32`; out of range it takes the last one.
        index: usize,
        /// The branches; at least one, two for a byte.
        branches: Vec<Vec<Step>>,
    },
}

impl Composite {
    /// Size of a buffer in bytes.
    pub fn bytes(&self, buffer: usize) -> Option<u64> {
        let own = || self.own.get(buffer.checked_sub(self.arguments.len())?).copied();
        self.arguments.get(buffer).map(|argument| argument.bytes).or_else(own)
    }

    /// Calls `f` for every step, those inside of others included.
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
