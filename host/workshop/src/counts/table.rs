//! Counts as text.

use std::io::{self, Write};

use fusebox_core::times::microseconds;

use super::kernel::Traffic;
use super::rows::CountRow;

/// A column: its heading, and a function that returns the text of a row in this column.
type Column<'c> = (&'c str, &'c dyn Fn(&CountRow) -> String);

/// Writes three tables of one launch of each kernel. The first table contains the times, the
/// registers and the occupancy. The second table contains the accesses to memory and the branches.
/// The third table contains the instructions of warps, by class.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(out: &mut dyn Write, rows: &[CountRow]) -> io::Result<()> {
    if rows.is_empty() {
        return writeln!(out, "the program has launched no kernel");
    }
    let known = |number: Option<String>| number.unwrap_or_else(|| "-".into());
    let us = |number: f64| microseconds(number, 1);
    let spills = |row: &CountRow| Some(row.quality.as_ref()?.spill_stores + row.quality.as_ref()?.spill_loads);
    write_table(
        out,
        rows,
        &[
            ("launches", &|row| row.counts.launches.to_string()),
            ("predicted us", &|row| us(row.predicted_us)),
            ("memory us", &|row| us(row.memory_us)),
            ("instructions us", &|row| us(row.instructions_us)),
            ("bound by", &|row| row.bound.name().into()),
            ("registers", &|row| known(row.quality.as_ref().map(|it| it.registers.to_string()))),
            ("spills", &|row| known(spills(row).map(|it| it.to_string()))),
            ("occupancy", &|row| known(row.occupancy.map(|it| format!("{:.0} %", 100.0 * it)))),
            ("emitter", &|row| row.emitter.clone()),
        ],
    )?;
    writeln!(out)?;
    let sectors = |row: &CountRow, traffic: &Traffic| per_launch(row, traffic.sectors);
    let ratio = |traffic: &Traffic| known(traffic.of_perfect().map(|ratio| format!("{ratio:.2}")));
    write_table(
        out,
        rows,
        &[
            ("read sectors", &|row| sectors(row, &row.counts.global_reads)),
            ("of perfect", &|row| ratio(&row.counts.global_reads)),
            ("written", &|row| sectors(row, &row.counts.global_writes)),
            ("of perfect", &|row| ratio(&row.counts.global_writes)),
            ("atomic", &|row| sectors(row, &row.counts.global_atomics)),
            ("shared", &|row| per_launch(row, row.counts.shared_accesses)),
            ("conflicts", &|row| per_launch(row, row.counts.bank_conflicts)),
            ("branches", &|row| per_launch(row, row.counts.branches)),
            ("divergent", &|row| per_launch(row, row.counts.divergent_branches)),
            ("barriers", &|row| per_launch(row, row.counts.barriers)),
        ],
    )?;
    writeln!(out)?;
    let classes = |row: &CountRow| {
        let mut all: Vec<(&String, u64)> =
            row.counts.instructions.iter().map(|(class, executed)| (class, executed.warps)).collect();
        all.sort_by_key(|(_, warps)| std::cmp::Reverse(*warps));
        let texts = all.iter().map(|(class, warps)| format!("{class} {}", per_launch(row, *warps)));
        texts.collect::<Vec<_>>().join(", ")
    };
    let executed = |row: &CountRow| per_launch(row, row.counts.executed().warps);
    let width = names(rows);
    let most = rows.iter().map(|row| executed(row).len()).max().unwrap_or(0).max("instructions".len());
    writeln!(out, "{:<width$} {:>most$}  by class", "kernel", "instructions")?;
    rows.iter().try_for_each(|row| writeln!(out, "{:<width$} {:>most$}  {}", row.fusion, executed(row), classes(row)))
}

/// Returns the mean count per launch, as text. `number` is the sum over all launches of the kernel.
pub fn per_launch(row: &CountRow, number: u64) -> String {
    let mean = number as f64 / row.counts.launches.max(1) as f64;
    if mean.fract() == 0.0 { format!("{mean:.0}") } else { format!("{mean:.1}") }
}

fn names(rows: &[CountRow]) -> usize {
    rows.iter().map(|row| row.fusion.chars().count()).max().unwrap_or(0).max("kernel".len())
}

/// Writes a table whose first column has the names of the kernels. The other columns are aligned
/// right, except the last column if it contains words.
fn write_table(out: &mut dyn Write, rows: &[CountRow], columns: &[Column<'_>]) -> io::Result<()> {
    let width = names(rows);
    let widths: Vec<usize> = columns
        .iter()
        .map(|(head, text)| rows.iter().map(|row| text(row).chars().count()).max().unwrap_or(0).max(head.len()))
        .collect();
    let line = |first: &str, texts: &dyn Fn(&Column<'_>) -> String| {
        let mut line = format!("{first:<width$}");
        for (column, width) in columns.iter().zip(&widths) {
            line += &match column.0 {
                "emitter" => format!("  {}", texts(column)),
                _ => format!(" {:>width$}", texts(column)),
            };
        }
        line
    };
    writeln!(out, "{}", line("kernel", &|(head, _)| (*head).to_owned()))?;
    rows.iter().try_for_each(|row| writeln!(out, "{}", line(&row.fusion, &|(_, text)| text(row))))
}
