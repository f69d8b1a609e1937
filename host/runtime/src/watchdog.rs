//! A limit on the time that a kernel under test may take.
//!
//! A thread of the cpu target that executes an endless loop cannot be stopped, so the watchdog only
//! reports the kernel: the program that started it decides how to end. The simulator needs none; it
//! counts the turns of every loop.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::KernelImage;

/// Launches are numbered above these bits, kernels in them.
const KERNEL_BITS: u32 = 24;
/// Steps in which the limit passes.
const STEPS: u32 = 64;

/// Reports a kernel of the cpu target that runs for longer than the limit.
///
/// All programs that are loaded with clones of one watchdog share its thread, and one of them
/// executes at a time.
#[derive(Clone)]
pub struct Watchdog {
    shared: Arc<Shared>,
    is_watched: Arc<dyn Fn(&KernelImage) -> bool + Send + Sync>,
}

impl fmt::Debug for Watchdog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watchdog").field("shared", &self.shared).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Shared {
    /// The launch that runs, above [`KERNEL_BITS`], and its kernel; 0 between launches.
    running: AtomicU64,
    launches: AtomicU64,
    kernels: Mutex<Vec<KernelImage>>,
}

impl Watchdog {
    /// Starts the thread that watches the kernels for which `is_watched` holds. It calls `report`
    /// once, with the first kernel that takes longer than `limit`, and ends with the last program
    /// that was loaded with this watchdog.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(
        limit: Duration,
        is_watched: impl Fn(&KernelImage) -> bool + Send + Sync + 'static,
        report: impl FnOnce(&KernelImage) + Send + 'static,
    ) -> std::io::Result<Watchdog> {
        let shared = Arc::new(Shared::default());
        let watched = Arc::downgrade(&shared);
        std::thread::Builder::new().name("watchdog".into()).spawn(move || {
            if let Some(kernel) = first_late(&watched, limit) {
                report(&kernel);
            }
        })?;
        Ok(Watchdog { shared, is_watched: Arc::new(is_watched) })
    }

    /// From now on this kernel is watched whenever it runs; `None` if it is not to be.
    pub(crate) fn watch(&self, kernel: &KernelImage) -> Option<Watch> {
        if !(self.is_watched)(kernel) {
            return None;
        }
        let mut kernels = self.shared.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        kernels.push(kernel.clone());
        Some(Watch { shared: self.shared.clone(), kernel: kernels.len() as u64 })
    }
}

/// Waits for a kernel that takes longer than `limit`; `None` once all programs are gone.
fn first_late(watched: &Weak<Shared>, limit: Duration) -> Option<KernelImage> {
    let (mut seen, mut since) = (0, Instant::now());
    loop {
        std::thread::sleep(limit / STEPS);
        let shared = watched.upgrade()?;
        let running = shared.running.load(Ordering::Relaxed);
        if running == 0 || running != seen {
            (seen, since) = (running, Instant::now());
        } else if since.elapsed() >= limit {
            let number = (running & ((1 << KERNEL_BITS) - 1)) as usize;
            let kernels = shared.kernels.lock().unwrap_or_else(PoisonError::into_inner);
            return kernels.get(number - 1).cloned();
        }
    }
}

/// A kernel that a watchdog knows.
#[derive(Clone, Debug)]
pub struct Watch {
    shared: Arc<Shared>,
    /// Its number, from 1.
    kernel: u64,
}

impl Watch {
    /// The kernel runs as long as the result lives. Costs three stores, so that measured kernels do
    /// not show it.
    pub fn launch(&self) -> Launch<'_> {
        let Shared { running, launches, .. } = &*self.shared;
        let launch = launches.load(Ordering::Relaxed) + 1;
        launches.store(launch, Ordering::Relaxed);
        running.store(launch << KERNEL_BITS | self.kernel, Ordering::Relaxed);
        Launch(running)
    }
}

/// A kernel that runs.
pub struct Launch<'w>(&'w AtomicU64);

impl Drop for Launch<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn kernel(symbol: &str) -> KernelImage {
        KernelImage {
            symbol: symbol.into(),
            emitter: "emitter 1.0.0".into(),
            code: 0,
            blocks: 1,
            threads_per_block: 1,
            shared_bytes: 0,
            arguments: Vec::new(),
        }
    }

    fn started() -> (Watchdog, mpsc::Receiver<String>) {
        let (sender, receiver) = mpsc::channel();
        let report = move |kernel: &KernelImage| sender.send(kernel.symbol.clone()).unwrap_or_default();
        let is_watched = |kernel: &KernelImage| kernel.symbol != "trusted";
        (Watchdog::start(Duration::from_millis(200), is_watched, report).unwrap(), receiver)
    }

    #[test]
    fn the_kernel_that_does_not_end_is_reported() {
        let (watchdog, reported) = started();
        assert!(watchdog.watch(&kernel("trusted")).is_none());
        let [short, endless] = ["short", "endless"].map(|name| watchdog.watch(&kernel(name)).unwrap());
        drop(short.launch());
        let _endless = endless.launch();
        assert_eq!(reported.recv_timeout(Duration::from_secs(20)).unwrap(), "endless");
    }

    #[test]
    fn launches_of_one_kernel_are_told_apart() {
        let (watchdog, reported) = started();
        let watch = watchdog.watch(&kernel("again")).unwrap();
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(600) {
            let _launch = watch.launch();
        }
        drop((watchdog, watch));
        // The thread has ended without a report.
        assert_eq!(reported.recv(), Err(mpsc::RecvError));
    }
}
