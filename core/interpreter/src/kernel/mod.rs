//! An interpreter of kernels at any stage of the kernel IR. The interpreter executes the functions
//! operation by operation, without generating code. The threads of a block run concurrently; the
//! blocks run one after the other.
//!
//! ```text
//! machine   functions, regions, control flow    value     operands and results of operations
//! accesses  accesses to tensors and memory      buffer    memory of the kernel
//! together  barriers, exchanges, common tiles   word      operations on single elements
//! ```
//!
//! The interpreter reports two kinds of undefined behaviour as errors: accesses out of bounds, and
//! divisions by zero. If [`Launch::keeps_promises`] is set, the interpreter also reports overflows
//! despite a no-overflow flag, and insufficiently aligned addresses.

mod accesses;
mod buffer;
mod machine;
mod together;
mod value;
mod word;

use std::time::{Duration, Instant};

use fusebox_core::ir::{Function, verify};
use thiserror::Error;

use buffer::Buffer;
use machine::Machine;
use together::Block;

/// Parameters of an execution.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// Number of blocks in the grid.
    pub blocks: u64,
    /// Number of threads in a block.
    pub threads: u32,
    /// Number of lanes in a warp.
    pub warp: u32,
    /// Whether the interpreter checks what operations promise about their operands: no overflow,
    /// sufficient alignment.
    pub keeps_promises: bool,
    /// The time limit.
    pub limit: Duration,
}

/// A reason why the interpreter cannot compute a kernel's result.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum KernelFault {
    /// The kernel has undefined behaviour.
    #[error("{operation} at {place}: {message}")]
    Undefined {
        /// The operation.
        operation: &'static str,
        /// Origin of the operation: the HLO instruction that it computes, or a position in a text
        /// or in Rust code.
        place: String,
        /// The undefined behaviour.
        message: String,
    },
    /// The functions are not a valid kernel.
    #[error("the kernel is malformed: {0}")]
    Malformed(String),
    /// The interpreter does not implement the operation.
    #[error("not supported by the interpreter of kernels: {0}")]
    Unsupported(&'static str),
    /// The execution exceeds the time limit.
    #[error("the kernel did not end within the interpreter's time limit of {0:?}")]
    TooLong(Duration),
    /// The system cannot create a thread.
    #[error("cannot create a thread that executes the kernel: {0}")]
    NoThread(String),
}

/// Stack size of a thread in bytes, large enough for nested calls.
const STACK: usize = 64 << 20;

/// Executes the function `entry` with `buffers` as arguments: first the parameters, then the
/// outputs. Returns the contents of the buffers after the execution.
///
/// # Errors
/// Returns the reason why the execution has no result.
pub fn execute(
    functions: &[Function],
    entry: &str,
    buffers: Vec<Vec<u8>>,
    launch: &Launch,
) -> Result<Vec<Vec<u8>>, KernelFault> {
    verify(functions).map_err(|fault| KernelFault::Malformed(format!("{}: {}", fault.place, fault.message)))?;
    let entry = functions.iter().find(|function| function.name == entry);
    let entry = entry.ok_or_else(|| KernelFault::Malformed("it has no entry function".into()))?;
    if entry.body.arguments.len() != buffers.len() {
        return Err(KernelFault::Malformed(format!("its entry function does not take {} arguments", buffers.len())));
    }
    let arguments: Vec<Buffer> = buffers.into_iter().map(Buffer::of).collect();
    let end = Instant::now() + launch.limit;
    for block in 0..launch.blocks {
        execute_block(functions, entry, &arguments, &Block::new(block, launch, end))?;
    }
    Ok(arguments.iter().map(Buffer::bytes).collect())
}

fn execute_block(
    functions: &[Function],
    entry: &Function,
    arguments: &[Buffer],
    block: &Block,
) -> Result<(), KernelFault> {
    std::thread::scope(|scope| {
        let start = |thread: u32| {
            let builder = std::thread::Builder::new().stack_size(STACK);
            let run = move || {
                let done = Machine::new(functions, block, thread).entry(entry, arguments);
                block.leave(thread);
                done
            };
            builder.spawn_scoped(scope, run).map_err(|error| {
                block.leave(thread);
                KernelFault::NoThread(error.to_string())
            })
        };
        let threads: Vec<_> = (0..block.threads()).map(start).collect();
        let join = |thread: Result<std::thread::ScopedJoinHandle<'_, _>, KernelFault>| {
            thread?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        // Join all threads before returning the first fault.
        let done: Vec<Result<(), KernelFault>> = threads.into_iter().map(join).collect();
        done.into_iter().collect()
    })
}
