//! Runs all threads of all blocks.

use std::ffi::c_void;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};

use super::CURRENT;
use super::checker::Checker;
use crate::RunError;
use crate::kernel::{LoadedKernel, SimtFunction};

/// Stack of the coroutine a grid runs on.
const STACK_BYTES: usize = 1 << 20;

/// Runs a kernel without barriers: one thread after the other, all on one coroutine.
///
/// # Errors
/// If a thread accessed memory it must not, or an output element was not written exactly once.
pub fn run_grid(kernel: &LoadedKernel, addresses: &[*mut u8]) -> Result<(), RunError> {
    let mut checker = Checker::new(&kernel.image.arguments, addresses);
    if on_coroutine(kernel, addresses, &mut checker)? {
        checker.check_coverage();
    }
    match checker.report(|number| kernel.site(number)) {
        None => Ok(()),
        Some(report) => Err(RunError::Kernel { kernel: kernel.image.symbol.clone(), report }),
    }
}

/// Whether the grid came to its end.
fn on_coroutine(kernel: &LoadedKernel, addresses: &[*mut u8], checker: &mut Checker) -> Result<bool, RunError> {
    let stack = DefaultStack::new(STACK_BYTES).map_err(|e| RunError::Kernel {
        kernel: kernel.image.symbol.clone(),
        report: format!("  no stack for the simulator: {e}"),
    })?;
    let checker: *mut Checker = checker;
    let launch = (kernel.simt_function(), kernel.image.blocks, kernel.image.threads_per_block);
    let arguments = addresses.as_ptr().cast::<*mut c_void>();
    let mut coroutine = Coroutine::<(), (), (), _>::with_stack(stack, move |yielder, ()| {
        // SAFETY: the checker outlives the coroutine, which runs to its end or is abandoned below.
        unsafe { (*checker).run_on(yielder) };
        // SAFETY: as above; `arguments` points to the launch's buffers in the order of the signature.
        unsafe { run_threads(launch, arguments, checker) };
    });
    let before = CURRENT.replace(checker);
    let result = coroutine.resume(());
    CURRENT.set(before);
    match result {
        CoroutineResult::Return(()) => Ok(true),
        CoroutineResult::Yield(()) => {
            // SAFETY: the frames left on the stack are the kernel's and `run_threads`'; they own nothing.
            unsafe { coroutine.force_reset() };
            Ok(false)
        }
    }
}

/// # Safety
/// `arguments` must hold the kernel's buffers and `checker` be alive.
unsafe fn run_threads(
    (function, blocks, threads): (SimtFunction, u64, u32),
    arguments: *const *mut c_void,
    checker: *mut Checker,
) {
    for block in 0..blocks {
        for thread in 0..threads {
            // SAFETY: alive by contract, and only this thread uses it.
            unsafe { ((*checker).block, (*checker).thread) = (block, thread) };
            // SAFETY: the arguments are those the kernel was compiled for.
            unsafe { function(arguments, block as i64, i64::from(thread)) };
        }
    }
}
