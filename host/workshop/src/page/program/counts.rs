//! The table of counts.

use fusebox_core::times::microseconds;
use maud::{Markup, html};

use super::anchor;
use crate::counts::{CountRow, Traffic, per_launch};

/// Returns the table of what each kernel executes in one launch.
pub fn table(rows: &[CountRow]) -> Markup {
    let ratio = |traffic: &Traffic| traffic.of_perfect().map_or_else(String::new, |ratio| format!("{ratio:.2}"));
    let spills = |row: &CountRow| row.quality.as_ref().map(|quality| quality.spill_stores + quality.spill_loads);
    html! {
        div.wide { table {
            thead { tr {
                th { "kernel" } th { "emitter" } th { "launches" } th { "predicted us" } th { "memory us" }
                th { "instructions us" } th { "bound by" } th { "read sectors" } th { "of perfect" }
                th { "written sectors" } th { "of perfect" } th { "atomic sectors" } th { "shared accesses" }
                th { "conflicts" } th { "divergent branches" } th { "instructions" } th { "registers" } th { "spills" }
                th { "occupancy" }
            } }
            tbody { @for row in rows { tr {
                td { a href={ "#" (anchor(&row.fusion)) } { (row.fusion) } }
                td { (row.emitter) }
                td { (row.counts.launches) }
                td { (microseconds(row.predicted_us, 1)) }
                td { (microseconds(row.memory_us, 1)) }
                td { (microseconds(row.instructions_us, 1)) }
                td { (row.bound.name()) }
                td { (per_launch(row, row.counts.global_reads.sectors)) }
                td { (ratio(&row.counts.global_reads)) }
                td { (per_launch(row, row.counts.global_writes.sectors)) }
                td { (ratio(&row.counts.global_writes)) }
                td { (per_launch(row, row.counts.global_atomics.sectors)) }
                td { (per_launch(row, row.counts.shared_accesses)) }
                td { (per_launch(row, row.counts.bank_conflicts)) }
                td { (per_launch(row, row.counts.divergent_branches)) }
                td { (per_launch(row, row.counts.executed().warps)) }
                td { (row.quality.as_ref().map_or_else(String::new, |quality| quality.registers.to_string())) }
                td { (spills(row).map_or_else(String::new, |spills| spills.to_string())) }
                td { (row.occupancy.map_or_else(String::new, |share| format!("{:.0} %", 100.0 * share))) }
            } } }
        } }
    }
}
