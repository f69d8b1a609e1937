//! Reports kernels that run longer than a time limit. Tests of kernels use it.
//!
//! On the cpu target, a thread that executes an endless loop cannot be stopped. So the watchdog
//! only reports the kernel, and the process must decide how to end. The simulator needs no
//! watchdog, because it counts the iterations of every loop.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::KernelImage;

/// Number of low bits of `running` that hold the number of a kernel. The bits above hold the number
/// of a launch.
const KERNEL_BITS: u32 = 24;
/// Number of times that the watchdog looks at the running kernel within the time limit.
const STEPS: u32 = 64;

/// Reports a kernel of the cpu target that runs for longer than the limit.
///
/// One thread observes all programs that are loaded with clones of the same watchdog. Only one of
/// these programs may execute at a time.
#[derive(Clone, Debug)]
pub struct Watchdog(Arc<WatchdogState>);

#[derive(Debug, Default)]
struct WatchdogState {
    /// The low [`KERNEL_BITS`] bits hold the number of the running kernel. The bits above hold the
    /// number of this kernel's launch. The value is 0 if no kernel is running.
    running: AtomicU64,
    launches: AtomicU64,
    /// The registered kernels. A kernel's index is its number minus one. The entry of a dropped
    /// kernel is reused.
    kernels: Mutex<Vec<Weak<KernelImage>>>,
}

impl Watchdog {
    /// Starts the watchdog's thread. A kernel is limited if `is_limited` holds for the kernel. When
    /// a limited kernel has run for longer than `limit`, the thread calls `report` with this
    /// kernel, and ends. The thread also ends after the watchdog and all programs that were loaded
    /// with it are dropped. Kernels without a limit are registered too, so that every launch has
    /// the same overhead.
    ///
    /// # Errors
    /// If the system refuses to start a thread.
    pub fn start(
        limit: Duration,
        is_limited: impl Fn(&KernelImage) -> bool + Send + 'static,
        report: impl FnOnce(&KernelImage) + Send + 'static,
    ) -> std::io::Result<Watchdog> {
        let shared = Arc::new(WatchdogState::default());
        let watched = Arc::downgrade(&shared);
        std::thread::Builder::new().name("watchdog".into()).spawn(move || {
            if let Some(kernel) = first_late(&watched, limit, is_limited) {
                report(&kernel);
            }
        })?;
        Ok(Watchdog(shared))
    }

    /// Registers a kernel. The result marks launches of this kernel.
    pub(crate) fn watch(&self, kernel: &KernelImage) -> Watch {
        let image = Arc::new(kernel.clone());
        let mut kernels = self.0.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kernels.iter().position(|kernel| kernel.strong_count() == 0).unwrap_or(kernels.len());
        match kernels.get_mut(place) {
            Some(free) => *free = Arc::downgrade(&image),
            None => kernels.push(Arc::downgrade(&image)),
        }
        Watch { shared: self.0.clone(), number: place as u64 + 1, _image: image }
    }
}

/// Waits until a limited kernel has run for longer than `limit`, and returns this kernel. Returns
/// `None` after all users of the watchdog are dropped.
fn first_late(
    watched: &Weak<WatchdogState>,
    limit: Duration,
    is_limited: impl Fn(&KernelImage) -> bool,
) -> Option<Arc<KernelImage>> {
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
            let kernel = kernels.get(number - 1).and_then(Weak::upgrade);
            if let Some(kernel) = kernel.filter(|kernel| is_limited(kernel)) {
                return Some(kernel);
            }
            since = Instant::now();
        }
    }
}

/// The registration of a kernel with a watchdog.
#[derive(Clone, Debug)]
pub struct Watch {
    shared: Arc<WatchdogState>,
    /// Number of the kernel, counted from 1.
    number: u64,
    /// Keeps the kernel's number from being reused.
    _image: Arc<KernelImage>,
}

impl Watch {
    /// Marks the kernel as running until the result is dropped. A launch takes only three stores,
    /// so that the watchdog does not affect measurements of kernels.
    pub fn launch(&self) -> Launch<'_> {
        let WatchdogState { running, launches, .. } = &*self.shared;
        let launch = launches.load(Ordering::Relaxed) + 1;
        launches.store(launch, Ordering::Relaxed);
        running.store(launch << KERNEL_BITS | self.number, Ordering::Relaxed);
        Launch(running)
    }
}

/// A mark that a kernel is running. Dropping the value ends the mark.
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
        let is_limited = |kernel: &KernelImage| kernel.symbol != "trusted";
        (Watchdog::start(Duration::from_millis(200), is_limited, report).unwrap(), receiver)
    }

    #[test]
    fn the_kernel_that_does_not_end_is_reported() {
        let (watchdog, reported) = started();
        let [short, trusted, endless] = ["short", "trusted", "endless"].map(|name| watchdog.watch(&kernel(name)));
        drop(short.launch());
        let long = trusted.launch();
        assert!(reported.recv_timeout(Duration::from_millis(600)).is_err());
        drop((long, short));
        // This registration reuses the number of the dropped kernel.
        let _other = watchdog.watch(&kernel("other"));
        let _endless = endless.launch();
        assert_eq!(reported.recv_timeout(Duration::from_secs(20)).unwrap(), "endless");
    }

    #[test]
    fn launches_of_one_kernel_are_told_apart() {
        let (watchdog, reported) = started();
        let watch = watchdog.watch(&kernel("again"));
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(600) {
            let _launch = watch.launch();
        }
        drop((watchdog, watch));
        // The channel is closed, so the watchdog's thread has ended without a report.
        assert_eq!(reported.recv(), Err(mpsc::RecvError));
    }
}
