//! Launches of kernels.

use crate::counts::Counts;
use crate::execute::{BlockFault, Grid, Position, run};
use crate::fault::{Fault, FaultKind, Place};
use crate::memory::Memory;
use crate::module::Kernel;
use crate::stamp::Stamp;

/// A launch of a kernel.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Number of blocks of a cluster in each dimension. The numbers are 1 if the launch has no
    /// clusters.
    pub cluster: [u32; 3],
    /// Bytes of shared memory beyond the kernel's static shared memory.
    pub dynamic_shared: u32,
    /// The parameters' bytes, at the offsets that the kernel states.
    pub parameters: &'a [u8],
    /// The place of the launch in the order of all work.
    pub when: Stamp,
}

/// Choices for executions.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number of operating system threads that execute blocks.
    pub workers: usize,
    /// Largest number of instructions that a warp may execute.
    pub most_steps: u64,
    /// A seed from which the interpreter draws the errors of approximations such as `ex2.approx`.
    /// Without a seed, approximations return the rounded results.
    pub approximations: Option<u64>,
}

impl Default for Settings {
    fn default() -> Settings {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        Settings { workers, most_steps: 1 << 32, approximations: None }
    }
}

/// Executes a kernel, and returns when its last block has ended.
pub fn execute(kernel: &Kernel, launch: &Launch, memory: &Memory, settings: &Settings) -> Result<Counts, Fault> {
    check(kernel, launch).map_err(|message| Fault::of_driver(FaultKind::Launch { message }))?;
    let session = memory.begin(&launch.when);
    let total_shared = kernel.shared_bytes.next_multiple_of(DYNAMIC_ALIGNMENT) + launch.dynamic_shared;
    let grid = Grid {
        code: &kernel.code,
        session: &session,
        parameters: launch.parameters,
        reserved_shared: kernel.reserved_shared_bytes,
        local_bytes: kernel.local_bytes,
        most_steps: settings.most_steps,
        approximations: settings.approximations,
        position: Position {
            block: [0; 3],
            grid: launch.grid,
            threads: launch.block,
            cluster: launch.cluster,
            linear: 0,
            multiprocessors: kernel.multiprocessors,
            dynamic_shared: launch.dynamic_shared,
            total_shared: if launch.dynamic_shared == 0 { kernel.shared_bytes } else { total_shared },
        },
    };
    run(&grid, settings.workers).map_err(|fault| placed(kernel, launch, fault))
}

/// Alignment of dynamic shared memory.
const DYNAMIC_ALIGNMENT: u32 = 16;

/// Checks a launch against the kernel. The driver, not this function, checks the limits of the
/// device.
fn check(kernel: &Kernel, launch: &Launch) -> Result<(), String> {
    let Kernel { name, max_threads, required_threads, .. } = kernel;
    let Launch { grid, block, cluster, parameters, .. } = launch;
    let threads = block.iter().try_fold(1u32, |all, size| all.checked_mul(*size)).unwrap_or(u32::MAX);
    let blocks = grid.iter().try_fold(1u32, |all, size| all.checked_mul(*size)).unwrap_or(0);
    if threads == 0 || blocks == 0 || blocks > u32::MAX >> 1 {
        return Err(format!("a grid of {grid:?} blocks of {block:?} threads is not allowed"));
    }
    if threads > *max_threads {
        return Err(format!("kernel {name} is launched with {threads} threads; at most {max_threads} are allowed"));
    }
    if let Some(required) = required_threads.filter(|required| required != block) {
        return Err(format!("kernel {name} is launched with {block:?} threads; {required:?} are required"));
    }
    if (0..3).any(|at| cluster[at] == 0 || grid[at] % cluster[at] != 0) {
        return Err(format!("a grid of {grid:?} blocks does not consist of clusters of {cluster:?}"));
    }
    if parameters.len() != kernel.parameter_bytes() as usize {
        let (found, wanted) = (parameters.len(), kernel.parameter_bytes());
        return Err(format!("kernel {name} gets {found} bytes of parameters; it has {wanted}"));
    }
    Ok(())
}

/// Returns a fault with the place of the instruction that caused it.
fn placed(kernel: &Kernel, launch: &Launch, fault: BlockFault) -> Fault {
    let BlockFault { kind, block, thread, step, .. } = fault;
    let [x, y, _] = launch.block;
    let code = &kernel.code;
    let (line, location) = code.steps.get(step as usize).map_or((0, None), |step| (step.line, step.location));
    let text = code.text.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default();
    let source = location.map(|(file, line)| {
        let name = kernel.sources.iter().find(|(number, _)| *number == file);
        format!("{}:{line}", name.map_or("?", |(_, name)| name))
    });
    let place = Place {
        kernel: kernel.name.to_string(),
        block,
        thread: [thread % x, thread / x % y, thread / x / y],
        line,
        instruction: text.trim().to_owned(),
        source,
    };
    Fault { kind, place: Some(Box::new(place)) }
}
