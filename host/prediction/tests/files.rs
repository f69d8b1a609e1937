//! Compares predictions with the predictions in files, so that a changed constant shows which
//! predictions it changes.
//!
//! `tests/filetests/NAME.DEVICE.hlo` begins with comments. They describe the example, and state the
//! device and the plan in lines like these:
//!
//! ```text
//! // device: cpu 8
//! // output: (th, bl)[row] -> (bl * 8 + row), domain: …
//! // updates 0: (th, bl)[row]{start} -> …
//! // in place 0: …
//! // part: …
//! // visit x y given s: (th, bl)[row, point] -> …
//! // work: additions=100 tile_bytes=64 waits=2 atomics=8 past_caches unordered
//! ```
//!
//! The number is that of the output's initial parameter. A part is one more map of the output
//! before. The fusion follows the comments. The prediction follows the line `// -----`, with all
//! digits. `FUSEBOX_BLESS=1` updates the predictions.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write;
use std::path::Path;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Fusion, LaunchDimensions, OutputPlan, Plan, Visit, Work, check_plan};
use fusebox_core::hlo::{InstrId, parse_module};
use fusebox_core::indexing::IndexingMap;
use fusebox_prediction::{Amount, Breakdown, Prediction, breakdown, predict};

const SEPARATOR: &str = "\n// -----\n";

#[test]
fn predictions_are_as_in_the_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 20, "only {} files", files.len());
    let mut differences = String::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let (before, expected) = text.split_once(SEPARATOR).unwrap_or((&text, ""));
        let name = file.file_name().unwrap().to_str().unwrap();
        let fusion = Fusion::new("f", parse_module(before, name).unwrap()).unwrap();
        let device = device(before);
        let plan = plan(before, &fusion);
        check_plan(&plan, &fusion, &device).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        let found = prediction(&plan, &fusion, &device);
        if std::env::var_os("FUSEBOX_BLESS").is_some() {
            std::fs::write(&file, format!("{before}{SEPARATOR}{found}")).unwrap();
        } else if found != expected {
            write!(differences, "{name} expected\n{expected}found\n{found}\n").unwrap();
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

/// Returns the contents of comments `// KEY: VALUE`.
fn comments(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.strip_prefix("// ")?.split_once(": "))
}

fn device(text: &str) -> DeviceDescription {
    let (_, name) = comments(text).find(|(key, _)| *key == "device").unwrap();
    match name.split_once([' ', '_']).unwrap() {
        ("cpu", threads) => DeviceDescription::cpu(threads.parse().unwrap()),
        ("sm", capability) => DeviceDescription::sm(capability.parse().unwrap()),
        _ => panic!("no device {name}"),
    }
}

/// Reads the plan. The launch has the threads and blocks of the first output's map.
fn plan(text: &str, fusion: &Fusion) -> Plan {
    let mut plan = Plan::new(LaunchDimensions { blocks: 1, threads_per_block: 1 }, Vec::new());
    let ids = |names: &str| -> Vec<InstrId> {
        names.split_whitespace().map(|name| fusion.computation().find(name).unwrap()).collect()
    };
    for (key, value) in comments(text) {
        let map = || -> IndexingMap { value.parse().unwrap() };
        let (kind, rest) = key.split_once(' ').unwrap_or((key, ""));
        match kind {
            "output" => plan.outputs.push(OutputPlan::unique(map())),
            "updates" => plan.outputs.push(OutputPlan::updates(map(), rest.parse().unwrap())),
            "in" => {
                let parameter = rest.strip_prefix("place ").unwrap();
                plan.outputs.push(OutputPlan::in_place(map(), parameter.parse().unwrap()));
            }
            "part" => plan.outputs.last_mut().unwrap().maps.push(map()),
            "visit" => {
                let (values, given) = rest.split_once(" given ").unwrap_or((rest, ""));
                plan.visits.push(Visit { map: map(), values: ids(values), given: ids(given) });
            }
            "work" => plan.work = work(value),
            _ => {}
        }
    }
    let [threads, blocks] = [0, 1].map(|dim| plan.outputs[0].maps[0].dims[dim].bounds.size());
    plan.launch = LaunchDimensions { blocks, threads_per_block: threads as u32 };
    plan
}

fn work(text: &str) -> Work {
    let mut work = Work::default();
    for part in text.split_whitespace() {
        let (name, amount) = part.split_once('=').unwrap_or((part, "1"));
        let amount = amount.parse().unwrap();
        match name {
            "additions" => work.additions = amount,
            "tile_bytes" => work.tile_bytes = amount,
            "waits" => work.waits = amount,
            "atomics" => work.atomics = amount,
            "past_caches" => work.past_caches = true,
            "unordered" => work.unordered = true,
            _ => panic!("no work {name}"),
        }
    }
    work
}

/// Returns the prediction and its parts as text.
fn prediction(plan: &Plan, fusion: &Fusion, device: &DeviceDescription) -> String {
    let mut text = String::new();
    let Breakdown { visits, writes, work, times } = breakdown(plan, fusion, device);
    let Prediction { read, written, seconds } = predict(plan, fusion, device);
    assert_eq!(times.seconds(), seconds, "the parts give another time");
    let amount = |Amount { additions, bytes }: Amount| format!("{additions} additions, {bytes} bytes");
    for (values, amount_of_visit) in visits {
        let names: Vec<&str> = values.iter().map(|&id| fusion.computation().instruction(id).name.as_str()).collect();
        writeln!(text, "visit {}: {}", names.join(" "), amount(amount_of_visit)).unwrap();
    }
    writeln!(text, "writes: {}", amount(writes)).unwrap();
    writeln!(text, "stated work: {} additions", work.additions).unwrap();
    for (part, seconds) in [
        ("launch", times.launch),
        ("computing", times.computing),
        ("memory", times.memory),
        ("waiting", times.waiting),
        ("unordered", times.unordered),
        ("together", seconds),
    ] {
        writeln!(text, "{part}: {seconds:e} s").unwrap();
    }
    writeln!(text, "read {read} bytes, written {written} bytes").unwrap();
    text
}
