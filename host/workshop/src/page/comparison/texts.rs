//! Shows the kernels of both sides next to each other, after a stage of lowering that the reader
//! chooses.

use std::collections::{BTreeMap, HashSet};
use std::fmt::{self, Write};

use fusebox_lowering::Stage;

use super::Escaped;

/// Largest number of bytes that the page shows of a text. More bytes would not help the reader.
const LONGEST: usize = 1 << 20;

/// Writes the texts of both sides after each stage, and a control by which the reader selects a
/// stage. Marks lines that only one side has.
pub fn side_by_side(
    out: &mut String,
    a: &BTreeMap<&'static str, String>,
    b: &BTreeMap<&'static str, String>,
    number: usize,
) -> fmt::Result {
    let has_text = |stage: &&Stage| a.contains_key(stage.name()) || b.contains_key(stage.name());
    let stages: Vec<&str> = Stage::ALL.iter().filter(has_text).map(|stage| stage.name()).collect();
    if stages.is_empty() {
        return Ok(());
    }
    writeln!(out, "<details class=texts id=texts{number}><summary>Kernels by stage</summary>")?;
    write!(out, "<select data-texts=texts{number} aria-label=stage>")?;
    stages.iter().try_for_each(|stage| write!(out, "<option>{stage}</option>"))?;
    writeln!(out, "</select>")?;
    for stage in stages {
        let [of_a, of_b] = [a, b].map(|texts| shortened(texts.get(stage).map_or("", String::as_str)));
        writeln!(out, "<div data-stage={stage} hidden>")?;
        pre(out, "a", of_a, of_b)?;
        pre(out, "b", of_b, of_a)?;
        writeln!(out, "</div>")?;
    }
    writeln!(out, "</details>")
}

fn shortened(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LONGEST)).unwrap_or(text)
}

fn pre(out: &mut String, side: &str, text: &str, other: &str) -> fmt::Result {
    let others: HashSet<&str> = other.lines().map(str::trim).collect();
    write!(out, "<pre class={side}>")?;
    for line in text.lines() {
        if others.contains(line.trim()) {
            writeln!(out, "{}", Escaped(line))?
        } else {
            writeln!(out, "<span class=only>{}</span>", Escaped(line))?
        }
    }
    writeln!(out, "</pre>")
}
