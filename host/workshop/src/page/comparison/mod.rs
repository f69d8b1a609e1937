//! The page of `fusebox ab`.
//!
//! ```text
//! plots.rs  distributions, ratios, roofline as SVG
//! texts.rs  both sides' kernels at any stage, next to each other
//! ```

mod plots;
mod texts;

use std::fmt::{self, Display, Write};

use maud::PreEscaped;

use super::framed;
use crate::ab::{Comparison, ComparisonReport, MeasuredTimes, ResultJudgement, SideFigures};
use crate::measure::Cache;

/// Text whose special characters are escaped for HTML.
struct Escaped<T>(T);

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.to_string().chars().try_for_each(|c| match c {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            other => f.write_char(other),
        })
    }
}

/// Returns the page of a comparison.
pub fn of_comparison(report: &ComparisonReport) -> String {
    let mut body = String::new();
    // Writing to a string does not fail.
    let _ = header(&mut body, report);
    for (number, comparison) in report.comparisons().enumerate() {
        let _ = section(&mut body, comparison, number);
    }
    let title = format!("fusebox ab: {}", report.module);
    framed(&title, include_str!("style.css"), &PreEscaped(body), include_str!("script.js"))
}

fn header(out: &mut String, report: &ComparisonReport) -> fmt::Result {
    writeln!(out, "<h1>{} on {}</h1>", Escaped(&report.module), Escaped(&report.target))?;
    writeln!(out, "<p><b class=a>A</b> <code>{}</code></p>", Escaped(&report.a))?;
    writeln!(out, "<p><b class=b>B</b> <code>{}</code></p>", Escaped(&report.b))?;
    for (side, names) in [("A", &report.only_in_a), ("B", &report.only_in_b)] {
        if !names.is_empty() {
            writeln!(out, "<p>Only {side} has these fusions: {}</p>", Escaped(names.join(", ")))?;
        }
    }
    if report.comparisons().any(|comparison| !comparison.measured.is_empty()) {
        writeln!(out, "<h2>B's time over A's</h2>")?;
        plots::ratios(out, report)?;
        writeln!(out, "<h2>Against the roof</h2>")?;
        plots::roofline(out, report)?;
    }
    Ok(())
}

fn section(out: &mut String, comparison: &Comparison, number: usize) -> fmt::Result {
    let Comparison { name, a, b, judged, results, measured } = comparison;
    writeln!(out, "<section><h2>{}</h2>", Escaped(name))?;
    judgement(out, judged)?;
    match results.worst {
        None => writeln!(out, "<p>Results are equal in all {} elements.</p>", results.elements)?,
        Some(place) => writeln!(
            out,
            "<p>Results differ in {} of {} elements, by at most {} ulp (element {} of result {}).</p>",
            results.different, results.elements, results.ulps, place.element, place.array
        )?,
    }
    for row in measured {
        writeln!(out, "<h3>{} cache: B is <span class={1}>{1}</span></h3>", cache(row), row.verdict)?;
        plots::distribution(out, row)?;
    }
    figures(out, a, b, measured)?;
    texts::side_by_side(out, &a.texts, &b.texts, number)?;
    writeln!(out, "</section>")
}

fn judgement(out: &mut String, judged: &ResultJudgement) -> fmt::Result {
    match judged {
        ResultJudgement::Right { by } => writeln!(out, "<p>Both are right, by {}.</p>", by.name()),
        ResultJudgement::Wrong { by, .. } => judged.faults().try_for_each(|(side, fault)| {
            writeln!(out, "<h3>{side} is <span class=wrong>wrong</span></h3>")?;
            writeln!(out, "<p class=wrong>By {}: {}. Nothing is timed.</p>", by.name(), Escaped(fault))
        }),
        ResultJudgement::Unknown => {
            writeln!(
                out,
                "<p class=wrong>Not judged: neither the interpreter nor the bundled emitters have a result.</p>"
            )
        }
    }
}

fn cache(row: &MeasuredTimes) -> &'static str {
    match row.cache {
        Cache::Warm => "Warm",
        Cache::Cold => "Cold",
    }
}

/// Writes a table of both sides' figures, one figure per row.
fn figures(out: &mut String, a: &SideFigures, b: &SideFigures, measured: &[MeasuredTimes]) -> fmt::Result {
    writeln!(out, "<table><tr><th></th><th class=a>A</th><th class=b>B</th></tr>")?;
    let mut row = |name: &str, values: [String; 2]| {
        let [a, b] = values.map(|value| Escaped(value).to_string());
        writeln!(out, "<tr><th>{name}</th><td>{a}</td><td>{b}</td></tr>")
    };
    for it in measured {
        let (cache, times) = (cache(it), [it.a_us, it.b_us]);
        row(&format!("{cache}: median, µs"), times.map(|time| format!("{:.2}", time.median)))?;
        row(
            &format!("{cache}: quartiles, µs"),
            times.map(|time| format!("{:.2} – {:.2}", time.lower_quartile, time.upper_quartile)),
        )?;
        row(&format!("{cache}: GB/s"), [0, 1].map(|side| format!("{:.2}", it.bandwidth([a, b][side], side))))?;
        row(
            &format!("{cache}: share of the roof"),
            [0, 1].map(|side| format!("{:.0} %", 100.0 * it.roof_fraction(side))),
        )?;
        row(&format!("{cache}: bound by"), it.roof.map(|roof| roof.bound().name().to_owned()))?;
        let ratio = &it.ratio;
        row(
            &format!("{cache}: B over A"),
            [String::new(), format!("{:.3} ({:.3} – {:.3}), {}", ratio.ratio, ratio.low, ratio.high, it.verdict)],
        )?;
        row(
            &format!("{cache}: pairs"),
            [String::new(), format!("{}, {} repeated, {} disturbed", it.a_us.count, it.repeated, it.disturbed)],
        )?;
    }
    let sides = [a, b];
    row("kernels", sides.map(|it| it.kernels.join(", ")))?;
    row("bytes read", sides.map(|it| it.bytes_read.to_string()))?;
    row("bytes written", sides.map(|it| it.bytes_written.to_string()))?;
    row("compiled in, ms", sides.map(|it| format!("{:.1}", it.compile_ms)))?;
    row("code, bytes", sides.map(|it| it.code_bytes.to_string()))?;
    if sides.iter().any(|it| !it.gpu.is_empty()) {
        row("on the GPU", sides.map(|it| it.gpu.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")))?;
    }
    writeln!(out, "</table>")
}
