//! Creates the options with which programs run.

use std::time::Duration;

use fusebox_choices::{bundled, threads};
use fusebox_plugins::LoadedEmitter;
use fusebox_run::{collective_limit, terminal};
use fusebox_runtime::{KernelImage, Options, Watchdog};

use crate::arguments::CompilationArguments;
use crate::exit::Failure;

/// Default time limit of a kernel whose emitter is not bundled.
const KERNEL_TIME: Duration = Duration::from_secs(20);

/// Returns the options with which programs run. If the emitter of a kernel is not bundled, the
/// kernel has a time limit; `--kernel-time` limits all kernels.
pub fn options(compiling: &CompilationArguments) -> Result<Options, Failure> {
    let wanted = compiling.emitters.kernel_time.map(|seconds| Duration::from_secs(seconds.get().into()));
    let limit = wanted.unwrap_or(KERNEL_TIME);
    let is_limited = move |kernel: &KernelImage| wanted.is_some() || !is_bundled(kernel);
    let watchdog = Watchdog::start(limit, is_limited, move |kernel| end_process(kernel, limit));
    let watchdog = watchdog.map_err(|error| Failure::input(format!("cannot start a thread: {error}")))?;
    let threads = threads(compiling.threads);
    let collective_limit = collective_limit().map_err(Failure::input)?;
    let options = Options { threads, watchdog: Some(watchdog), collective_limit, ..Options::default() };
    Ok(compiling.gpu.applied(options))
}

/// Whether a bundled emitter built this kernel.
fn is_bundled(kernel: &KernelImage) -> bool {
    let is_of = |emitter: &LoadedEmitter| {
        let descriptor = emitter.descriptor();
        kernel.emitter == format!("{} {}", descriptor.name, descriptor.version)
    };
    bundled().is_ok_and(|registry| registry.emitters().iter().any(is_of))
}

/// Reports the kernel and ends the whole process, because a thread that runs a kernel cannot be
/// stopped.
fn end_process(kernel: &KernelImage, limit: Duration) {
    let KernelImage { symbol, emitter, .. } = kernel;
    let seconds = limit.as_secs();
    terminal::complain(&format!(
        "error: kernel `{symbol}` of emitter {emitter} has not ended after {seconds} s; with `--target simt` an endless loop is \
         reported with its line, `--kernel-time SECONDS` gives the kernel longer"
    ));
    std::process::exit(1);
}
