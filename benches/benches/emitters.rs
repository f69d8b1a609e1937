//! Measures the fusions of the bench set. Each emitter builds each fusion that it accepts, once
//! with every configuration that it offers. Groups results by emitter and size, and prints a table
//! at the end.
//!
//! `cargo bench --bench emitters -- reduce` measures only benchmarks whose names contain `reduce`.
//! `--save-baseline NAME` and `--baseline NAME` compare with an earlier run.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a bench may fail")]

use std::time::Duration;

use criterion::{BenchmarkId, Criterion};
use fusebox_benches::set::{FUSIONS, SIZES};
use fusebox_benches::{compile, linked};
use fusebox_compiler::{Emitters, Phase, Selected, Source};
use fusebox_core::emitter::Configuration;
use fusebox_plugins::Override;
use fusebox_run::inputs::{self, InputChoice};
use fusebox_runtime::measurement::Session;
use fusebox_runtime::{LoadedExecutable, Options};
use fusebox_workshop::reference::Reference;

/// Largest ratio of an emitter's predicted time to the best predicted time. The bench skips
/// emitters beyond this ratio, because the kernels of some of these emitters would run for minutes.
const WORST: f64 = 100.0;

/// A fusion to measure, and the emitter and the knobs with which it is compiled.
struct Candidate {
    emitter: String,
    fusion: String,
    size: &'static str,
    text: String,
    emitters: Emitters,
}

/// A row of the table: a candidate and its least time in microseconds.
struct Row {
    fusion: String,
    size: &'static str,
    candidate: String,
    time: f64,
}

/// Returns a candidate for each configuration of each emitter that accepts the fusion. Skips
/// emitters that are predicted to be too slow.
fn candidates(name: &str, text: &str, size: &'static str) -> Vec<Candidate> {
    let all = linked().unwrap();
    let planned = |emitters: &Emitters| compile(text, emitters, Phase::Emit).ok()?.kernels.pop();
    let Some(first) = planned(&all) else { return Vec::new() };
    let numbers = first.selection.order.iter().map(|ranked| ranked.emitter);
    let plans: Vec<(Emitters, Selected)> = numbers
        .filter_map(|number| {
            let kind = first.selection.kind.clone()?;
            let choice = Override { force: true, ..Override::of_kind(kind, vec![number], "bench") };
            let emitters = Emitters { overrides: vec![choice], ..all.clone() };
            planned(&emitters).map(|kernel| (emitters, kernel))
        })
        .collect();
    let seconds = |kernel: &Selected| kernel.prediction.seconds;
    let best = plans.iter().map(|(_, kernel)| seconds(kernel)).fold(f64::INFINITY, f64::min);
    let worth = plans.into_iter().filter(|(_, kernel)| seconds(kernel) <= WORST * best);
    let all = worth.flat_map(|(emitters, kernel)| {
        let alternatives = kernel.plan.configuration.others(kernel.plan.alternatives.iter().cloned());
        [Configuration::default()].into_iter().chain(alternatives).map(move |knobs| Candidate {
            emitter: kernel.emitter.name.clone(),
            fusion: name.to_owned(),
            size,
            text: text.to_owned(),
            emitters: configured(&emitters, knobs),
        })
    });
    all.collect()
}

/// Returns a copy of `emitters` in which the chosen emitter has the knobs `knobs`.
fn configured(emitters: &Emitters, knobs: Configuration) -> Emitters {
    let with = |choice: &Override| Override { knobs: knobs.clone(), ..choice.clone() };
    Emitters { overrides: emitters.overrides.iter().map(with).collect(), ..emitters.clone() }
}

impl Candidate {
    /// Loads the program, checks its result, and returns the program. A wrong result ends the
    /// bench, because the time of a wrong kernel is meaningless.
    fn program(&self) -> Session {
        let executable = compile(&self.text, &self.emitters, Phase::Run).unwrap().executable.unwrap();
        let options = Options { threads: 2, ..Options::default() };
        let program = LoadedExecutable::open(executable.clone(), &options).unwrap();
        let choice = InputChoice::default();
        let values = inputs::load(&choice, &program.parameter_shapes()).unwrap();
        let arrays = inputs::arrays(&values);
        let found = program.run(&arrays).unwrap();
        let module = Source::text(&self.fusion, &self.text).parse().unwrap();
        let chosen = || compile(&self.text, &linked().unwrap(), Phase::Run).unwrap().executable;
        let reference = Reference::new(&module, &values, &options, std::iter::once_with(chosen).flatten()).unwrap();
        if let Some(fault) = reference.fault(&found).unwrap() {
            let (emitter, fusion, by) = (&self.emitter, &self.fusion, reference.authority().name());
            panic!("{emitter} {} is wrong on {fusion}, by {by}: {fault}", self.knobs());
        }
        let mut session = Session::load(executable.without_copies(), &options).unwrap();
        session.set_inputs(&arrays).unwrap();
        session
    }

    /// Describes the knobs that differ from the emitter's default.
    fn knobs(&self) -> String {
        let knobs: String = self.emitters.overrides.iter().map(|choice| choice.knobs.to_string()).collect();
        if knobs.is_empty() { "default".into() } else { knobs }
    }

    /// Compiles and measures the candidate. Does nothing if the command line excludes the
    /// candidate.
    fn measure(&self, c: &mut Criterion) -> Option<Row> {
        let mut program = None;
        let mut best = None;
        let mut group = c.benchmark_group(format!("{}/{}", self.emitter, self.size));
        group.bench_function(BenchmarkId::new(&self.fusion, self.knobs()), |b| {
            let program = program.get_or_insert_with(|| self.program());
            b.iter_custom(|runs| {
                let total: Duration = (0..runs).map(|_| program.execute().unwrap()).sum();
                let mean = total.as_secs_f64() * 1e6 / runs as f64;
                best = Some(best.map_or(mean, |best: f64| best.min(mean)));
                total
            });
        });
        let candidate = format!("{} {}", self.emitter, self.knobs());
        Some(Row { fusion: self.fusion.clone(), size: self.size, candidate, time: best? })
    }
}

/// Prints the rows, grouped by fusion and size. The fastest row of a group comes first, and each
/// time is also shown as a multiple of the fastest time.
fn print(mut rows: Vec<Row>) {
    rows.sort_by(|a, b| (&a.fusion, a.size).cmp(&(&b.fusion, b.size)).then(a.time.total_cmp(&b.time)));
    println!("\n{:<26} {:<6} {:<44} {:>12} {:>8}", "fusion", "size", "emitter and knobs", "least us", "of best");
    for group in rows.chunk_by(|a, b| (&a.fusion, a.size) == (&b.fusion, b.size)) {
        for Row { fusion, size, candidate, time } in group {
            println!("{fusion:<26} {size:<6} {candidate:<44} {time:>12.2} {:>8.2}", time / group[0].time);
        }
    }
}

fn main() {
    let quick = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    let mut criterion = quick.configure_from_args();
    let mut rows = Vec::new();
    for (size, number) in SIZES {
        for fusion in &FUSIONS {
            let candidates = candidates(fusion.name, &fusion.of_size(number), size);
            rows.extend(candidates.iter().filter_map(|candidate| candidate.measure(&mut criterion)));
        }
    }
    criterion.final_summary();
    if !rows.is_empty() {
        print(rows);
    }
}
