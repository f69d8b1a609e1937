//! What a kernel means in any stage of the kernel IR, without making code of it: the functions are executed operation by
//! operation, the threads of a block side by side, one block after the other.
//!
//! ```text
//! machine   functions, regions, control flow            value     what an operation takes and gives
//! accesses  tensors, places in memory                    buffer    memory
//! together  what threads of a block do together          word      one element
//! ```
//!
//! What is undefined is an error where that shows: an access out of bounds, a division by zero; and, if promises are to be kept,
//! an overflow where none was to be, and an address less aligned than was said.

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

/// How a kernel is executed.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// Blocks of the grid.
    pub blocks: u64,
    /// Threads of a block.
    pub threads: u32,
    /// Lanes of a warp.
    pub warp: u32,
    /// Whether what operations promise of their operands (no overflow, alignment) has to hold.
    pub keeps_promises: bool,
    /// The longest that it may take.
    pub limit: Duration,
}

/// Why a kernel has no result.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum KernelFault {
    /// It does what has no meaning.
    #[error("{operation} at {place}: {message}")]
    Undefined {
        /// The operation.
        operation: &'static str,
        /// Where it stands or what it is for.
        place: String,
        /// What about it.
        message: String,
    },
    /// The functions are no kernel.
    #[error("the kernel is malformed: {0}")]
    Malformed(String),
    /// Nothing in the interpreter does this.
    #[error("not supported by the interpreter of kernels: {0}")]
    Unsupported(&'static str),
    /// It takes longer than it may.
    #[error("the interpreter of kernels needs more than {0:?}")]
    TooLong(Duration),
    /// The system has no thread for it.
    #[error("no thread to execute the kernel: {0}")]
    NoThread(String),
}

/// Stack of a thread that executes calls within calls.
const STACK: usize = 64 << 20;

/// Executes the function of the name `entry`, whose arguments are `buffers`: the parameters', then the outputs'. Gives them as they are
/// afterwards.
///
/// # Errors
/// Why it has no result.
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
        // All are waited for before the first fault is told.
        let done: Vec<Result<(), KernelFault>> = threads.into_iter().map(join).collect();
        done.into_iter().collect()
    })
}
