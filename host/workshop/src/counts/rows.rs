//! One row per kernel: its counts, its registers, and its predicted time.

use std::collections::BTreeMap;

use fusebox_compiler::{AssemblerError, Compilation};
use fusebox_core::device::DeviceDescription;
use fusebox_prediction::peak;
use fusebox_runtime::{CodeImage, Executable, Target};
use serde::Serialize;

use super::kernel::KernelCounts;
use crate::ptxas::{self, KernelQuality};

/// The counts of a kernel beside its predicted time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CountRow {
    /// Name of the fusion and of its kernel.
    pub fusion: String,
    /// Name and version of the emitter.
    pub emitter: String,
    /// Predicted time of a launch, in microseconds.
    pub predicted_us: f64,
    /// Microseconds that the device's memory takes to move the counted sectors of a launch.
    pub memory_us: f64,
    /// Microseconds that the device takes to start the counted instructions of a launch.
    pub instructions_us: f64,
    /// The longest of three times: `memory_us`, `instructions_us`, and the time that the device
    /// takes to launch a kernel.
    pub bound: Busiest,
    /// Bytes of global memory that the plan states for a launch, each byte counted once.
    pub stated_bytes: u64,
    /// The counts of all launches.
    #[serde(flatten)]
    pub counts: KernelCounts,
    /// Registers, spills and shared memory, if NVIDIA's assembler is installed.
    pub quality: Option<KernelQuality>,
    /// Number of threads that can be resident on a multiprocessor, as a fraction of the
    /// multiprocessor's limit. `None` without NVIDIA's assembler.
    pub occupancy: Option<f64>,
}

/// The part of a device that a kernel keeps busy for the longest time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Busiest {
    /// Both the time for memory and the time for instructions are shorter than the time that the
    /// device takes to launch a kernel.
    Launch,
    Memory,
    Instructions,
}

impl Busiest {
    /// Returns the name that reports show.
    pub fn name(self) -> &'static str {
        match self {
            Busiest::Launch => "launch",
            Busiest::Memory => "memory",
            Busiest::Instructions => "instructions",
        }
    }
}

/// Returns one row per kernel that was launched, in the order of the compilation. If the rows lack
/// registers and occupancy, also returns the reason.
///
/// # Errors
/// If NVIDIA's assembler refuses a kernel.
pub fn rows(
    made: &Compilation,
    executable: &Executable,
    counts: &BTreeMap<String, KernelCounts>,
    device: &DeviceDescription,
) -> Result<(Vec<CountRow>, Option<AssemblerError>), AssemblerError> {
    let (qualities, missing) = match qualities(executable) {
        Ok(qualities) => (qualities, None),
        Err(refused @ AssemblerError::Refused { .. }) => return Err(refused),
        Err(missing) => (BTreeMap::new(), Some(missing)),
    };
    let row = |kernel: &fusebox_compiler::Selected| {
        let name = &kernel.unit.fusion.name;
        let counts = counts.get(name)?.clone();
        let quality = qualities.get(name);
        let launches = counts.launches.max(1) as f64;
        let memory_us = counts.moved_bytes() as f64 / launches / device.memory_bandwidth * 1e6;
        let started = counts.executed().warps as f64 * f64::from(device.warp_size) / launches;
        // A multiply-add counts as two operations of the peak rate, and is one instruction.
        let instructions_us = 2.0 * started / peak(device) * 1e6;
        Some(CountRow {
            fusion: name.clone(),
            emitter: format!("{} {}", kernel.emitter.name, kernel.emitter.version),
            predicted_us: kernel.prediction.seconds * 1e6,
            memory_us,
            instructions_us,
            bound: busiest(memory_us, instructions_us, device),
            stated_bytes: kernel.prediction.read.saturating_add(kernel.prediction.written),
            counts,
            occupancy: quality.map(|(_, occupancy)| *occupancy),
            quality: quality.map(|(quality, _)| quality.clone()),
        })
    };
    Ok((made.kernels.iter().filter_map(row).collect(), missing))
}

fn busiest(memory_us: f64, instructions_us: f64, device: &DeviceDescription) -> Busiest {
    match () {
        () if memory_us.max(instructions_us) < device.launch_seconds * 1e6 => Busiest::Launch,
        () if memory_us >= instructions_us => Busiest::Memory,
        () => Busiest::Instructions,
    }
}

/// Returns the registers and the occupancy of each kernel, by the kernel's name.
fn qualities(executable: &Executable) -> Result<BTreeMap<String, (KernelQuality, f64)>, AssemblerError> {
    let mut all = BTreeMap::new();
    let Target::Cuda(capability) = executable.target else { return Ok(all) };
    for code in &executable.code {
        let CodeImage::Ptx { text, .. } = code else { continue };
        for quality in ptxas::measure(text, &format!("sm_{capability}"))? {
            let Some(image) = executable.kernels.iter().find(|it| it.symbol == quality.kernel) else { continue };
            let whole = KernelQuality { shared: quality.shared + image.shared_bytes, ..quality.clone() };
            let occupancy = whole.occupancy(image.threads_per_block, capability);
            all.insert(quality.kernel.clone(), (whole, occupancy));
        }
    }
    Ok(all)
}
