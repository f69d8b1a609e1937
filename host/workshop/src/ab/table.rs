//! Formats a report as text for a terminal.

use std::io::{self, Write};

use fusebox_core::times::microseconds;

use super::{Comparison, ComparisonReport, MeasuredTimes, ResultJudgement, SideFigures};
use crate::measure::Cache;
use crate::statistics::Interval;

/// Writes a report.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(out: &mut dyn Write, report: &ComparisonReport) -> io::Result<()> {
    writeln!(out, "{} on {}", report.module, report.target)?;
    writeln!(out, "  A: {}\n  B: {}", report.a, report.b)?;
    for comparison in report.comparisons() {
        write_comparison(out, comparison)?;
    }
    for (side, names) in [("A", &report.only_in_a), ("B", &report.only_in_b)] {
        if !names.is_empty() {
            writeln!(out, "\nonly {side} has these fusions: {}", names.join(", "))?;
        }
    }
    Ok(())
}

fn write_comparison(out: &mut dyn Write, comparison: &Comparison) -> io::Result<()> {
    let Comparison { name, a, b, judged, results, measured } = comparison;
    writeln!(out, "\n{name}")?;
    write_judgement(out, judged)?;
    match results.worst {
        None => writeln!(out, "  results: equal, {} elements", results.elements)?,
        Some(place) => writeln!(
            out,
            "  results: {} of {} elements differ between the sides, by at most {} ulp (element {} of result {}){}",
            results.different,
            results.elements,
            results.ulps,
            place.element,
            place.array,
            if matches!(judged, ResultJudgement::Right { .. }) { ", as rounding explains" } else { "" }
        )?,
    }
    if !measured.is_empty() {
        write_times(out, a, b, measured)?;
    }
    for (side, figures) in [("A", a), ("B", b)] {
        write_figures(out, side, figures)?;
    }
    Ok(())
}

fn write_judgement(out: &mut dyn Write, judged: &ResultJudgement) -> io::Result<()> {
    match judged {
        ResultJudgement::Right { by } => writeln!(out, "  both right, by {}", by.name()),
        ResultJudgement::Wrong { by, .. } => {
            for (side, fault) in judged.faults() {
                writeln!(out, "  {side} is WRONG, by {}: {fault}", by.name())?;
            }
            writeln!(out, "  not timed, as a result is wrong")
        }
        ResultJudgement::Unknown => {
            writeln!(out, "  not judged: neither the interpreter nor the bundled emitters have a result")
        }
    }
}

fn write_times(out: &mut dyn Write, a: &SideFigures, b: &SideFigures, measured: &[MeasuredTimes]) -> io::Result<()> {
    writeln!(
        out,
        "  {:<4} {:<5} {:>10} {:>21} {:>9} {:>8} {:>10}  {:<9} ratio and its interval",
        "", "cache", "median us", "quartiles us", "GB/s", "of roof", "bound by", "B is"
    )?;
    for row in measured {
        write_side(out, "A", a, row, 0)?;
        write_side(out, "B", b, row, 1)?;
    }
    Ok(())
}

fn write_side(
    out: &mut dyn Write,
    side: &str,
    figures: &SideFigures,
    row: &MeasuredTimes,
    number: usize,
) -> io::Result<()> {
    let times = [&row.a_us, &row.b_us][number];
    let cache = if row.cache == Cache::Warm { "warm" } else { "cold" };
    let quartiles = format!("{} – {}", microseconds(times.lower_quartile, 1), microseconds(times.upper_quartile, 1));
    let (bandwidth, share) = (row.bandwidth(figures, number), 100.0 * row.roof_fraction(number));
    let bound = row.roof[number].bound().name();
    write!(
        out,
        "  {side:<4} {cache:<5} {:>10} {quartiles:>21} {bandwidth:>9.2} {share:>6.0} % {bound:>10}",
        microseconds(times.median, 1)
    )?;
    if number == 0 {
        return writeln!(out);
    }
    let ratio = &row.ratio;
    write!(
        out,
        "  {:<9} {:.3} ({:.3} – {:.3}), {} pairs",
        row.verdict.to_string(),
        ratio.ratio,
        ratio.low,
        ratio.high,
        times.count
    )?;
    if row.repeated + row.disturbed > 0 {
        write!(out, ", {} repeated", row.repeated)?;
    }
    if row.disturbed > 0 {
        write!(out, ", {} on a disturbed machine", row.disturbed)?;
    }
    writeln!(out)
}

/// Writes a line for each module and each state of the caches. The line contains the times of the
/// whole program, and the verdict.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_summary(out: &mut dyn Write, reports: &[ComparisonReport]) -> io::Result<()> {
    let longest = reports.iter().map(|report| report.module.chars().count()).max().unwrap_or(0).max(6);
    writeln!(
        out,
        "\n{:<longest$}  {:<5} {:>10} {:>10} {:>7}  {:<9} ratio and its interval",
        "module", "cache", "A us", "B us", "of roof", "B is"
    )?;
    for report @ ComparisonReport { module, program, .. } in reports {
        for wrong in report.comparisons().filter(|comparison| comparison.judged.is_wrong()) {
            let sides: Vec<&str> = wrong.judged.faults().map(|(side, _)| side).collect();
            let (sides, name) = (sides.join(" and "), &wrong.name);
            writeln!(out, "{module:<longest$}  {:<36}  WRONG     {sides}, in {name}", "")?;
        }
        for row in &program.measured {
            let Interval { low, ratio, high } = row.ratio;
            let cache = if row.cache == Cache::Warm { "warm" } else { "cold" };
            let (a, b, share, verdict) = (
                microseconds(row.a_us.median, 1),
                microseconds(row.b_us.median, 1),
                100.0 * row.roof_fraction(1),
                row.verdict.to_string(),
            );
            writeln!(
                out,
                "{module:<longest$}  {cache:<5} {a:>10} {b:>10} {share:>5.0} %  {verdict:<9} {ratio:.3} ({low:.3} – {high:.3})"
            )?;
        }
    }
    Ok(())
}

/// Largest number of emitters that a line of the table names.
const MOST_NAMES: usize = 4;

fn write_figures(out: &mut dyn Write, side: &str, figures: &SideFigures) -> io::Result<()> {
    let SideFigures { kernels, bytes_read, bytes_written, compile_ms, code_bytes, gpu, .. } = figures;
    let mut names: Vec<&str> = kernels.iter().map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let more = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    writeln!(
        out,
        "  {side}: {} kernels by {}{more}; reads {bytes_read} bytes, writes {bytes_written}; compiled in {compile_ms:.1} ms, \
         {code_bytes} bytes of code",
        kernels.len(),
        names.join(", ")
    )?;
    figures.warnings.iter().try_for_each(|warning| writeln!(out, "  {side}: {warning}"))?;
    gpu.iter().try_for_each(|kernel| writeln!(out, "  {side}: {kernel}"))
}
