//! What a comparison found, as data.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::judge::Judgement;
use crate::compare::Agreement;
use crate::measure::Cache;
use crate::ptxas::Quality;
use crate::roof::{Roof, Work};
use crate::statistics::{Interval, Summary, Verdict};

/// Everything about two sides on a module.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The module's file.
    pub module: String,
    /// What was compiled for.
    pub target: String,
    /// The sides as the user named them.
    pub a: String,
    pub b: String,
    /// The whole program.
    pub program: Comparison,
    /// Fusions alone.
    pub fusions: Vec<Comparison>,
    /// Names of fusions that only one side has.
    pub only_in_a: Vec<String>,
    pub only_in_b: Vec<String>,
}

/// Two sides on one program or fusion.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The fusion's name, or `program`.
    pub name: String,
    pub a: Figures,
    pub b: Figures,
    /// Whether the results of one execution on the same inputs are right.
    pub judged: Judgement,
    /// The distance between these results.
    pub results: Agreement,
    /// Times; none where they would mean nothing: in a simulator, and of wrong results.
    pub measured: Vec<Measured>,
}

/// What one side made.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Figures {
    /// Emitter, version and knobs of each kernel.
    pub kernels: Vec<String>,
    /// Bytes that the kernels read and write, each element once, by the maps of their plans.
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Additions that the kernels make, or what takes as long; of another fusebox nothing is known.
    pub operations: f64,
    /// What the compiler warns of, such as fusions that an emitter in charge declines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// From text to executable.
    pub compile_ms: f64,
    /// Bytes of machine code, or of PTX.
    pub code_bytes: u64,
    /// What NVIDIA's assembler says of the kernels, where it is installed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpu: Vec<OnGpu>,
    /// The kernels' texts by stage of lowering, in the order of the stages' names.
    #[serde(skip)]
    pub texts: BTreeMap<&'static str, String>,
}

/// A kernel on an NVIDIA GPU.
#[derive(Clone, Debug, Serialize)]
pub struct OnGpu {
    #[serde(flatten)]
    pub quality: Quality,
    /// Share of a multiprocessor's threads that can be at work.
    pub occupancy: Option<f64>,
}

/// Times of both sides in turns.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// What caches held.
    pub cache: Cache,
    /// Of both sides, in microseconds.
    pub a_us: Summary,
    pub b_us: Summary,
    /// B's time over A's.
    pub ratio: Interval,
    pub verdict: Verdict,
    /// Pairs measured again because something else ran on the machine.
    pub repeated: usize,
    /// Pairs that count although something else ran.
    pub disturbed: usize,
    /// The least time in which the machine does what the kernels of both sides do.
    pub roof: [Roof; 2],
    /// The pairs, in order of measurement: microseconds of A and of B.
    #[serde(skip)]
    pub times: Vec<[f64; 2]>,
}

impl Report {
    /// The program, and fusions alone.
    pub fn comparisons(&self) -> impl Iterator<Item = &Comparison> {
        [&self.program].into_iter().chain(&self.fusions)
    }
}

impl Measured {
    /// GB/s at which one side, 0 or 1, moves its bytes.
    pub fn bandwidth(&self, figures: &Figures, side: usize) -> f64 {
        figures.bytes() as f64 / self.median(side) / 1e3
    }

    /// The roof's part of its time.
    pub fn share(&self, side: usize) -> f64 {
        self.roof[side].us() / self.median(side)
    }

    fn median(&self, side: usize) -> f64 {
        if side == 0 { self.a_us.median } else { self.b_us.median }
    }
}

impl fmt::Display for OnGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Quality { kernel, registers, shared, spill_stores, spill_loads, .. } = &self.quality;
        let spilled = spill_stores + spill_loads;
        write!(f, "{kernel}: {registers} registers, {shared} bytes of shared memory, {spilled} bytes spilled")?;
        match self.occupancy {
            Some(occupancy) => write!(f, ", occupancy {:.0} %", 100.0 * occupancy),
            None => Ok(()),
        }
    }
}

impl Figures {
    /// Bytes read and written.
    pub fn bytes(&self) -> u64 {
        self.bytes_read.saturating_add(self.bytes_written)
    }

    /// What the kernels have to do.
    pub fn work(&self) -> Work {
        Work { bytes: self.bytes(), operations: self.operations }
    }
}
