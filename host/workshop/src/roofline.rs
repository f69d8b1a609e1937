//! Compares the time of each fusion of a program with its roof. Also states the resource that
//! limits the speed of each fusion, and the predicted and measured times of the fusion.

use std::io::{self, Write};

use fusebox_compiler::Selected;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::LaunchDimensions;
use fusebox_core::times::microseconds;
use serde::Serialize;

use crate::lines::SourceLines;
use crate::profile::Profile;
use crate::roof::{Bound, Roof, WorkAmount};

/// A comparison of a fusion with its roof. All times are microseconds of one launch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RooflineRow {
    pub fusion: String,
    /// Name and version of the emitter.
    pub emitter: String,
    /// Number of instructions of the program that use this kernel.
    pub uses: usize,
    /// Number of instructions in the fusion.
    #[serde(skip)]
    pub instructions: usize,
    #[serde(skip)]
    pub launch: LaunchDimensions,
    #[serde(flatten)]
    pub work: WorkAmount,
    pub bound: Bound,
    /// Time at the full speed of memory or arithmetic, without the launch. If times were measured,
    /// the speeds are measured on this machine; otherwise they come from the device description.
    pub roof_us: f64,
    pub predicted_us: f64,
    pub measured_us: Option<f64>,
    /// Lines of the user's program that the fusion computes, if the program states them.
    #[serde(skip_serializing_if = "SourceLines::is_empty")]
    pub lines: SourceLines,
}

impl RooflineRow {
    /// Returns the roof as a fraction of the measured time. If no time was measured, returns the
    /// roof as a fraction of the predicted time.
    pub fn of_roof(&self) -> f64 {
        self.roof_us / self.measured_us.unwrap_or(self.predicted_us).max(f64::MIN_POSITIVE)
    }
}

/// Returns one row per kernel. The kernel that takes the most time in the program comes first. If
/// the time of a kernel was not measured, its predicted time determines its position.
pub fn rows(kernels: &[Selected], device: &DeviceDescription, profile: Option<&Profile>) -> Vec<RooflineRow> {
    let mut rows: Vec<RooflineRow> = kernels.iter().map(|kernel| row(kernel, device, profile)).collect();
    let time = |row: &RooflineRow| row.measured_us.unwrap_or(row.predicted_us) * row.uses as f64;
    rows.sort_by(|a, b| time(b).total_cmp(&time(a)));
    rows
}

fn row(kernel: &Selected, device: &DeviceDescription, profile: Option<&Profile>) -> RooflineRow {
    let fusion = &kernel.unit.fusion;
    let work = WorkAmount::of(kernel, device);
    let measured = profile.and_then(|profile| profile.rows.iter().find(|row| row.name == fusion.name));
    let roof = measured.map_or_else(|| Roof::described(work, device), |row| row.roof);
    RooflineRow {
        fusion: fusion.name.clone(),
        emitter: format!("{} {}", kernel.emitter.name, kernel.emitter.version),
        uses: kernel.unit.uses.len(),
        instructions: fusion.computation().instructions.len(),
        launch: kernel.plan.launch,
        work,
        bound: roof.bound(),
        roof_us: roof.us(),
        predicted_us: kernel.prediction.seconds * 1e6,
        measured_us: measured.map(|row| row.us / row.times.max(1) as f64),
        lines: SourceLines::of_kernel(kernel),
    }
}

/// Writes a line for each row: fusion, emitter, launch, time, the roof in percent of the time, and
/// the lines of the user's program if they are known.
/// If there are measured times, then writes the mean error of the predictions.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_fusions(out: &mut dyn Write, rows: &[RooflineRow]) -> io::Result<()> {
    let name = |row: &RooflineRow| match row.uses {
        0 | 1 => row.fusion.clone(),
        uses => format!("{} ({uses} times)", row.fusion),
    };
    let launch = |row: &RooflineRow| format!("{} x {}", row.launch.blocks, row.launch.threads_per_block);
    let width = |head: &str, text: &dyn Fn(&RooflineRow) -> String| {
        rows.iter().map(|row| text(row).chars().count()).max().unwrap_or(0).max(head.len())
    };
    let (names, emitters) = (width("fusion", &name), width("emitter", &|row| row.emitter.clone()));
    let launches = width("launch", &launch);
    let is_measured = rows.iter().any(|row| row.measured_us.is_some());
    let measured = |text: String| if is_measured { format!(" {text:>11}") } else { String::new() };
    let has_lines = rows.iter().any(|row| !row.lines.is_empty());
    let line = |text: String| if has_lines { format!("  {text}") } else { String::new() };
    writeln!(
        out,
        "{:<names$}  {:<emitters$}  {:>12}  {:>launches$} {:>12}{} {:>8}{}",
        "fusion",
        "emitter",
        "instructions",
        "launch",
        "predicted us",
        measured("measured us".into()),
        "of roof",
        line("line".into())
    )?;
    for row in rows {
        writeln!(
            out,
            "{:<names$}  {:<emitters$}  {:>12}  {:>launches$} {:>12}{} {:>6.0} %{}",
            name(row),
            row.emitter,
            row.instructions,
            launch(row),
            microseconds(row.predicted_us, 1),
            measured(row.measured_us.map_or_else(String::new, |us| microseconds(us, 1))),
            100.0 * row.of_roof(),
            line(row.lines.to_string())
        )?;
    }
    write_error(out, rows)
}

/// Writes a line for each row, with bytes, roof, and the resource that limits the speed. If there
/// are measured times, then writes the mean error of the predictions.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(out: &mut dyn Write, rows: &[RooflineRow]) -> io::Result<()> {
    let longest = rows.iter().map(|row| row.fusion.chars().count()).max().unwrap_or(0).max(6);
    writeln!(
        out,
        "{:<longest$} {:>5} {:>12} {:>8} {:>10} {:>10} {:>12} {:>11} {:>7}  emitter",
        "fusion", "uses", "bytes", "ops/byte", "bound by", "roof us", "predicted us", "measured us", "of roof"
    )?;
    for row in rows {
        let intensity = row.work.operations / (row.work.bytes.max(1)) as f64;
        let measured = row.measured_us.map_or_else(String::new, |us| microseconds(us, 1));
        writeln!(
            out,
            "{:<longest$} {:>5} {:>12} {intensity:>8.2} {:>10} {:>10} {:>12} {measured:>11} {:>5.0} %  {}",
            row.fusion,
            row.uses,
            row.work.bytes,
            row.bound.name(),
            microseconds(row.roof_us, 1),
            microseconds(row.predicted_us, 1),
            100.0 * row.of_roof(),
            row.emitter
        )?;
    }
    write_error(out, rows)
}

/// Writes the mean ratio of measured to predicted times, if there are measured times.
fn write_error(out: &mut dyn Write, rows: &[RooflineRow]) -> io::Result<()> {
    let ratios = rows.iter().filter_map(|row| Some(row.measured_us.filter(|us| *us > 0.0)? / row.predicted_us));
    let ratios: Vec<f64> = ratios.filter(|ratio| ratio.is_finite() && *ratio > 0.0).collect();
    if ratios.is_empty() {
        return Ok(());
    }
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    writeln!(out, "measured by predicted time, in the geometric mean of {} fusions: {mean:.2}", ratios.len())
}
