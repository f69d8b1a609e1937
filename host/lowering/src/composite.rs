//! Input of one compilation: kernels, and composites, which are functions that call several
//! kernels.

use std::collections::BTreeSet;
use std::convert::Infallible;

use fusebox_thunks::Thunk;

use crate::{Argument, KernelSource};

/// Kernels and composites that are compiled together.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'b> {
    /// All kernels, including the kernels that composites call.
    pub kernels: &'b [KernelSource],
    /// Functions that call several of the batch's kernels.
    pub composites: &'b [Composite],
    /// Names of the kernels that only composites call. The compiled code does not export kernels
    /// that only composites call.
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
    /// Sizes in bytes of the composite's own buffers. A composite's own buffers exist only during a
    /// call of the composite.
    pub own: Vec<u64>,
    /// Steps, in order of execution.
    pub steps: Vec<Step>,
}

/// A step of a composite. A step identifies each buffer by the buffer's number. A launch runs all
/// blocks of the named kernel, one after the other. A composite executes no host operations.
pub type Step = Thunk<usize, String, Infallible>;

impl Composite {
    /// Returns the size of a buffer in bytes.
    pub fn bytes(&self, buffer: usize) -> Option<u64> {
        let own = || self.own.get(buffer.checked_sub(self.arguments.len())?).copied();
        self.arguments.get(buffer).map(|argument| argument.bytes).or_else(own)
    }
}
