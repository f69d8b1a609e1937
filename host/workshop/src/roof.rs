//! What the machine could do: how long it takes at least to move as many bytes, and to make as many additions, as a kernel does.

use std::collections::HashMap;

use fusebox_compiler::Selected;
use fusebox_core::cost;
use fusebox_core::device::DeviceDescription;
use fusebox_runtime::{Executable, Options, Passage, Program, Sweep, Target, operations_per_second};
use serde::Serialize;

use crate::WorkshopError;
use crate::measure::{Cache, time};

/// Samples of a copy, each of which is the median of several.
const SAMPLES: usize = 9;
/// Samples of reading or writing.
const SWEEPS: usize = 31;

/// What a kernel has to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Work {
    /// Read and written.
    pub bytes: u64,
    /// Additions, or what takes as long.
    pub operations: f64,
}

/// The least time for some work, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Roof {
    /// At the full speed of memory.
    pub memory_us: f64,
    /// At the full speed of arithmetic; 0 where that is not known.
    pub arithmetic_us: f64,
    /// What a launch takes beside the work.
    pub launch_us: f64,
}

/// What the time is spent on, at the machine's full speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    Launch,
    Memory,
    Arithmetic,
}

impl Bound {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Launch => "launch",
            Bound::Memory => "memory",
            Bound::Arithmetic => "arithmetic",
        }
    }
}

impl Work {
    /// Of a kernel that moves the bytes that its plan says and does all arithmetic once.
    pub fn of(kernel: &Selected, device: &DeviceDescription) -> Work {
        let bytes = kernel.prediction.read.saturating_add(kernel.prediction.written);
        Work { bytes, operations: cost::arithmetic_of_computation(kernel.unit.fusion.computation(), device) }
    }
}

impl Roof {
    /// The larger of both bounds: what is not the one is the other.
    pub fn us(&self) -> f64 {
        self.memory_us.max(self.arithmetic_us)
    }

    /// What bounds it.
    pub fn bound(&self) -> Bound {
        match () {
            () if self.us() < self.launch_us => Bound::Launch,
            () if self.memory_us >= self.arithmetic_us => Bound::Memory,
            () => Bound::Arithmetic,
        }
    }
}

/// This machine, of which every figure is measured once.
pub struct Machine<'o> {
    target: Target,
    options: &'o Options,
    /// Microseconds of moving so many bytes.
    moves: HashMap<(u64, Cache), f64>,
    operations_per_us: f64,
    launch_us: f64,
}

impl<'o> Machine<'o> {
    /// Measures how fast this machine adds. A GPU is held against its memory alone.
    pub fn new(target: Target, options: &'o Options) -> Machine<'o> {
        let operations = match target {
            Target::Cpu => operations_per_second(options.thread_count()),
            Target::Simt | Target::Cuda(_) => None,
        };
        let operations_per_us = operations.map_or(f64::INFINITY, |operations| operations / 1e6);
        let device = if target == Target::Cpu { DeviceDescription::cpu(1) } else { DeviceDescription::simt() };
        let launch_us = device.launch_seconds * 1e6;
        Machine { target, options, moves: HashMap::new(), operations_per_us, launch_us }
    }

    /// The roof over some work. Memory moves bytes on all threads by a copy between buffers of as
    /// many, half of them read and half of them written, or, if that is faster, by reading,
    /// writing or updating them; arithmetic is multiplications and additions of `f32` in the registers of all
    /// threads.
    ///
    /// # Errors
    /// If memory is short, or a GPU fails.
    pub fn roof(&mut self, work: Work, cache: Cache) -> Result<Roof, WorkshopError> {
        let memory_us = match self.moves.get(&(work.bytes, cache)) {
            Some(&us) => us,
            None => self.moving_us(work.bytes, cache)?,
        };
        self.moves.insert((work.bytes, cache), memory_us);
        let arithmetic_us = work.operations / self.operations_per_us;
        Ok(Roof { memory_us, arithmetic_us, launch_us: self.launch_us })
    }

    /// Microseconds of moving bytes in the fastest way that is known, without the launch.
    fn moving_us(&self, bytes: u64, cache: Cache) -> Result<f64, WorkshopError> {
        let mut program = Program::load(Executable::copying(bytes.div_ceil(2), self.target), self.options)?;
        program.execute()?;
        let _pinned = program.pin_threads();
        let copies = (0..SAMPLES).map(|_| time(&mut program, cache)).collect::<Result<Vec<_>, _>>()?;
        // On a GPU the time is that of the GPU's own clock, which counts no launch.
        if self.target != Target::Cpu {
            return Ok(least(copies));
        }
        let mut best = (least(copies) - self.launch_us).max(0.0);
        // A kernel that only reads, as reductions do, only writes, or writes in place is faster than a copy where the caches hold
        // all. A way back finds as much in the nearest caches as they can hold, as kernels do after those whose results they read.
        for (passage, bytes) in [(Passage::Read, bytes), (Passage::Write, bytes), (Passage::Update, bytes.div_ceil(2))]
        {
            for number in 0..SWEEPS {
                if cache == Cache::Cold {
                    program.evict()?;
                }
                let sweep = Sweep { passage, is_backward: number % 2 == 1, bytes: bytes as usize };
                best = program.sweep(sweep).map_or(best, |time| best.min(time.as_secs_f64() * 1e6));
            }
        }
        Ok(best)
    }
}

/// The least of several times, which the machine can do again.
fn least(times: Vec<f64>) -> f64 {
    times.into_iter().fold(f64::INFINITY, f64::min)
}
