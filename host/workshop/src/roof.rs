//! Measures the least time in which this machine can move the bytes of a kernel and compute the
//! kernel's operations.

use std::collections::HashMap;

use fusebox_compiler::Selected;
use fusebox_core::device::DeviceDescription;
use fusebox_prediction::{arithmetic_of_computation, bandwidth, peak};
use fusebox_runtime::measurement::Session;
use fusebox_runtime::{Executable, Options, Sweep, SweepAccess, Target, operations_per_second};
use serde::{Deserialize, Serialize};

use crate::WorkshopError;
use crate::measure::{Cache, time};

/// Number of times that a copy is measured. Each measurement is the median of several executions.
const SAMPLES: usize = 9;
/// Number of measurements of each kind of sweep over memory: reading, writing, updating.
const SWEEPS: usize = 31;

/// The work of a kernel, as bytes and operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkAmount {
    /// Bytes read and written.
    pub bytes: u64,
    /// Work of the operations, in additions: an operation that takes as long as `n` additions
    /// counts as `n`.
    pub operations: f64,
}

/// The least time for some work, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Roof {
    /// Time for the bytes, at the full speed of memory.
    pub memory_us: f64,
    /// Time for the operations, at the full speed of arithmetic; 0 if that speed is unknown.
    pub arithmetic_us: f64,
    /// Time of a launch that does no work.
    pub launch_us: f64,
}

/// The resource that limits the speed of a kernel if the machine runs at full speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    Launch,
    Memory,
    Arithmetic,
}

impl Bound {
    /// Returns the name that reports show.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Launch => "launch",
            Bound::Memory => "memory",
            Bound::Arithmetic => "arithmetic",
        }
    }
}

impl WorkAmount {
    /// Returns the bytes that the kernel's plan states, and the operations that are needed to
    /// compute each instruction once.
    pub fn of(kernel: &Selected, device: &DeviceDescription) -> WorkAmount {
        let bytes = kernel.prediction.read.saturating_add(kernel.prediction.written);
        WorkAmount { bytes, operations: arithmetic_of_computation(kernel.unit.fusion.computation(), device) }
    }
}

impl Roof {
    /// Returns the roof that follows from the description of a device.
    pub fn described(work: WorkAmount, device: &DeviceDescription) -> Roof {
        Roof {
            memory_us: work.bytes as f64 / bandwidth(work.bytes, device) * 1e6,
            arithmetic_us: work.operations / peak(device) * 1e6,
            launch_us: device.launch_seconds * 1e6,
        }
    }

    /// Returns the larger of the times for memory and arithmetic, in microseconds.
    pub fn us(&self) -> f64 {
        self.memory_us.max(self.arithmetic_us)
    }

    /// Returns the resource that limits the speed of the work.
    pub fn bound(&self) -> Bound {
        match () {
            () if self.us() < self.launch_us => Bound::Launch,
            () if self.memory_us >= self.arithmetic_us => Bound::Memory,
            () => Bound::Arithmetic,
        }
    }
}

/// The speeds of this machine. Each speed is measured only once.
pub struct MachineSpeeds<'o> {
    target: Target,
    options: &'o Options,
    /// Microseconds that the machine takes to move bytes. The key is the number of bytes and the
    /// state of the caches.
    moves: HashMap<(u64, Cache), f64>,
    operations_per_us: f64,
    launch_us: f64,
}

impl<'o> MachineSpeeds<'o> {
    /// Measures how many operations per second this machine computes. On a GPU, the number of
    /// operations is not measured, because the roof of a GPU considers only memory.
    pub fn new(target: Target, options: &'o Options) -> MachineSpeeds<'o> {
        let operations = match target {
            Target::Cpu => operations_per_second(options.thread_count()),
            Target::Simt | Target::Cuda(_) => None,
        };
        let operations_per_us = operations.map_or(f64::INFINITY, |operations| operations / 1e6);
        let device = if target == Target::Cpu { DeviceDescription::cpu(1) } else { DeviceDescription::simt() };
        let launch_us = device.launch_seconds * 1e6;
        MachineSpeeds { target, options, moves: HashMap::new(), operations_per_us, launch_us }
    }

    /// Returns the roof for some work. The time for memory is the least time in which all threads
    /// can move the bytes. The time for memory is measured with several kernels. The first kernel
    /// copies: it reads half of the bytes and writes the other half. The other kernels, which run
    /// only on the cpu, read, write or update memory. The time for arithmetic is the time in which
    /// all threads compute as many multiplications and additions of `f32` in registers as the work
    /// has operations.
    ///
    /// # Errors
    /// If there is too little memory, or a GPU fails.
    pub fn roof(&mut self, work: WorkAmount, cache: Cache) -> Result<Roof, WorkshopError> {
        let memory_us = match self.moves.get(&(work.bytes, cache)) {
            Some(&us) => us,
            None => self.moving_us(work.bytes, cache)?,
        };
        self.moves.insert((work.bytes, cache), memory_us);
        let arithmetic_us = work.operations / self.operations_per_us;
        Ok(Roof { memory_us, arithmetic_us, launch_us: self.launch_us })
    }

    /// Measures the least number of microseconds in which the machine moves these bytes, without
    /// the time of the launch.
    fn moving_us(&self, bytes: u64, cache: Cache) -> Result<f64, WorkshopError> {
        let mut session = Session::load(Executable::copying(bytes.div_ceil(2), self.target), self.options)?;
        session.execute()?;
        let _pinned = session.pin_threads();
        let copies = (0..SAMPLES).map(|_| time(&mut session, cache)).collect::<Result<Vec<_>, _>>()?;
        // On a GPU, the GPU's clock measures the time, and this time excludes the launch.
        if self.target != Target::Cpu {
            return Ok(least(copies));
        }
        let mut best = (least(copies) - self.launch_us).max(0.0);
        // If the caches hold all bytes, some kernels are faster than a copy: kernels that only read
        // (like a reduction), only write, or write in-place. Half of the sweeps run backwards. A
        // backward sweep finds in the nearest caches the bytes that the previous sweep accessed
        // last. In the same way, a kernel finds the result of the previous kernel there.
        for (passage, bytes) in
            [(SweepAccess::Read, bytes), (SweepAccess::Write, bytes), (SweepAccess::Update, bytes.div_ceil(2))]
        {
            for number in 0..SWEEPS {
                if cache == Cache::Cold {
                    session.evict()?;
                }
                let sweep = Sweep { passage, is_backward: number % 2 == 1, bytes: bytes as usize };
                best = session.sweep(sweep).map_or(best, |time| best.min(time.as_secs_f64() * 1e6));
            }
        }
        Ok(best)
    }
}

/// Returns the shortest of several times.
fn least(times: Vec<f64>) -> f64 {
    times.into_iter().fold(f64::INFINITY, f64::min)
}
