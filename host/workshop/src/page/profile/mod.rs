//! The page of a profile: the time of each step as a bar, a timeline of runs, and a table.

use fusebox_core::times::microseconds;
use maud::{Markup, html};

use super::framed;
use crate::profile::{Profile, ProfiledStep, Slice};

/// Sizes of the drawings in pixels: width, the part for names, height of a line.
const WIDTH: f64 = 900.0;
const NAMES: f64 = 300.0;
const LINE: f64 = 20.0;
/// Largest number of bars. The steps without a bar take little time.
const MOST_BARS: usize = 30;
/// Largest number of steps of the timeline. In a timeline with more steps, the steps would be too
/// narrow to see.
const MOST_STEPS: usize = 2000;
/// Largest number of letters of a name beside a bar.
const MOST_LETTERS: usize = 44;

/// Returns the page of a profile.
pub fn of_profile(title: &str, profile: &Profile) -> String {
    let all: f64 = profile.rows.iter().map(|row| row.us).sum();
    let body = html! {
        header {
            h1 { (title) }
            p { (profile.runs) " runs, " (microseconds(all, 1)) " us in " (profile.rows.len()) " different steps" }
        }
        @if !profile.rows.is_empty() {
            main {
                section { h2 { "Time of each step" } (bars(&profile.rows, all)) }
                section { h2 { "The last runs" } (timeline(profile)) }
                section { h2 { "Steps" } (table(&profile.rows, all)) }
            }
        }
    };
    framed(&format!("{title} · fusebox"), include_str!("style.css"), &body, "")
}

fn class(row: &ProfiledStep) -> &'static str {
    if row.has_roof() { row.bound.name() } else { "other" }
}

fn share(us: f64, all: f64) -> f64 {
    if all > 0.0 { us / all } else { 0.0 }
}

fn bars(rows: &[ProfiledStep], all: f64) -> Markup {
    let shown = &rows[..rows.len().min(MOST_BARS)];
    let longest = shown.iter().map(|row| row.us).fold(f64::MIN_POSITIVE, f64::max);
    let height = shown.len() as f64 * LINE;
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {height}")) width=(WIDTH) role="img" aria-label="time of each step" {
            @for (number, row) in shown.iter().enumerate() {
                @let y = number as f64 * LINE;
                @let width = (WIDTH - NAMES - 150.0) * row.us / longest;
                text x=(NAMES - 8.0) y=(y + 14.0) text-anchor="end" { (label(row)) }
                rect class=(class(row)) x=(NAMES) y=(y + 3.0) width=(format!("{width:.1}")) height=(LINE - 6.0) {
                    title { (row.name) ", " (row.by) }
                }
                text x=(format!("{:.1}", NAMES + width + 6.0)) y=(y + 14.0) {
                    (microseconds(row.us, 1)) " us, " (format!("{:.0}", 100.0 * share(row.us, all))) " %"
                }
            }
        }
    }
}

/// Returns the name of a step, with the lines of the user's program.
fn label(row: &ProfiledStep) -> String {
    let label = if row.lines.is_empty() { row.name.clone() } else { format!("{} · {}", row.lines, row.name) };
    if label.chars().count() <= MOST_LETTERS {
        return label;
    }
    label.chars().take(MOST_LETTERS - 1).chain(['…']).collect()
}

/// Draws the last executed steps along the time.
fn timeline(profile: &Profile) -> Markup {
    let steps = &profile.steps[profile.steps.len().saturating_sub(MOST_STEPS)..];
    let begin = steps.first().map_or(0.0, |step| step.begin_us);
    let end = steps.last().map_or(1.0, |step| step.begin_us + step.us);
    let scale = WIDTH / (end - begin).max(f64::MIN_POSITIVE);
    let place = |step: &Slice| (format!("{:.2}", (step.begin_us - begin) * scale), format!("{:.2}", step.us * scale));
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {}", 3.0 * LINE)) width=(WIDTH) role="img" aria-label="timeline" {
            @for step in steps {
                @let row = &profile.rows[step.row];
                @let (x, width) = place(step);
                rect class=(class(row)) x=(x) y="2" width=(width) height=(2.0 * LINE) {
                    title { (row.name) " " (row.lines) ": " (microseconds(step.us, 1)) " us" }
                }
            }
            text x="0" y=(3.0 * LINE - 4.0) { "0 us" }
            text x=(WIDTH) y=(3.0 * LINE - 4.0) text-anchor="end" { (microseconds(end - begin, 1)) " us" }
        }
    }
}

fn table(rows: &[ProfiledStep], all: f64) -> Markup {
    let several = rows.windows(2).any(|rows| rows[0].program != rows[1].program);
    html! {
        div.wide { table {
            thead { tr {
                @if several { th { "program" } }
                th { "step" } th { "by" } th { "line" } th { "times" } th { "us" } th { "us each" } th { "share" }
                th { "predicted us" } th { "bytes" } th { "of roof" }
            } }
            tbody { @for row in rows { tr {
                @if several { td { (row.program) } }
                td { (row.name) }
                td { (row.by) }
                td { (row.lines) }
                td { (row.times) }
                td { (microseconds(row.us, 1)) }
                td { (microseconds(row.us / row.times.max(1) as f64, 1)) }
                td { (format!("{:.0} %", 100.0 * share(row.us, all))) }
                td { (row.predicted_us.map_or_else(String::new, |us| microseconds(us, 1))) }
                td { (row.work.bytes) }
                td { @if row.has_roof() { (format!("{:.0} %", 100.0 * row.of_roof)) } }
            } } }
        } }
    }
}
