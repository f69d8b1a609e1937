//! `verdicts same|five-percent FILE ROWS [SECONDS]`: measures how often the verdicts of comparisons
//! are right. Appends a line of JSON to the file for each comparison. Stops when the file has
//! `ROWS` lines or the time is over, and then prints the wrong verdicts. A later run continues at
//! the end of the file.
//!
//! `same` compares each fusion of the bench set with itself. `five-percent` compares two versions
//! of a program that sums rows; one version sums five percent more rows than the other. Side B is
//! alternately the slower and the faster side. `five-percent` measures two programs that sum rows.
//! The speed of the first program is bound by memory, and the speed of the second program is bound
//! by arithmetic.

use std::error::Error;
use std::fs::{OpenOptions, read_to_string};
use std::io::Write;
use std::time::{Duration, Instant};

use fusebox_benches::set::{FUSIONS, SIZES};
use fusebox_benches::{compile, linked};
use fusebox_compiler::Phase;
use fusebox_run::inputs::{self, InputChoice};
use fusebox_runtime::{Executable, LoadedExecutable, Options};
use fusebox_workshop::measure::{Cache, Contest, DisturbanceWatch, Effort, Series};
use fusebox_workshop::statistics::{Summary, Verdict};
use serde::{Deserialize, Serialize};

const CACHES: [Cache; 2] = [Cache::Warm, Cache::Cold];
const SUMS: [(&str, &str); 2] = [
    ("memory", include_str!("../../programs/sum_memory.hlo")),
    ("arithmetic", include_str!("../../programs/sum_arithmetic.hlo")),
];
/// The usual number of rows that a program sums, and a number that is five percent larger. The
/// thread pool splits both numbers of rows into the same number of parts.
const ROWS: [&str; 2] = ["2560", "2688"];

/// Two programs to compare, and the right verdict.
struct Comparison {
    name: String,
    sides: [String; 2],
    cache: Cache,
    right: Verdict,
}

/// A verdict with the details of its comparison, as stored in the file.
#[derive(Serialize, Deserialize)]
struct RecordedVerdict {
    name: String,
    cache: Cache,
    right: Verdict,
    verdict: Verdict,
    ratio: f64,
    low: f64,
    high: f64,
    median_us: f64,
    pairs: usize,
    disturbed: usize,
    seconds: f64,
}

fn same(number: usize) -> Comparison {
    let fusion = &FUSIONS[number / 2 % FUSIONS.len()];
    let (size, length) = SIZES[number / 2 / FUSIONS.len() % SIZES.len()];
    let (name, text) = (format!("{} {size}", fusion.name), fusion.of_size(length));
    Comparison { name, sides: [text.clone(), text], cache: CACHES[number % 2], right: Verdict::Same }
}

fn five_percent(number: usize) -> Comparison {
    let (name, text) = SUMS[number / 2 % SUMS.len()];
    let [few, more] = ROWS.map(|rows| text.replace(ROWS[0], rows));
    let (sides, right) = match number / 2 / SUMS.len() % 2 {
        0 => ([few, more], Verdict::Slower),
        _ => ([more, few], Verdict::Faster),
    };
    Comparison { name: name.to_owned(), sides, cache: CACHES[number % 2], right }
}

impl Comparison {
    fn measure(self, number: usize) -> Result<RecordedVerdict, Box<dyn Error>> {
        let begin = Instant::now();
        let emitters = linked()?;
        let executable = |text: &String| -> Result<Executable, Box<dyn Error>> {
            let made = compile(text, &emitters, Phase::Run)?.executable.ok_or("nothing was compiled to run")?;
            Ok(made.without_copies())
        };
        let [a, b] = &self.sides;
        let (a, b) = (executable(a)?, executable(b)?);
        let options = Options { threads: 2, ..Options::default() };
        let shapes = LoadedExecutable::open(a.clone(), &options)?.parameter_shapes();
        let inputs = inputs::arrays(&inputs::load(&InputChoice::default(), &shapes)?);
        let contest = Contest { a: &a, b: &b, inputs: &inputs, options: &options };
        let effort = Effort { seed: number as u64, ..Effort::default() };
        let series = contest.measure(self.cache, effort, &mut DisturbanceWatch::new())?;
        Ok(self.row(&series, begin.elapsed()))
    }

    fn row(self, series: &Series, time: Duration) -> RecordedVerdict {
        let times: Vec<f64> = series.pairs().map(|pair| pair.a).collect();
        RecordedVerdict {
            name: self.name,
            cache: self.cache,
            right: self.right,
            verdict: series.verdict,
            ratio: series.ratio.ratio,
            low: series.ratio.low,
            high: series.ratio.high,
            median_us: Summary::of(&times).median,
            pairs: times.len(),
            disturbed: series.disturbed(),
            seconds: time.as_secs_f64(),
        }
    }
}

/// Prints the wrong verdicts, and the number of right verdicts.
fn print(rows: &[RecordedVerdict]) {
    let wrong: Vec<&RecordedVerdict> = rows.iter().filter(|row| row.verdict != row.right).collect();
    for RecordedVerdict { name, cache, verdict, ratio, low, high, median_us, pairs, disturbed, .. } in &wrong {
        println!(
            "{name:<28} {cache:?}: {verdict}, {ratio:.3} ({low:.3} – {high:.3}), {median_us:.1} us, {pairs} pairs, \
             {disturbed} disturbed"
        );
    }
    println!("{} of {} verdicts are right", rows.len() - wrong.len(), rows.len());
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (comparison, file, count, limit): (fn(usize) -> Comparison, _, usize, f64) = match arguments.as_slice() {
        [what, file, count, limit @ ..] if limit.len() < 2 && ["same", "five-percent"].contains(&&**what) => {
            let limit = limit.first().map_or(Ok(f64::INFINITY), |limit| limit.parse())?;
            (if what == "same" { same } else { five_percent }, file, count.parse()?, limit)
        }
        _ => return Err("usage: verdicts same|five-percent FILE ROWS [SECONDS]".into()),
    };
    let begin = Instant::now();
    let mut out = OpenOptions::new().append(true).create(true).open(file)?;
    let kept = read_to_string(file)?;
    let mut rows: Vec<RecordedVerdict> = kept.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    while rows.len() < count && begin.elapsed().as_secs_f64() < limit {
        let row = comparison(rows.len()).measure(rows.len())?;
        writeln!(out, "{}", serde_json::to_string(&row)?)?;
        rows.push(row);
    }
    print(&rows);
    Ok(())
}
