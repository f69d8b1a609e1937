//! Devices, which execute programs and hold buffers.
//!
//! ```text
//! queue   threads that start executions whose callers do not wait
//! ```

mod queue;

pub use queue::Job;

use std::sync::{Arc, OnceLock};

use crate::machine::Hardware;
use crate::{LoadError, Options, RunError, Target};
use queue::Queue;

/// Maximum number of threads that start queued executions.
const MOST_QUEUE_THREADS: usize = 4;

/// A device: the threads of the host's processor, the simulator, or a GPU. A device is opened once,
/// and all its users share it. A clone refers to the same device.
///
/// Devices of the cpu target with equal numbers of threads share a thread pool. The pool's threads
/// execute the kernels of one execution at a time. Meanwhile, every other execution runs only on
/// the thread that starts it, so no execution waits for the pool. Executions on one GPU run one
/// after the other.
#[derive(Clone, Debug)]
pub struct Device(Arc<DeviceState>);

#[derive(Debug)]
struct DeviceState {
    target: Target,
    options: Options,
    hardware: Hardware,
    /// The queue of executions. Its threads start when the first execution is queued.
    queue: OnceLock<Queue>,
}

impl Device {
    /// Opens a device that executes programs for a target. For CUDA, opens the first GPU.
    ///
    /// # Errors
    /// If the target is not available on this machine, or the system refuses to start threads.
    pub fn open(target: Target, options: &Options) -> Result<Device, LoadError> {
        let hardware = Hardware::open(target, options)?;
        let queue = OnceLock::new();
        Ok(Device(Arc::new(DeviceState { target, options: options.clone(), hardware, queue })))
    }

    /// Returns the target for which the device was opened.
    pub fn target(&self) -> Target {
        self.0.target
    }

    /// Returns the options with which the device was opened.
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// Whether both handles refer to the same device.
    pub fn is_same(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the hardware.
    pub(crate) fn hardware(&self) -> &Hardware {
        &self.0.hardware
    }

    /// Starts the threads of the queue, unless they run already. Fails if the system refuses to
    /// start a thread.
    pub(crate) fn start_queue(&self) -> Result<(), RunError> {
        if self.0.queue.get().is_none() {
            let threads = self.0.options.thread_count().clamp(1, MOST_QUEUE_THREADS);
            let started = Queue::start(threads);
            let queue = started.map_err(|error| RunError::Device(format!("starting the device's threads: {error}")))?;
            // If another thread was faster, its queue is used, and the threads of this one end.
            let _ = self.0.queue.set(queue);
        }
        Ok(())
    }

    /// Appends a job to the queue. If the queue was not started, executes the job at once.
    pub(crate) fn enqueue(&self, job: Job) {
        match self.0.queue.get() {
            Some(queue) => queue.push(job),
            None => job(),
        }
    }
}
