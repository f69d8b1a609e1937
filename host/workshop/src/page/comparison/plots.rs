//! Draws plots as SVG.

use std::fmt::{self, Write};

use super::{Escaped, cache};
use crate::ab::{Comparison, ComparisonReport, MeasuredTimes};
use crate::statistics::MARGIN;

/// Width of a plot, and the margins for text: on the left side, and below the plot.
const WIDTH: f64 = 900.0;
const LEFT: f64 = 220.0;
const BELOW: f64 = 30.0;

/// Least distance between the end of an axis and the outermost value, as the natural logarithm of a
/// ratio.
const LEAST_MARGIN: f64 = 0.03;

/// A logarithmic axis that maps values to positions.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// Returns an axis from the smallest to the largest of the positive values, with a small margin
    /// on both sides.
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let values = values.filter(|value| value.is_finite() && *value > 0.0).map(f64::ln);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 0.0) };
        let more = ((high - low) * 0.05).max(LEAST_MARGIN);
        Axis { low: low - more, high: high + more, from, to }
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value.max(f64::MIN_POSITIVE).ln() - self.low) / (self.high - self.low);
        self.from + share.clamp(-0.05, 1.05) * (self.to - self.from)
    }

    /// Returns evenly spaced values along the axis.
    fn marks(&self, count: usize) -> impl Iterator<Item = f64> {
        let step = (self.high - self.low) / count as f64;
        (0..=count).map(move |number| (self.low + step * number as f64).exp())
    }
}

fn open(out: &mut String, height: f64, what: &str) -> fmt::Result {
    writeln!(out, r#"<svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img" aria-label="{what}">"#)
}

/// Formats a value with three significant digits.
fn short(value: f64) -> String {
    let digits = (2 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.digits$}")
}

fn marks_below(out: &mut String, axis: &Axis, height: f64, unit: &str) -> fmt::Result {
    for mark in axis.marks(6) {
        let (x, bottom) = (axis.at(mark), height - BELOW);
        writeln!(out, r#"<line class="axis" x1="{x:.1}" x2="{x:.1}" y1="0" y2="{bottom}"/>"#)?;
        let y = height - 12.0;
        writeln!(out, r#"<text x="{x:.1}" y="{y}" text-anchor="middle">{}{unit}</text>"#, short(mark))?;
    }
    Ok(())
}

/// Draws the ratios with their confidence intervals. The plot has rows for the program and for each
/// fusion, one row per state of the caches. A background colour marks the ratios for which the
/// times count as equal.
pub fn ratios(out: &mut String, report: &ComparisonReport) -> fmt::Result {
    const ROW: f64 = 24.0;
    let rows: Vec<(&str, &MeasuredTimes)> =
        report.comparisons().flat_map(|it| it.measured.iter().map(|row| (it.name.as_str(), row))).collect();
    let ends = rows.iter().flat_map(|(_, row)| [row.ratio.low, row.ratio.high]);
    let axis = Axis::over(ends.chain([1.0 / MARGIN, MARGIN]), LEFT, WIDTH - 120.0);
    let height = ROW * rows.len() as f64 + BELOW;
    open(out, height, "ratios")?;
    marks_below(out, &axis, height, "")?;
    let (from, to) = (axis.at(1.0 / MARGIN), axis.at(MARGIN));
    let (wide, high) = (to - from, height - BELOW);
    writeln!(out, r#"<rect class="same" x="{from:.1}" y="0" width="{wide:.1}" height="{high}"/>"#)?;
    for (number, (name, row)) in rows.iter().enumerate() {
        let y = ROW * (number as f64 + 0.5);
        let (low, ratio, high) = (axis.at(row.ratio.low), axis.at(row.ratio.ratio), axis.at(row.ratio.high));
        writeln!(out, r#"<text x="0" y="{:.1}">{}, {}</text>"#, y + 4.0, Escaped(name), cache(row).to_lowercase())?;
        writeln!(out, r#"<line class="interval" x1="{low:.1}" x2="{high:.1}" y1="{y}" y2="{y}"/>"#)?;
        writeln!(out, r#"<circle class="ratio" cx="{ratio:.1}" cy="{y}" r="4"/>"#)?;
        writeln!(out, r#"<text x="{:.1}" y="{:.1}">{}</text>"#, WIDTH - 80.0, y + 4.0, row.verdict)?;
    }
    writeln!(out, "</svg>")
}

/// Draws the times of each side as a histogram with the median. The histogram of A is above that of
/// B.
pub fn distribution(out: &mut String, row: &MeasuredTimes) -> fmt::Result {
    const BARS: usize = 60;
    const HEIGHT: f64 = 170.0;
    let high = (HEIGHT - BELOW) / 2.0;
    let axis = Axis::over(row.times.iter().flatten().copied(), 30.0, WIDTH - 50.0);
    let wide = (axis.to - axis.from) / BARS as f64;
    open(out, HEIGHT, "distribution of times")?;
    marks_below(out, &axis, HEIGHT, " µs")?;
    for (side, (class, summary)) in [("a", &row.a_us), ("b", &row.b_us)].into_iter().enumerate() {
        let mut bars = [0usize; BARS];
        for times in &row.times {
            let bar = ((axis.at(times[side]) - axis.from) / wide).max(0.0) as usize;
            bars[bar.min(BARS - 1)] += 1;
        }
        let most = bars.iter().copied().max().unwrap_or(0).max(1);
        let ground = high * (side as f64 + 1.0);
        for (number, &count) in bars.iter().enumerate().filter(|(_, count)| **count > 0) {
            let tall = (high - 8.0) * count as f64 / most as f64;
            let (x, y) = (axis.from + wide * number as f64, ground - tall);
            writeln!(out, r#"<rect class="{class} bar" x="{x:.1}" y="{y:.1}" width="{wide:.1}" height="{tall:.1}"/>"#)?;
        }
        let (x, top) = (axis.at(summary.median) - 1.0, ground - high + 8.0);
        writeln!(out, r#"<rect class="{class}" x="{x:.1}" y="{top:.1}" width="2" height="{:.1}"/>"#, high - 8.0)?;
        writeln!(out, r#"<text x="4" y="{:.1}">{}</text>"#, ground - high / 2.0, class.to_uppercase())?;
    }
    writeln!(out, "</svg>")
}

/// Plots time against bytes. Each point stands for the program or a fusion on one side. A bar below
/// the point marks the least time in which the machine can execute the same work.
pub fn roofline(out: &mut String, report: &ComparisonReport) -> fmt::Result {
    const HEIGHT: f64 = 330.0;
    let points: Vec<(&Comparison, &MeasuredTimes, usize)> = report
        .comparisons()
        .flat_map(|it| it.measured.iter().flat_map(move |row| [(it, row, 0), (it, row, 1)]))
        .collect();
    let bytes = |it: &(&Comparison, &MeasuredTimes, usize)| [&it.0.a, &it.0.b][it.2].bytes() as f64 / 1e6;
    let time = |it: &(&Comparison, &MeasuredTimes, usize)| [&it.1.a_us, &it.1.b_us][it.2].median;
    let x = Axis::over(points.iter().map(bytes), 60.0, WIDTH - 220.0);
    let times = points.iter().flat_map(|it| [time(it), it.1.roof[it.2].us()]);
    let y = Axis::over(times, HEIGHT - BELOW, 10.0);
    open(out, HEIGHT, "time against bytes, with the roof")?;
    marks_below(out, &x, HEIGHT, " MB")?;
    for mark in y.marks(5) {
        let at = y.at(mark);
        writeln!(out, r#"<line class="axis" x1="60" x2="{}" y1="{at:.1}" y2="{at:.1}"/>"#, WIDTH - 220.0)?;
        writeln!(out, r#"<text x="0" y="{:.1}">{} µs</text>"#, at + 4.0, short(mark))?;
    }
    for point in &points {
        let (comparison, row, side) = *point;
        let (cx, cy, roof) = (x.at(bytes(point)), y.at(time(point)), y.at(row.roof[side].us()));
        let class = ["a", "b"][side];
        let what = format!(
            "{}, {} cache, {}: {} µs; the roof, {}, {} µs",
            comparison.name,
            cache(row).to_lowercase(),
            class.to_uppercase(),
            short(time(point)),
            row.roof[side].bound().name(),
            short(row.roof[side].us())
        );
        writeln!(out, r#"<line class="roof" x1="{cx:.1}" x2="{cx:.1}" y1="{cy:.1}" y2="{roof:.1}"/>"#)?;
        writeln!(
            out,
            r#"<line class="interval" x1="{:.1}" x2="{:.1}" y1="{roof:.1}" y2="{roof:.1}"/>"#,
            cx - 8.0,
            cx + 8.0
        )?;
        writeln!(
            out,
            r#"<circle class="{class}" cx="{cx:.1}" cy="{cy:.1}" r="5"><title>{}</title></circle>"#,
            Escaped(what)
        )?;
    }
    let legend = WIDTH - 180.0;
    writeln!(out, r#"<circle class="a" cx="{legend}" cy="20" r="5"/><text x="{}" y="24">A</text>"#, legend + 12.0)?;
    writeln!(out, r#"<circle class="b" cx="{legend}" cy="40" r="5"/><text x="{}" y="44">B</text>"#, legend + 12.0)?;
    writeln!(out, r#"<text x="{}" y="64">bar: the roof</text>"#, legend - 5.0)?;
    writeln!(out, "</svg>")
}
