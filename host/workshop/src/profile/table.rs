//! Formats a profile as text for a terminal.

use std::io::{self, Write};

use fusebox_core::times::microseconds;

use super::Profile;

/// Writes a line for each step, in order of decreasing time, and a last line for the total.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(out: &mut dyn Write, profile: &Profile) -> io::Result<()> {
    let longest = profile.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max(4);
    let all: f64 = profile.rows.iter().map(|row| row.us).sum();
    writeln!(
        out,
        "{:<longest$} {:>6} {:>10} {:>6} {:>12} {:>12} {:>8} {:>7} {:>10}  by",
        "step", "times", "us", "share", "predicted us", "bytes", "GB/s", "of roof", "bound by"
    )?;
    for row in &profile.rows {
        let share = if all > 0.0 { 100.0 * row.us / all } else { 0.0 };
        let bandwidth = if row.us > 0.0 { row.work.bytes as f64 * row.times as f64 / row.us / 1e3 } else { 0.0 };
        let predicted = row.predicted_us.map_or_else(String::new, |us| microseconds(us, 1));
        writeln!(
            out,
            "{:<longest$} {:>6} {:>10} {share:>4.0} % {predicted:>12} {:>12} {bandwidth:>8.2} {:>5.0} % {:>10}  {}",
            row.name,
            row.times,
            microseconds(row.us, 1),
            row.work.bytes,
            100.0 * row.of_roof,
            row.bound.name(),
            row.by
        )?;
    }
    writeln!(out, "{:<longest$} {:>6} {:>10}, {} runs", "all", "", microseconds(all, 1), profile.runs)
}
