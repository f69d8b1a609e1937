//! Evaluation of programs for several devices. Each device is a thread that evaluates the whole
//! program. Outside of manual computations all devices compute the same values. Inside of a manual
//! computation, each device computes with its own parts of arrays, and the devices exchange arrays.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use fusebox_core::hlo::{Instruction, ManualComputation, Meshes, Module, Op};

use crate::error::{EvalError, Fault, Outcome, malformed};
use crate::value::Array;

/// One device of an evaluation.
pub(crate) struct Device<'e> {
    /// The number of the device.
    pub number: i64,
    /// Number of devices.
    pub count: i64,
    exchange: &'e Exchange,
    /// Number of nested manual computations that the device is executing.
    depth: Cell<usize>,
}

/// The exchange of arrays among all devices.
struct Exchange {
    devices: usize,
    state: Mutex<State>,
    /// Wakes waiting devices if an exchange is complete, or if no device can continue.
    changed: Condvar,
}

/// An exchange: the group of devices, and the number of the exchange within this group.
type Meeting = (Vec<i64>, u64);

#[derive(Default)]
struct State {
    /// For each group and device, the number of exchanges that the device has begun with the group.
    counts: HashMap<(Vec<i64>, i64), u64>,
    /// For each exchange that is not complete, the arrays that its devices have sent so far, in the
    /// order of the group.
    meetings: HashMap<Meeting, Vec<Option<Vec<Array>>>>,
    complete: HashMap<Meeting, Arc<Vec<Vec<Array>>>>,
    /// Number of devices that wait for an exchange.
    waiting: usize,
    /// Number of devices whose evaluation has ended.
    ended: usize,
    /// Whether waiting devices must stop, because a device has failed or no device can continue.
    is_stopped: bool,
}

impl Device<'_> {
    /// Whether the device is in a manual computation.
    pub fn is_inside(&self) -> bool {
        self.depth.get() > 0
    }

    /// Notes that the device begins a manual computation.
    pub fn enter(&self) {
        self.depth.set(self.depth.get() + 1);
    }

    /// Notes that the device ends a manual computation.
    pub fn leave(&self) {
        self.depth.set(self.depth.get().saturating_sub(1));
    }

    /// Exchanges arrays with a group. Returns the arrays of all devices in the order of the group.
    pub fn meet(&self, group: &[i64], sent: Vec<Array>) -> Outcome<Arc<Vec<Vec<Array>>>> {
        let Exchange { devices, changed, .. } = self.exchange;
        let Some(rank) = group.iter().position(|&it| it == self.number) else {
            return malformed(format!("device {} is in no group", self.number));
        };
        let mut state = self.exchange.lock();
        let count = state.counts.entry((group.to_vec(), self.number)).or_default();
        let key = (group.to_vec(), *count);
        *count += 1;
        let arrays = state.meetings.entry(key.clone()).or_insert_with(|| vec![None; group.len()]);
        arrays[rank] = Some(sent);
        if arrays.iter().all(Option::is_some) {
            let all = state.meetings.remove(&key).unwrap_or_default().into_iter().flatten().collect();
            state.waiting -= group.len() - 1;
            state.complete.insert(key.clone(), Arc::new(all));
            changed.notify_all();
        } else {
            state.waiting += 1;
            self.exchange.stop_if_stuck(&mut state, *devices);
        }
        loop {
            if let Some(arrays) = state.complete.get(&key) {
                return Ok(Arc::clone(arrays));
            }
            if state.is_stopped {
                return Err(Fault::Stopped { device: self.number });
            }
            state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Exchange {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops all waiting devices if every device waits or has ended.
    fn stop_if_stuck(&self, state: &mut State, devices: usize) {
        if state.waiting > 0 && state.waiting + state.ended == devices {
            state.is_stopped = true;
            self.changed.notify_all();
        }
    }

    fn end(&self, has_failed: bool) {
        let mut state = self.lock();
        state.ended += 1;
        if has_failed {
            state.is_stopped = true;
            self.changed.notify_all();
        }
        self.stop_if_stuck(&mut state, self.devices);
    }
}

/// Returns the number of devices that a program needs: 1 if it has no manual computations.
fn device_count(module: &Module) -> Result<i64, String> {
    let is_manual = |it: &Instruction| match &it.op {
        Op::CustomCall(call) => {
            let targets = [ManualComputation::DIVIDE, ManualComputation::JOIN, ManualComputation::TARGET];
            targets.contains(&call.target.as_str())
        }
        Op::Call { to_apply } => module.computation(*to_apply).name.starts_with(ManualComputation::BODY),
        _ => false,
    };
    if !module.computations.iter().flat_map(|it| &it.instructions).any(is_manual) {
        return Ok(1);
    }
    let of_mesh = Meshes::of(module)?.largest().map_or(1, |mesh| mesh.size());
    Ok(module.num_partitions.max(of_mesh))
}

/// Evaluates a program on as many devices as it needs. `work` evaluates the program on one device,
/// or without a device if the program does not need several devices. The thread of a device has
/// `stack` bytes of stack. Returns the result of the first device, or the error of a device that
/// failed.
pub(crate) fn on_devices<T: Send>(
    module: &Module,
    stack: usize,
    work: &(dyn Fn(Option<Device<'_>>) -> Result<T, EvalError> + Sync),
) -> Result<T, EvalError> {
    let refused = |message: String| EvalError::Arguments { file: module.source_file.clone(), message };
    let count = device_count(module).map_err(refused)?;
    if count <= 1 {
        return work(None);
    }
    let exchange = Exchange { devices: count as usize, state: Mutex::default(), changed: Condvar::new() };
    let on_device = |number: i64| {
        let ending = Ending { exchange: &exchange, has_failed: Cell::new(true) };
        let outcome = work(Some(Device { number, count, exchange: &exchange, depth: Cell::new(0) }));
        ending.has_failed.set(outcome.is_err());
        outcome
    };
    let outcomes = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|number| {
                let started =
                    std::thread::Builder::new().stack_size(stack).spawn_scoped(scope, move || on_device(number));
                started.map_err(|error| {
                    exchange.end(true);
                    refused(format!("no thread for a device: {error}"))
                })
            })
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<T, EvalError>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(|thread| thread.and_then(join)).collect::<Vec<_>>()
    });
    // A device that only waits for one that fails has no error of its own.
    let has_own_error = |outcome: &Result<T, EvalError>| match outcome {
        Err(EvalError::Instruction(error)) => !matches!(error.fault, Fault::Stopped { .. }),
        Err(_) => true,
        Ok(_) => false,
    };
    let mut outcomes = outcomes;
    let first = outcomes.iter().position(has_own_error).or(outcomes.iter().position(Result::is_err)).unwrap_or(0);
    outcomes.swap_remove(first)
}

/// Tells all other devices that a device has ended, even if the thread of the ended device
/// panicked.
struct Ending<'e> {
    exchange: &'e Exchange,
    has_failed: Cell<bool>,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.exchange.end(self.has_failed.get());
    }
}
