//! Formats a profile as text for a terminal.

use std::io::{self, Write};

use fusebox_core::times::microseconds;

use super::report::{Profile, ProfiledStep};

/// Writes a line for each step, in order of decreasing time, and a last line for the total. The
/// lines of the user's program are a column if they are known.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(out: &mut dyn Write, profile: &Profile) -> io::Result<()> {
    let several = profile.rows.windows(2).any(|rows| rows[0].program != rows[1].program);
    let name = |row: &ProfiledStep| if several { format!("{}: {}", row.program, row.name) } else { row.name.clone() };
    let longest = profile.rows.iter().map(|row| name(row).chars().count()).max().unwrap_or(0).max(4);
    let longest_line = profile.rows.iter().map(|row| row.lines.to_string().chars().count()).max().unwrap_or(0);
    let longest_line = if longest_line > 0 { longest_line.max(4) } else { 0 };
    let line = |text: String| match longest_line {
        0 => String::new(),
        width => format!("  {text:<width$}"),
    };
    let all: f64 = profile.rows.iter().map(|row| row.us).sum();
    writeln!(
        out,
        "{:<longest$} {:>6} {:>10} {:>6} {:>12} {:>12} {:>8} {:>7} {:>10}{}  by",
        "step",
        "times",
        "us",
        "share",
        "predicted us",
        "bytes",
        "GB/s",
        "of roof",
        "bound by",
        line("line".into())
    )?;
    for row in &profile.rows {
        let share = if all > 0.0 { 100.0 * row.us / all } else { 0.0 };
        let bandwidth = if row.us > 0.0 { row.work.bytes as f64 * row.times as f64 / row.us / 1e3 } else { 0.0 };
        let of_roof = if row.has_roof() { format!("{:.0} %", 100.0 * row.of_roof) } else { String::new() };
        let bound = if row.has_roof() { row.bound.name() } else { "" };
        let predicted = row.predicted_us.map_or_else(String::new, |us| microseconds(us, 1));
        writeln!(
            out,
            "{:<longest$} {:>6} {:>10} {share:>4.0} % {predicted:>12} {:>12} {bandwidth:>8.2} {of_roof:>7} {bound:>10}{}  {}",
            name(row),
            row.times,
            microseconds(row.us, 1),
            row.work.bytes,
            line(row.lines.to_string()),
            row.by
        )?;
    }
    writeln!(out, "{:<longest$} {:>6} {:>10}, {} runs", "all", "", microseconds(all, 1), profile.runs)?;
    if profile.untraced > 0 {
        writeln!(out, "the trace lacks {} later steps", profile.untraced)?;
    }
    Ok(())
}
