//! Runs programs in the host's memory. Kernels of the cpu target run on a thread pool. Kernels of
//! the simt target run in the simulator.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fusebox_routines::{CallingThread, Context, Workers};

use super::options::Options;
use super::simt::{self, ThreadOrder};
use super::thunks::{Machine, in_order};
use crate::code::{CpuFunction, HostCode, LoadedHostOp, LoadedKernel, Watch};
use crate::executable::ALIGNMENT;
use crate::processor::{Pool, subnormals};
use crate::{Allocation, AllocationKind, Buffer, Executable, LoadError, RunError, Slice, Sweep, Thunk};

/// Maximum size in bytes of a copy that a single thread makes. Several threads make larger copies,
/// in chunks of about this size.
pub const PART_BYTES: u64 = 256 << 10;

/// Minimum number of bytes per thread of a sweep. A sweep of fewer bytes takes less time than the
/// start of another thread.
const SWEPT_BYTES: u64 = 32 << 10;

/// A program that is loaded in the host's memory.
#[derive(Debug)]
pub struct Host {
    buffers: Vec<Buffer>,
    code: HostCode,
    /// The thread pool of the cpu target; `None` for the simt target.
    pool: Option<Arc<Pool>>,
    order: ThreadOrder,
}

impl Host {
    /// Links the code and allocates the buffers. For the cpu target, `pool` is the pool that
    /// executes kernels. If `pool` is `None`, the simulator executes kernels, in the thread order
    /// that the options set. Fails if the code cannot be linked or memory is short.
    pub fn load(
        executable: &Executable,
        host_ops: Vec<LoadedHostOp>,
        pool: Option<Arc<Pool>>,
        options: &Options,
    ) -> Result<Host, LoadError> {
        let watchdog = options.watchdog.as_ref().filter(|_| pool.is_some());
        let code = HostCode::load(executable, host_ops, watchdog, &simt::symbol)?;
        let buffers = executable.allocations.iter().map(allocate).collect::<Result<Vec<_>, _>>()?;
        Ok(Host { buffers, code, pool, order: options.order })
    }

    /// Starts a thread pool for the cpu target. Fails if the system refuses to start threads.
    pub fn start_pool(options: &Options) -> Result<Arc<Pool>, LoadError> {
        let pool = Pool::new(options.thread_count())
            .map_err(|source| LoadError::System { what: "starting threads", source })?;
        Ok(Arc::new(pool))
    }

    pub(crate) fn kernel(&self, number: u32) -> &LoadedKernel {
        self.code.kernel(number)
    }

    pub(crate) fn address(&self, slice: &Slice) -> *mut u8 {
        // SAFETY: the slice lies within its allocation (checked at load).
        unsafe { self.buffers[slice.allocation as usize].address().add(slice.offset as usize) }
    }
}

impl Machine for Host {
    fn execute(&mut self, thunks: &[Thunk]) -> Result<Duration, RunError> {
        let start = Instant::now();
        self.run(thunks)?;
        Ok(start.elapsed())
    }

    fn run(&mut self, thunks: &[Thunk]) -> Result<(), RunError> {
        let Some(pool) = self.pool.clone() else {
            return in_order(self, thunks, &mut |machine, thunk| machine.step(thunk));
        };
        thunks.iter().try_for_each(|thunk| match thunk {
            Thunk::While { .. } | Thunk::Conditional { .. } => self.repeat(thunk, &pool),
            single => self.step(single),
        })
    }

    fn launch(&mut self, kernel: u32, arguments: &[Slice]) -> Result<(), RunError> {
        let kernel = self.kernel(kernel);
        let addresses: Vec<*mut u8> = arguments.iter().map(|s| self.address(s)).collect();
        match &self.pool {
            Some(pool) => {
                let _launch = kernel.watch.as_ref().map(Watch::launch);
                call(kernel.cpu_function(), kernel.image.blocks, &addresses, pool);
            }
            None => simt::run_grid(kernel, &addresses, self.order)?,
        }
        Ok(())
    }

    fn copy(&mut self, from: &Slice, to: &Slice) -> Result<(), RunError> {
        let (source, target) = (self.address(from) as usize, self.address(to) as usize);
        let threads = self.pool.as_ref().map_or(1, |pool| pool.threads());
        let part = even_part(from.bytes, PART_BYTES, threads);
        let copy = |parts: Range<u64>| {
            let (start, end) = (parts.start * part, (parts.end * part).min(from.bytes));
            // SAFETY: both slices lie in their allocations, have equal sizes and do not overlap
            // (checked at load).
            unsafe {
                let (source, target) = (source as *const u8, target as *mut u8);
                std::ptr::copy_nonoverlapping(
                    source.add(start as usize),
                    target.add(start as usize),
                    (end - start) as usize,
                );
            }
        };
        match &self.pool {
            Some(pool) if from.bytes > PART_BYTES => pool.run(from.bytes.div_ceil(part), &copy),
            _ => copy(0..from.bytes.div_ceil(part)),
        }
        Ok(())
    }

    fn read(&self, slice: &Slice) -> Result<Cow<'_, [u8]>, RunError> {
        Ok(Cow::Borrowed(&self.buffers[slice.allocation as usize].as_slice()[range(slice)]))
    }

    fn write(&mut self, slice: &Slice, bytes: &[u8]) -> Result<(), RunError> {
        self.buffers[slice.allocation as usize].as_mut_slice()[range(slice)].copy_from_slice(bytes);
        Ok(())
    }

    fn buffers(&mut self) -> &mut [Buffer] {
        &mut self.buffers
    }

    fn evict(&mut self) -> Result<(), RunError> {
        for buffer in &self.buffers {
            let bytes = buffer.as_slice().len();
            let evict = |parts: Range<u64>| {
                buffer.evict((parts.start * PART_BYTES) as usize..((parts.end * PART_BYTES) as usize).min(bytes));
            };
            match &self.pool {
                Some(pool) => pool.run((bytes as u64).div_ceil(PART_BYTES), &evict),
                None => buffer.evict(0..bytes),
            }
        }
        // Wake the workers, so that the time of the next execution does not include their wake-up.
        if let Some(pool) = &self.pool {
            pool.wake();
        }
        Ok(())
    }

    fn sweep(&mut self, sweep: Sweep) -> Option<Duration> {
        let (pool, buffer) = (self.pool.as_ref()?, self.buffers.first()?);
        let bytes = sweep.bytes.min(buffer.as_slice().len());
        let part = even_part(bytes as u64, SWEPT_BYTES, pool.threads()) as usize;
        let mut parts: Vec<_> = (0..bytes).step_by(part).map(|start| start..(start + part).min(bytes)).collect();
        if sweep.is_backward {
            let per_thread = parts.len().div_ceil(pool.threads() as usize).max(1);
            parts.chunks_mut(per_thread).for_each(<[_]>::reverse);
        }
        let go = |range: Range<u64>| {
            for bytes in &parts[range.start as usize..range.end as usize] {
                // SAFETY: parts do not overlap. This call borrows the machine exclusively, so no
                // other code accesses the buffer.
                unsafe { buffer.sweep(sweep.passage, bytes.clone()) }
            }
        };
        let start = Instant::now();
        pool.run(parts.len() as u64, &go);
        Some(start.elapsed())
    }

    fn pool(&self) -> Option<Arc<Pool>> {
        self.pool.clone()
    }

    fn host_op(&mut self, op: u32, arguments: &[Slice], results: &[Slice]) -> Result<(), RunError> {
        // SAFETY: slices lie within their allocations, and no result overlaps an argument or
        // another result (checked at load). This call borrows the machine exclusively, so no other
        // code accesses the buffers.
        let arguments: Vec<&[u8]> = arguments
            .iter()
            .map(|slice| unsafe { std::slice::from_raw_parts(self.address(slice), slice.bytes as usize) })
            .collect();
        // SAFETY: as above.
        let mut results: Vec<&mut [u8]> = results
            .iter()
            .map(|slice| unsafe { std::slice::from_raw_parts_mut(self.address(slice), slice.bytes as usize) })
            .collect();
        let workers: &dyn Workers = match &self.pool {
            Some(pool) => &**pool,
            None => &CallingThread,
        };
        let context = Context { workers };
        let mut execute = || self.code.host_op(op).execute(&arguments, &mut results, &context);
        // GPUs compute with subnormal numbers, so the kernels and the routines of a simulated
        // program do so, too. Programs of the cpu target flush subnormal numbers to zero.
        if self.pool.is_some() { subnormals::flushed(execute) } else { execute() }
    }
}

/// Splits `bytes` bytes into parts so that all threads process the same number of parts, and
/// returns the size of a part in bytes. A part has about `least` bytes or more. A part has fewer
/// bytes only if there is one part per thread. The size is a multiple of a cache line.
fn even_part(bytes: u64, least: u64, threads: u64) -> u64 {
    let per_thread = (bytes / (least * threads)).max(1);
    bytes.div_ceil(per_thread * threads).max(1).next_multiple_of(ALIGNMENT as u64)
}

/// Executes all blocks of a kernel of the cpu target. If there are several blocks, the pool
/// distributes them among its threads.
pub(crate) fn call(function: CpuFunction, blocks: u64, arguments: &[*mut u8], pool: &Pool) {
    let arguments = arguments.as_ptr() as usize;
    let task = |blocks: Range<u64>| {
        // SAFETY: the arguments are the buffers of this launch, in the order of the kernel's
        // parameters. The buffers outlive the launch, and different blocks write different bytes.
        let call = || unsafe { function(arguments as *const _, blocks.start as i64, blocks.end as i64) };
        subnormals::flushed(call);
    };
    if blocks > 1 { pool.run(blocks, &task) } else { task(0..blocks) }
}

fn range(slice: &Slice) -> Range<usize> {
    slice.offset as usize..(slice.offset + slice.bytes) as usize
}

fn allocate(allocation: &Allocation) -> Result<Buffer, LoadError> {
    let buffer = match &allocation.kind {
        AllocationKind::Constant(data) => Buffer::from_bytes(data),
        AllocationKind::Parameter | AllocationKind::Donated | AllocationKind::Temporary => {
            usize::try_from(allocation.bytes).ok().and_then(Buffer::zeroed)
        }
    };
    buffer.ok_or(LoadError::Memory { bytes: allocation.bytes })
}

#[cfg(test)]
mod tests {
    use super::{PART_BYTES, even_part};

    #[test]
    fn threads_have_equally_many_parts() {
        for (bytes, threads) in [(655_360, 2), (300_000, 16), (PART_BYTES * 5 + 1, 4), (1, 2)] {
            let part = even_part(bytes, PART_BYTES, threads);
            let parts = bytes.div_ceil(part);
            assert!(
                parts.is_multiple_of(threads) || part == 64,
                "{bytes} bytes, {threads} threads: {parts} parts of {part}"
            );
        }
    }
}
