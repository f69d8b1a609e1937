//! The page of a program: a graph of its steps, in which each fusion can be opened.

mod counts;
mod graph;

use std::collections::HashMap;

use fusebox_compiler::{Compilation, Options, Reason, Selected, heroes, report};
use fusebox_core::hlo::{Computation, Instruction, Module, Op};
use fusebox_core::times::microseconds;
use maud::{Markup, html};

use super::framed;
use crate::counts::CountRow;
use crate::lines::SourceLines;
use crate::roofline::RooflineRow;
use graph::{Node, NodeKind, draw};

/// Returns the page of a compiled program.
///
/// `counts` are the counts of the program's kernels on the software driver. If `counts` is empty,
/// the page has no table of counts.
pub fn of_program(
    made: &Compilation,
    options: &Options,
    target: &str,
    rows: &[RooflineRow],
    counts: &[CountRow],
) -> String {
    let page = ProgramPage { made, options, rows, kernel_of: kernel_of(made) };
    let name = &made.fused.name;
    let body = html! {
        header {
            h1 { (name) }
            p { (made.kernels.len()) " kernels for " (target) ". A box is a step; those of kernels open what is inside." }
            ul.legend {
                li.memory { "bound by memory" }
                li.arithmetic { "bound by arithmetic" }
                li.launch { "bound by its launch" }
                li.other { "no kernel" }
            }
        }
        main {
            @for sequence in sequences(&made.fused) { (page.sequence(sequence)) }
            section { h2 { "Beside the roof" } (table(rows)) }
            @if !counts.is_empty() { section { h2 { "Counted in one launch" } (counts::table(counts)) } }
            section { h2 { "Kernels" } @for kernel in &made.kernels { (page.kernel(kernel)) } }
        }
    };
    framed(&format!("{name} · fusebox"), include_str!("style.css"), &body, include_str!("script.js"))
}

struct ProgramPage<'p> {
    made: &'p Compilation,
    options: &'p Options,
    rows: &'p [RooflineRow],
    /// The kernel of each fusion instruction. The key is the name of the instruction.
    kernel_of: HashMap<&'p str, &'p Selected>,
}

fn kernel_of(made: &Compilation) -> HashMap<&str, &Selected> {
    made.kernels.iter().flat_map(|kernel| kernel.unit.uses.iter().map(move |name| (name.as_str(), kernel))).collect()
}

/// Returns the computations that the runtime executes step by step: the entry, and all computations
/// that contain fusions.
fn sequences(module: &Module) -> impl Iterator<Item = &Computation> {
    let has_steps = |computation: &&Computation| {
        let is_entry = module.entry_computation().is_some_and(|entry| entry.name == computation.name);
        is_entry || computation.instructions.iter().any(|it| matches!(it.op, Op::Fusion { .. }))
    };
    module.computations.iter().rev().filter(has_steps)
}

impl ProgramPage<'_> {
    fn sequence(&self, sequence: &Computation) -> Markup {
        let node = |instruction: &Instruction| {
            let Some(kernel) = self.kernel_of.get(instruction.name.as_str()) else { return plain(instruction) };
            let name = &kernel.unit.fusion.name;
            let row = self.row(name);
            let time = row.map_or_else(String::new, |row| {
                let us = row.measured_us.unwrap_or(row.predicted_us);
                format!("{} us · {:.0} % of roof", microseconds(us, 1), 100.0 * row.of_roof())
            });
            let lines = vec![instruction.name.clone(), kernel.emitter.name.clone(), time];
            Node {
                lines,
                kind: row.map_or(NodeKind::Other, |row| NodeKind::Kernel(row.bound)),
                link: Some(anchor(name)),
            }
        };
        html! { section { h2 { (sequence.name) } (draw(sequence, node)) } }
    }

    fn row(&self, fusion: &str) -> Option<&RooflineRow> {
        self.rows.iter().find(|row| row.fusion == fusion)
    }

    fn kernel(&self, kernel: &Selected) -> Markup {
        let fusion = &kernel.unit.fusion;
        let heroes = heroes(fusion, &self.options.device, &self.options.emitters);
        let names: Vec<&str> = fusion.computation().instructions.iter().map(|it| it.name.as_str()).collect();
        let reasons: Vec<&Reason> =
            self.made.reasons.iter().filter(|it| names.contains(&it.instruction.as_str())).collect();
        html! {
            details id=(anchor(&fusion.name)) {
                summary {
                    (fusion.name) " " span.by {
                        (kernel.emitter.name) " " (kernel.emitter.version) " " (SourceLines::of_kernel(kernel))
                    }
                }
                (draw(fusion.computation(), plain))
                @if !reasons.is_empty() {
                    dl { @for reason in reasons { dt { (reason.instruction) } dd { (reason.outcome) } } }
                }
                pre { (report::kernel(kernel, &heroes, &self.options.device)) }
            }
        }
    }
}

/// Returns the name of the anchor at which the page describes a kernel.
fn anchor(kernel: &str) -> String {
    format!("kernel-{kernel}")
}

fn plain(instruction: &Instruction) -> Node {
    let shape = instruction.shape.as_array().map_or_else(|| "tuple".to_owned(), ToString::to_string);
    Node {
        lines: vec![instruction.name.clone(), instruction.opcode().to_string(), shape],
        kind: NodeKind::Other,
        link: None,
    }
}

fn table(rows: &[RooflineRow]) -> Markup {
    let has_lines = rows.iter().any(|row| !row.lines.is_empty());
    html! {
        div.wide { table {
            thead { tr {
                th { "fusion" } th { "emitter" } @if has_lines { th { "line" } } th { "uses" } th { "bytes" } th { "operations by byte" } th { "bound by" }
                th { "roof us" } th { "predicted us" } th { "measured us" } th { "of roof" }
            } }
            tbody { @for row in rows { tr {
                td { a href={ "#" (anchor(&row.fusion)) } { (row.fusion) } }
                td { (row.emitter) }
                @if has_lines { td { (row.lines) } }
                td { (row.uses) }
                td { (row.work.bytes) }
                td { (format!("{:.2}", row.work.operations / row.work.bytes.max(1) as f64)) }
                td class=(row.bound.name()) { (row.bound.name()) }
                td { (microseconds(row.roof_us, 1)) }
                td { (microseconds(row.predicted_us, 1)) }
                td { (row.measured_us.map_or_else(String::new, |us| microseconds(us, 1))) }
                td { (format!("{:.0} %", 100.0 * row.of_roof())) }
            } } }
        } }
    }
}
