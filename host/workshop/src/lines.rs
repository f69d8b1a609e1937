//! The lines of the user's program from which an operation comes. Programs of JAX state these lines
//! in the metadata of instructions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use fusebox_compiler::Selected;
use fusebox_core::hlo::{Computation, Instruction};
use serde::{Deserialize, Serialize, Serializer};

/// Largest number of line ranges that a text lists.
const MOST_RANGES: usize = 3;

/// Lines of the user's files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct SourceLines(BTreeMap<String, BTreeSet<i64>>);

impl SourceLines {
    /// Returns the line of an instruction.
    pub fn of_instruction(instruction: &Instruction) -> SourceLines {
        let mut lines = SourceLines::default();
        lines.add(instruction);
        lines
    }

    /// Returns the lines of all instructions of a computation.
    pub fn of(computation: &Computation) -> SourceLines {
        let mut lines = SourceLines::default();
        computation.instructions.iter().for_each(|it| lines.add(it));
        lines
    }

    fn add(&mut self, instruction: &Instruction) {
        let Some(metadata) = instruction.extra.as_ref().and_then(|it| it.metadata.as_ref()) else { return };
        if !metadata.source_file.is_empty() && metadata.source_line > 0 {
            self.0.entry(metadata.source_file.clone()).or_default().insert(metadata.source_line);
        }
    }

    /// Returns the lines of the user's program that a kernel computes.
    pub fn of_kernel(kernel: &Selected) -> SourceLines {
        SourceLines::of(kernel.unit.fusion.computation())
    }

    /// Adds other lines.
    pub fn extend(&mut self, other: &SourceLines) {
        for (file, lines) in &other.0 {
            self.0.entry(file.clone()).or_default().extend(lines);
        }
    }

    /// Whether no line is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns each line, with the whole path of its file.
    pub fn all(&self) -> impl Iterator<Item = String> {
        self.0.iter().flat_map(|(file, lines)| lines.iter().map(move |line| format!("{file}:{line}")))
    }
}

impl fmt::Display for SourceLines {
    /// Writes the name of each file without its folder, and successive lines as a range:
    /// `train.py:5-7,12`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (file, lines)) in self.0.iter().enumerate() {
            let name = Path::new(file).file_name().map_or_else(|| file.into(), |name| name.to_string_lossy());
            write!(f, "{}{name}:", if number == 0 { "" } else { " " })?;
            let ranges = ranges(lines);
            for (number, &(first, last)) in ranges.iter().take(MOST_RANGES).enumerate() {
                f.write_str(if number == 0 { "" } else { "," })?;
                if first == last { write!(f, "{first}")? } else { write!(f, "{first}-{last}")? }
            }
            f.write_str(if ranges.len() > MOST_RANGES { ",…" } else { "" })?;
        }
        Ok(())
    }
}

/// Returns the first and the last line of each range of successive lines.
fn ranges(lines: &BTreeSet<i64>) -> Vec<(i64, i64)> {
    let mut ranges: Vec<(i64, i64)> = Vec::new();
    for &line in lines {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == line => *last = line,
            _ => ranges.push((line, line)),
        }
    }
    ranges
}

impl Serialize for SourceLines {
    /// Formats for human readers, such as JSON, contain the list of lines. Other formats contain
    /// the map from files to lines.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_seq(self.all()) } else { self.0.serialize(serializer) }
    }
}

#[cfg(test)]
mod tests {
    use fusebox_core::hlo::parse_module;

    use super::SourceLines;

    #[test]
    fn lines_of_a_computation_are_ranges_by_file() {
        let at = |line: i64| format!("metadata={{source_file=\"a/train.py\" source_line={line}}}");
        let text = format!(
            "HloModule m\nENTRY e {{\n  a = f32[] parameter(0)\n  b = f32[] sine(a), {}\n  c = f32[] cosine(b), {}\n  d = \
             f32[] tanh(c), {}\n  ROOT g = f32[] add(d, d), metadata={{source_file=\"other.py\" source_line=3}}\n}}\n",
            at(7),
            at(6),
            at(12)
        );
        let module = parse_module(&text, "m.hlo").unwrap();
        let lines = SourceLines::of(module.entry_computation().unwrap());
        assert_eq!(lines.to_string(), "train.py:6-7,12 other.py:3");
        let all = ["a/train.py:6", "a/train.py:7", "a/train.py:12", "other.py:3"];
        assert_eq!(serde_json::json!(lines), serde_json::json!(all));
        assert!(SourceLines::default().is_empty() && SourceLines::default().to_string().is_empty());
    }
}
