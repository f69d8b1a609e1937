//! Executes thunk sequences on the host's memory.

use std::ops::Range;

use crate::host_op::LoadedHostOp;
use crate::kernel::LoadedKernel;
use crate::memory::Buffer;
use crate::pool::Pool;
use crate::{RunError, Slice, ThreadOrder, Thunk, simt};

/// Large copies are shared out among the pool in parts of so many bytes.
const COPY_PART: u64 = 256 << 10;

/// Everything a sequence needs besides itself.
pub struct Machine<'a> {
    /// The program's memory.
    pub buffers: &'a mut [Buffer],
    /// The program's kernels.
    pub kernels: &'a [LoadedKernel],
    /// The program's host operations.
    pub host_ops: &'a [LoadedHostOp],
    /// Executes the blocks of cpu kernels; `None` simulates GPU kernels.
    pub pool: Option<&'a Pool>,
    /// The order in which simulated threads run.
    pub order: ThreadOrder,
}

impl Machine<'_> {
    /// Executes thunks in order.
    pub fn run(&mut self, thunks: &[Thunk]) -> Result<(), RunError> {
        thunks.iter().try_for_each(|thunk| self.step(thunk))
    }

    fn step(&mut self, thunk: &Thunk) -> Result<(), RunError> {
        match thunk {
            Thunk::Kernel { kernel, arguments } => self.launch(*kernel, arguments),
            Thunk::Copy { from, to } => self.copy(from, to),
            Thunk::HostOp { op, arguments, results } => self.host_op(*op, arguments, results),
            Thunk::While { condition, predicate, body, .. } => self.repeat(condition, predicate, body),
            Thunk::Conditional { index, branches, .. } => self.branch(index, branches),
        }
    }

    fn launch(&mut self, kernel: u32, arguments: &[Slice]) -> Result<(), RunError> {
        let kernel = &self.kernels[kernel as usize];
        let addresses: Vec<*mut u8> = arguments.iter().map(|s| self.address(s)).collect();
        match self.pool {
            Some(pool) => launch_cpu(kernel, &addresses, pool),
            None => simt::run_grid(kernel, &addresses, self.order)?,
        }
        Ok(())
    }

    fn copy(&mut self, from: &Slice, to: &Slice) -> Result<(), RunError> {
        let (source, target) = (self.address(from) as usize, self.address(to) as usize);
        let copy = |parts: Range<u64>| {
            let end = (parts.end * COPY_PART).min(from.bytes);
            let (start, length) = ((parts.start * COPY_PART) as usize, end - parts.start * COPY_PART);
            // SAFETY: slices lie in their allocations, have equal sizes and do not overlap (checked at load).
            unsafe {
                let (source, target) = (source as *const u8, target as *mut u8);
                std::ptr::copy_nonoverlapping(source.add(start), target.add(start), length as usize);
            }
        };
        let parts = from.bytes.div_ceil(COPY_PART);
        match self.pool {
            Some(pool) if parts > 1 => pool.run(parts, &copy),
            _ => copy(0..parts),
        }
        Ok(())
    }

    fn host_op(&mut self, op: u32, arguments: &[Slice], results: &[Slice]) -> Result<(), RunError> {
        let inputs: Vec<&[u8]> = arguments.iter().map(|s| self.bytes(s)).collect();
        let values = self.host_ops[op as usize].execute(&inputs)?;
        for (slice, value) in results.iter().zip(values) {
            self.bytes_mut(slice).copy_from_slice(&value.data);
        }
        Ok(())
    }

    fn repeat(&mut self, condition: &[Thunk], predicate: &Slice, body: &[Thunk]) -> Result<(), RunError> {
        loop {
            self.run(condition)?;
            if self.bytes(predicate)[0] == 0 {
                return Ok(());
            }
            self.run(body)?;
        }
    }

    fn branch(&mut self, index: &Slice, branches: &[Vec<Thunk>]) -> Result<(), RunError> {
        self.run(&branches[branch_taken(self.bytes(index), branches.len())])
    }

    fn address(&self, slice: &Slice) -> *mut u8 {
        // SAFETY: the slice lies within its allocation (checked at load).
        unsafe { self.buffers[slice.allocation as usize].address().add(slice.offset as usize) }
    }

    fn bytes(&self, slice: &Slice) -> &[u8] {
        &self.buffers[slice.allocation as usize].as_slice()
            [slice.offset as usize..(slice.offset + slice.bytes) as usize]
    }

    fn bytes_mut(&mut self, slice: &Slice) -> &mut [u8] {
        let range = slice.offset as usize..(slice.offset + slice.bytes) as usize;
        &mut self.buffers[slice.allocation as usize].as_mut_slice()[range]
    }
}

/// Which of `count` branches a conditional takes: a `pred` chooses between the first two, an `s32` by number.
pub fn branch_taken(index: &[u8], count: usize) -> usize {
    let last = count - 1;
    let choice = match *index {
        [pred] => usize::from(pred == 0),
        [a, b, c, d] => usize::try_from(i32::from_le_bytes([a, b, c, d])).unwrap_or(last),
        _ => last,
    };
    choice.min(last)
}

fn launch_cpu(kernel: &LoadedKernel, addresses: &[*mut u8], pool: &Pool) {
    let function = kernel.cpu_function();
    let arguments = addresses.as_ptr() as usize;
    pool.run(kernel.image.blocks, &|blocks| {
        // SAFETY: the arguments are the launch's buffers in the order of the signature, they outlive the
        // launch, and different blocks write different bytes.
        unsafe { function(arguments as *const _, blocks.start as i64, blocks.end as i64) }
    });
}
