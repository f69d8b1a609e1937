//! Reports kernels that run longer than a time limit. Tests of kernels use this watchdog.
//!
//! On the cpu target, a thread that executes an endless loop cannot be stopped. So the watchdog
//! only reports the kernel, and the process must decide how to end. The simulator needs no
//! watchdog, because it counts the iterations of every loop.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::KernelImage;

/// Number of low bits of `running` that hold the number of a kernel. The higher bits of `running`
/// hold the number of a launch.
const KERNEL_BITS: u32 = 24;
/// Number of times that the watchdog looks at the running kernel within the time limit.
const STEPS: u32 = 64;

/// Reports a kernel of the cpu target that runs for longer than the limit.
///
/// One thread observes all executions of all programs that are loaded with clones of the same
/// watchdog.
#[derive(Clone, Debug)]
pub struct Watchdog(Arc<WatchdogState>);

#[derive(Debug, Default)]
struct WatchdogState {
    /// The registered kernels. A kernel's index is its number minus one. The entry of a dropped
    /// kernel is reused.
    kernels: Mutex<Vec<Weak<KernelImage>>>,
    /// The launches to observe. Executions that run at the same time have different entries.
    launches: Mutex<Vec<Weak<ObservedLaunches>>>,
}

/// The launches of executions that run one after the other. Executions that run at the same time
/// use different values of this type.
#[derive(Debug, Default)]
pub struct ObservedLaunches {
    /// The low [`KERNEL_BITS`] bits hold the number of the running kernel. The higher bits hold the
    /// number of this kernel's launch. The value is 0 if no kernel is running.
    running: AtomicU64,
    /// Number of launches so far.
    count: AtomicU64,
}

impl Watchdog {
    /// Starts the watchdog's thread. A kernel is limited if `is_limited` returns true for the
    /// kernel. When a limited kernel has run for longer than `limit`, the thread calls `report`
    /// with this kernel, and ends. The thread also ends after the watchdog and all programs that
    /// were loaded with it are dropped. Kernels without a limit are registered too, so that every
    /// launch has the same overhead.
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

    /// Registers a kernel. The returned [`Watch`] marks the launches of this kernel.
    pub(crate) fn watch(&self, kernel: &KernelImage) -> Watch {
        let image = Arc::new(kernel.clone());
        let mut kernels = self.0.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kernels.iter().position(|kernel| kernel.strong_count() == 0).unwrap_or(kernels.len());
        match kernels.get_mut(place) {
            Some(free) => *free = Arc::downgrade(&image),
            None => kernels.push(Arc::downgrade(&image)),
        }
        Watch { number: place as u64 + 1, _image: image, _watchdog: self.clone() }
    }

    /// Registers an execution. The watchdog observes the launches that are marked in the returned
    /// value.
    pub(crate) fn observe(&self) -> Arc<ObservedLaunches> {
        let launches = Arc::new(ObservedLaunches::default());
        let mut observed = self.0.launches.lock().unwrap_or_else(PoisonError::into_inner);
        observed.retain(|it| it.strong_count() > 0);
        observed.push(Arc::downgrade(&launches));
        launches
    }
}

/// Waits until a limited kernel has run for longer than `limit`, and returns this kernel. Returns
/// `None` after all users of the watchdog are dropped.
fn first_late(
    watched: &Weak<WatchdogState>,
    limit: Duration,
    is_limited: impl Fn(&KernelImage) -> bool,
) -> Option<Arc<KernelImage>> {
    // For each execution, the launch that ran when the watchdog last looked, and the time since
    // when this launch has been running.
    let mut seen: HashMap<*const ObservedLaunches, (u64, Instant)> = HashMap::new();
    loop {
        std::thread::sleep(limit / STEPS);
        let shared = watched.upgrade()?;
        let observed = shared.launches.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let observed: Vec<Arc<ObservedLaunches>> = observed.iter().filter_map(Weak::upgrade).collect();
        seen.retain(|&known, _| observed.iter().any(|launches| Arc::as_ptr(launches) == known));
        for launches in observed {
            let running = launches.running.load(Ordering::Relaxed);
            let (launch, since) = seen.entry(Arc::as_ptr(&launches)).or_insert_with(|| (0, Instant::now()));
            if running == 0 || running != *launch {
                (*launch, *since) = (running, Instant::now());
            } else if since.elapsed() >= limit {
                let number = (running & ((1 << KERNEL_BITS) - 1)) as usize;
                let kernels = shared.kernels.lock().unwrap_or_else(PoisonError::into_inner);
                let kernel = kernels.get(number - 1).and_then(Weak::upgrade);
                if let Some(kernel) = kernel.filter(|kernel| is_limited(kernel)) {
                    return Some(kernel);
                }
                *since = Instant::now();
            }
        }
    }
}

/// The registration of a kernel with a watchdog.
#[derive(Clone, Debug)]
pub struct Watch {
    /// Number of the kernel, counted from 1.
    number: u64,
    /// Keeps the kernel's number from being reused.
    _image: Arc<KernelImage>,
    /// Keeps the watchdog's thread running.
    _watchdog: Watchdog,
}

impl Watch {
    /// Marks the kernel as running in an execution until the returned value is dropped. A launch
    /// takes only three stores, so that the watchdog does not affect measurements of kernels.
    pub fn launch<'l>(&self, launches: &'l ObservedLaunches) -> WatchedLaunch<'l> {
        let ObservedLaunches { running, count } = launches;
        let launch = count.load(Ordering::Relaxed) + 1;
        count.store(launch, Ordering::Relaxed);
        running.store(launch << KERNEL_BITS | self.number, Ordering::Relaxed);
        WatchedLaunch(running)
    }
}

/// A mark that a kernel is running. Dropping this value removes the mark.
pub struct WatchedLaunch<'l>(&'l AtomicU64);

impl Drop for WatchedLaunch<'_> {
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
            predicted_ns: None,
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
        let launches = watchdog.observe();
        drop(short.launch(&launches));
        let long = trusted.launch(&launches);
        assert!(reported.recv_timeout(Duration::from_millis(600)).is_err());
        drop((long, short));
        // This registration reuses the number of the dropped kernel.
        let _other = watchdog.watch(&kernel("other"));
        let _endless = endless.launch(&launches);
        assert_eq!(reported.recv_timeout(Duration::from_secs(20)).unwrap(), "endless");
    }

    #[test]
    fn executions_at_the_same_time_are_told_apart() {
        let (watchdog, reported) = started();
        let [short, endless] = ["short", "endless"].map(|name| watchdog.watch(&kernel(name)));
        let [of_short, of_endless] = [(); 2].map(|()| watchdog.observe());
        let _endless = endless.launch(&of_endless);
        let begin = Instant::now();
        let reported = loop {
            drop(short.launch(&of_short));
            if let Ok(kernel) = reported.try_recv() {
                break kernel;
            }
            assert!(begin.elapsed() < Duration::from_secs(20), "short launches hide the endless one");
        };
        assert_eq!(reported, "endless");
    }

    #[test]
    fn launches_of_one_kernel_are_told_apart() {
        let (watchdog, reported) = started();
        let watch = watchdog.watch(&kernel("again"));
        let launches = watchdog.observe();
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(600) {
            let _launch = watch.launch(&launches);
        }
        drop((watchdog, watch));
        // The channel is closed, so the watchdog's thread has ended without a report.
        assert_eq!(reported.recv(), Err(mpsc::RecvError));
    }
}
