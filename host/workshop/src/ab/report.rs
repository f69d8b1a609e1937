//! The result of a comparison, as data.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::judge::ResultJudgement;
use crate::compare::Agreement;
use crate::measure::Cache;
use crate::ptxas::KernelQuality;
use crate::roof::{Roof, WorkAmount};
use crate::statistics::{Interval, Summary, Verdict};

/// The comparison of two sides on a module.
#[derive(Clone, Debug, Serialize)]
pub struct ComparisonReport {
    /// The module's file.
    pub module: String,
    /// The target of compilation.
    pub target: String,
    /// The two sides, as the user wrote them.
    pub a: String,
    pub b: String,
    /// The whole program.
    pub program: Comparison,
    /// Fusions in isolation.
    pub fusions: Vec<Comparison>,
    /// Names of fusions that only one side has.
    pub only_in_a: Vec<String>,
    pub only_in_b: Vec<String>,
}

/// The comparison of two sides on one program or fusion.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The fusion's name, or `program`.
    pub name: String,
    pub a: SideFigures,
    pub b: SideFigures,
    /// Whether the results of both sides are right after one execution on the same inputs.
    pub judged: ResultJudgement,
    /// Number and size of the differences between the results of the two sides.
    pub results: Agreement,
    /// Measured times, for each state of the caches. On the simulator, or if a result is wrong,
    /// times would be meaningless, and the list is empty.
    pub measured: Vec<MeasuredTimes>,
}

/// Kernels and code of one side.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SideFigures {
    /// Emitter, version and knobs of each kernel.
    pub kernels: Vec<String>,
    /// Numbers of bytes that the kernels read and write according to the maps of their plans. Each
    /// element counts once.
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Work of the kernels, in additions: an operation that takes as long as `n` additions counts
    /// as `n`. 0 for another fusebox program, whose plans are unknown.
    pub operations: f64,
    /// Warnings of the compiler, for example about fusions that a chosen emitter declines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Milliseconds that the side takes to compile the module's text to an executable.
    pub compile_ms: f64,
    /// Number of bytes of machine code, or of PTX.
    pub code_bytes: u64,
    /// Report of NVIDIA's assembler on each kernel. The report is empty if the assembler is not
    /// installed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpu: Vec<GpuKernelFigures>,
    /// Text of all kernels after each stage of lowering. The key is the name of the stage.
    #[serde(skip)]
    pub texts: BTreeMap<&'static str, String>,
}

/// A kernel on an NVIDIA GPU.
#[derive(Clone, Debug, Serialize)]
pub struct GpuKernelFigures {
    #[serde(flatten)]
    pub quality: KernelQuality,
    /// Number of threads that can be resident on a multiprocessor at once, as a fraction of the
    /// multiprocessor's limit.
    pub occupancy: Option<f64>,
}

/// Times of both sides, measured alternately.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredTimes {
    /// State of the caches at the start of each execution.
    pub cache: Cache,
    /// Times of both sides in microseconds.
    pub a_us: Summary,
    pub b_us: Summary,
    /// B's time divided by A's.
    pub ratio: Interval,
    pub verdict: Verdict,
    /// Number of pairs that were measured again because the first measurement was disturbed.
    pub repeated: usize,
    /// Number of pairs that are used although their measurement was disturbed.
    pub disturbed: usize,
    /// For each side, the least time in which the machine can execute the work of the side's
    /// kernels.
    pub roof: [Roof; 2],
    /// The pairs of times in the order of measurement: microseconds of A and of B.
    #[serde(skip)]
    pub times: Vec<[f64; 2]>,
}

impl ComparisonReport {
    /// Returns the comparison of the whole program, followed by those of the fusions.
    pub fn comparisons(&self) -> impl Iterator<Item = &Comparison> {
        [&self.program].into_iter().chain(&self.fusions)
    }
}

impl MeasuredTimes {
    /// Returns the bandwidth of side 0 (A) or 1 (B) in GB/s.
    pub fn bandwidth(&self, figures: &SideFigures, side: usize) -> f64 {
        figures.bytes() as f64 / self.median(side) / 1e3
    }

    /// Returns the roof of side 0 (A) or 1 (B) as a fraction of the side's median time.
    pub fn roof_fraction(&self, side: usize) -> f64 {
        self.roof[side].us() / self.median(side)
    }

    fn median(&self, side: usize) -> f64 {
        if side == 0 { self.a_us.median } else { self.b_us.median }
    }
}

impl fmt::Display for GpuKernelFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KernelQuality { kernel, registers, shared, spill_stores, spill_loads, .. } = &self.quality;
        let spilled = spill_stores + spill_loads;
        write!(f, "{kernel}: {registers} registers, {shared} bytes of shared memory, {spilled} bytes spilled")?;
        match self.occupancy {
            Some(occupancy) => write!(f, ", occupancy {:.0} %", 100.0 * occupancy),
            None => Ok(()),
        }
    }
}

impl SideFigures {
    /// Returns the number of bytes read and written.
    pub fn bytes(&self) -> u64 {
        self.bytes_read.saturating_add(self.bytes_written)
    }

    /// Returns the bytes and operations of the kernels.
    pub fn work(&self) -> WorkAmount {
        WorkAmount { bytes: self.bytes(), operations: self.operations }
    }
}
