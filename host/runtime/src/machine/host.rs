//! Runs programs in the host's memory. Kernels of the cpu target run on a thread pool. Kernels of
//! the simt target run in the simulator.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fusebox_routines::{CallingThread, Collectives, Context};

use super::devices::DeviceCode;
use super::frame::{Frame, Launch};
use super::options::Options;
use super::simt::{self, ThreadOrder};
use super::thunks::{Machine, in_order};
use crate::code::{CpuFunction, HostCode, LoadedHostOp, LoadedKernel, ObservedLaunches, Watch, WatchedLaunch};
use crate::executable::ALIGNMENT;
use crate::processor::{Pool, WithSubnormals, subnormals};
use crate::{Executable, LoadError, RunError, Slice, Thunk};

/// Maximum size in bytes of a copy that a single thread makes. Several threads together make a
/// larger copy, in chunks of about this size.
pub const PART_BYTES: u64 = 256 << 10;

/// A program that is loaded in the host. A loaded program does not change, so any number of threads
/// can execute it at the same time.
#[derive(Debug)]
pub struct HostProgram {
    code: HostCode,
    /// For each host operation, its code if the operation is a manual computation.
    on_devices: Vec<Option<DeviceCode>>,
    executor: HostExecutor,
}

/// The threads that execute kernels.
#[derive(Clone, Debug)]
pub enum HostExecutor {
    /// The threads of a pool execute kernels of the cpu target.
    Pool(Arc<Pool>),
    /// The simulator executes kernels of the simt target in this order of threads.
    Simulator(ThreadOrder),
}

/// An execution of a program in the host.
pub struct HostRun<'e> {
    program: &'e HostProgram,
    frame: &'e mut Frame,
}

impl HostExecutor {
    /// Returns the thread pool; `None` for the simulator.
    pub fn pool(&self) -> Option<&Arc<Pool>> {
        if let HostExecutor::Pool(pool) = self { Some(pool) } else { None }
    }
}

impl HostProgram {
    /// Links the code. Fails if the code cannot be linked.
    pub fn load(
        executable: &Executable,
        host_ops: Vec<LoadedHostOp>,
        executor: HostExecutor,
        options: &Options,
    ) -> Result<HostProgram, LoadError> {
        let watchdog = options.watchdog.as_ref().filter(|_| executor.pool().is_some());
        let code = HostCode::load(executable, host_ops, watchdog, &simt::symbol)?;
        let limit = options.waits_for_devices();
        let on_devices = executable
            .host_ops
            .iter()
            .map(|op| op.per_device.as_ref().map(|code| DeviceCode::load(code, watchdog, limit)).transpose());
        Ok(HostProgram { code, on_devices: on_devices.collect::<Result<_, _>>()?, executor })
    }
}

impl<'e> HostRun<'e> {
    /// Returns an execution of a program.
    ///
    /// # Safety
    /// For each allocation of the program, the frame must hold the address of memory of the
    /// allocation's size. The memory must stay valid during the execution. No other code may write
    /// to the memory of the allocations, and no other code may access memory that the program
    /// writes.
    pub unsafe fn new(program: &'e HostProgram, frame: &'e mut Frame) -> HostRun<'e> {
        HostRun { program, frame }
    }

    pub(crate) fn kernel(&self, number: u32) -> &'e LoadedKernel {
        self.program.code.kernel(number)
    }

    pub(crate) fn frame(&self) -> &Frame {
        self.frame
    }

    /// Returns the bytes of a slice.
    fn bytes(&self, slice: &Slice) -> &[u8] {
        // SAFETY: the slice lies within its allocation (checked at load), whose memory is valid and
        // does not change during this borrow.
        unsafe { std::slice::from_raw_parts(self.frame.address(slice), slice.bytes as usize) }
    }
}

impl Machine for HostRun<'_> {
    fn execute(&mut self, thunks: &[Thunk]) -> Result<Duration, RunError> {
        let start = Instant::now();
        self.run(thunks)?;
        Ok(start.elapsed())
    }

    fn execute_untimed(&mut self, thunks: &[Thunk]) -> Result<(), RunError> {
        self.run(thunks)
    }

    fn run(&mut self, thunks: &[Thunk]) -> Result<(), RunError> {
        let program = self.program;
        let HostExecutor::Pool(pool) = &program.executor else {
            return in_order(self, thunks, &mut |machine, thunk| machine.step(thunk));
        };
        thunks.iter().try_for_each(|thunk| match thunk {
            Thunk::While { .. } | Thunk::Conditional { .. } => self.repeat(thunk, pool),
            single => self.step(single),
        })
    }

    fn launch(&mut self, kernel: u32, arguments: &[Slice]) -> Result<(), RunError> {
        let kernel = self.kernel(kernel);
        let Launch { arguments, launches } = self.frame.arguments(arguments);
        match &self.program.executor {
            HostExecutor::Pool(pool) => {
                let _launch = watched(kernel.watch.as_ref(), launches);
                call(kernel.cpu_function(), kernel.image.blocks, arguments, pool);
            }
            HostExecutor::Simulator(order) => simt::run_grid(kernel, arguments, *order)?,
        }
        Ok(())
    }

    fn copy(&mut self, from: &Slice, to: &Slice) -> Result<(), RunError> {
        let (source, target) = (self.frame.address(from) as usize, self.frame.address(to) as usize);
        let pool = self.program.executor.pool();
        let threads = pool.map_or(1, |pool| pool.threads());
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
        match pool {
            Some(pool) if from.bytes > PART_BYTES => pool.run(from.bytes.div_ceil(part), &copy),
            _ => copy(0..from.bytes.div_ceil(part)),
        }
        Ok(())
    }

    fn read(&self, slice: &Slice) -> Result<Cow<'_, [u8]>, RunError> {
        Ok(Cow::Borrowed(self.bytes(slice)))
    }

    fn write(&mut self, slice: &Slice, bytes: &[u8]) -> Result<(), RunError> {
        // SAFETY: the slice lies within its allocation (checked at load). This call borrows the
        // execution exclusively, so no other code accesses the memory.
        let target = unsafe { std::slice::from_raw_parts_mut(self.frame.address(slice), slice.bytes as usize) };
        target.copy_from_slice(bytes);
        Ok(())
    }

    fn host_op(&mut self, op: u32, arguments: &[Slice], results: &[Slice]) -> Result<(), RunError> {
        let program = self.program;
        if let Some(code) = &program.on_devices[op as usize] {
            // SAFETY: the frame's memory stays valid and is not accessed otherwise. The frame of a
            // device holds the addresses of its memory.
            let execute = |frame: &mut Frame| unsafe { HostRun::new(program, frame) }.run(&code.code.thunks);
            // SAFETY: slices lie within their allocations and no result overlaps an argument or
            // another result (checked at load). This call borrows the execution exclusively.
            return unsafe { code.run(self.frame, (arguments, results), &execute) };
        }
        let arguments: Vec<&[u8]> = arguments.iter().map(|slice| self.bytes(slice)).collect();
        // SAFETY: slices lie within their allocations, and no result overlaps an argument or
        // another result (checked at load). This call borrows the execution exclusively, so no
        // other code accesses the memory.
        let written =
            |slice: &Slice| unsafe { std::slice::from_raw_parts_mut(self.frame.address(slice), slice.bytes as usize) };
        let mut results: Vec<&mut [u8]> = results.iter().map(written).collect();
        let operation = self.program.code.host_op(op);
        let generator = self.frame.generator();
        let collectives = self.frame.connection().map(|it| it as &dyn Collectives);
        let mut execute =
            |workers| operation.execute(&arguments, &mut results, &Context { workers, generator, collectives });
        // GPUs compute with subnormal numbers, so the kernels and the routines of a simulated
        // program do so, too. Programs of the cpu target flush subnormal numbers to zero.
        match self.program.executor.pool() {
            None => execute(&CallingThread),
            Some(pool) if operation.needs_subnormals() => execute(&WithSubnormals(pool)),
            Some(pool) => subnormals::flushed(|| execute(&**pool)),
        }
    }
}

/// Tells the watchdog that a launch is running, until the result is dropped.
pub(crate) fn watched<'l>(watch: Option<&Watch>, launches: Option<&'l ObservedLaunches>) -> Option<WatchedLaunch<'l>> {
    Some(watch?.launch(launches?))
}

/// Splits `bytes` bytes into parts so that all threads process the same number of parts, and
/// returns the size of a part in bytes. A part has about `least` bytes or more. If there is only
/// one part per thread, a part may have fewer bytes. The size of a part is a multiple of the size
/// of a cache line.
pub fn even_part(bytes: u64, least: u64, threads: u64) -> u64 {
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
