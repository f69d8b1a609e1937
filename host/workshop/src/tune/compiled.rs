//! Compiles each contender to a separate program.

use std::sync::Mutex;

use fusebox_compiler::{Dump, Options, Phase, Progress};
use fusebox_runtime::Executable;

use super::TuningSettings;
use super::contenders::Contender;

/// A compiled contender.
pub struct CompiledContender {
    /// Position of the contender in the fixed order, which decides ties.
    pub place: usize,
    /// Name of the contender.
    pub name: String,
    /// Whether only bundled emitters build the contender's kernels.
    pub is_bundled: bool,
    /// The program with its predicted microseconds, or the reason why there is no program.
    pub program: Result<(Executable, f64), String>,
}

/// Compiles all contenders in parallel. Each thread compiles one contender at a time. Returns
/// `None` if the tuning is interrupted.
pub fn all(contenders: Vec<Contender>, settings: &TuningSettings<'_>) -> Option<Vec<CompiledContender>> {
    let workers = settings.compile.threads.clamp(1, contenders.len().max(1));
    let left = Mutex::new(contenders.into_iter().enumerate());
    let next = || left.lock().ok()?.next().filter(|_| !settings.is_stopped());
    let work = || std::iter::from_fn(next).map(|(place, it)| compile_contender(place, it, &settings.compile));
    let mut made: Vec<CompiledContender> = std::thread::scope(|scope| {
        let handles: Vec<_> =
            (0..workers).map(|_| scope.spawn(|| work().collect::<Vec<CompiledContender>>())).collect();
        handles
            .into_iter()
            .flat_map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    made.sort_by_key(|made| made.place);
    (!settings.is_stopped()).then_some(made)
}

fn compile_contender(place: usize, contender: Contender, options: &Options) -> CompiledContender {
    let (stages, dump, progress) = (Vec::new(), Dump::default(), Progress::default());
    let options = Options { threads: 1, until: Phase::Run, stages, dump, progress, ..options.clone() };
    let compiled = contender.compile(options).map_err(|error| error.to_string());
    let program = compiled.and_then(|made| {
        let seconds: f64 = made.kernels.iter().map(|kernel| kernel.prediction.seconds).sum();
        Ok((made.executable.ok_or("there is no executable")?, seconds * 1e6))
    });
    CompiledContender { place, name: contender.name, is_bundled: contender.is_bundled, program }
}
