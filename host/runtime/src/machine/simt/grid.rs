//! Runs all blocks of a simulated launch.

use super::CURRENT;
use super::fault::KernelMemory;
use super::order::ThreadOrder;
use super::simulator::{GridStop, Simulator};
use crate::RunError;
use crate::code::LoadedKernel;

/// Runs one launch of a kernel, block by block. Fails if memory is short or if the simulator finds
/// a fault. For example, it is a fault if an element of a write-once output is not written exactly
/// once.
pub fn run_grid(kernel: &LoadedKernel, addresses: &[*mut u8], order: ThreadOrder) -> Result<(), RunError> {
    super::trace::launch(&kernel.image.symbol);
    let simulator = Simulator::new(kernel, addresses, order);
    let before = CURRENT.replace(&raw const simulator);
    let done = run_blocks(kernel, &simulator, order);
    CURRENT.set(before);
    if let Some(short) = simulator.checker.borrow().short {
        return Err(RunError::Memory { bytes: short.bytes });
    }
    let image = &kernel.image;
    let faulty = |report| RunError::Kernel { kernel: image.symbol.clone(), emitter: image.emitter.clone(), report };
    match done {
        Ok(()) => simulator.checker.borrow_mut().check_coverage(),
        Err(GridStop::Fault) => {}
        Err(GridStop::Stack(error)) => return Err(faulty(format!("  no stack for another thread: {error}"))),
    }
    let report = simulator.checker.borrow().report(&|memory| name_of(kernel, memory), &|number| kernel.site(number));
    report.map_or(Ok(()), |report| Err(faulty(report)))
}

fn run_blocks(kernel: &LoadedKernel, simulator: &Simulator, order: ThreadOrder) -> Result<(), GridStop> {
    let blocks = kernel.image.blocks;
    let mut fibers = simulator.fibers();
    (0..blocks).try_for_each(|turn| simulator.run_block(order.at(turn, blocks) as u32, &mut fibers))
}

/// Returns the name of a memory for messages. For an argument, the result contains the name of the
/// argument's instruction in the program.
fn name_of(kernel: &LoadedKernel, memory: KernelMemory) -> String {
    let arguments = &kernel.image.arguments;
    let parameters = arguments.iter().filter(|argument| argument.access == crate::Access::Read).count();
    let named = |what: &str, number: usize, argument: usize| {
        let name = arguments.get(argument).map_or("", |argument| argument.name.as_str());
        let name = if name.is_empty() { String::new() } else { format!(" ({name})") };
        format!("{what} {number}{name}")
    };
    match memory {
        KernelMemory::Parameter(number) => named("parameter", number, number),
        KernelMemory::Output(number) => named("output", number, parameters + number),
        KernelMemory::Tile(number) => format!("shared tile {number}"),
        KernelMemory::Unknown => "an unknown tensor".into(),
    }
}
