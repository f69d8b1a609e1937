//! Checks the maps of every operation of the corpus, if `FUSEBOX_CORPUS` names its folder.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::PathBuf;

use fusebox_hlo::{Module, Shape, parse_module};
use fusebox_indexing::{Coverage, Indexing, Reading, check_coverage, describe, input_to_output, output_to_input};

/// Largest number of points of a box that the test compares. The test skips larger boxes.
const ENUMERATED: u64 = 4096;

fn modules() -> Vec<(String, Module)> {
    let Some(folder) = std::env::var_os("FUSEBOX_CORPUS") else {
        eprintln!("FUSEBOX_CORPUS is not set: nothing to read");
        return Vec::new();
    };
    let entries = std::fs::read_dir(PathBuf::from(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "hlo")).collect();
    paths.sort();
    let parse = |path: PathBuf| {
        let name = path.display().to_string();
        let module = parse_module(&std::fs::read_to_string(&path).unwrap(), &name).unwrap();
        (name, module)
    };
    paths.into_iter().map(parse).collect()
}

fn pairs(reading: &Reading, swapped: bool) -> BTreeSet<(Vec<i64>, Vec<i64>, Vec<i64>)> {
    let mut pairs = BTreeSet::new();
    let _ = reading.map.for_each_point(|point| {
        let (from, to) = (point.dims.to_vec(), point.results.to_vec());
        let (output, input) = if swapped { (to, from) } else { (from, to) };
        pairs.insert((output, input, point.runtime.to_vec()));
        ControlFlow::Continue(())
    });
    pairs
}

#[test]
fn maps_stay_in_bounds_and_both_directions_agree() {
    let (mut readings, mut compared) = (0, 0);
    let mut unknown: BTreeMap<String, usize> = BTreeMap::new();
    for (name, module) in modules() {
        for (c, computation) in module.computations.iter().enumerate() {
            let c = fusebox_hlo::ComputationId(c as u32);
            for id in computation.ids() {
                let instruction = computation.instruction(id);
                for leaf in 0..instruction.shape.leaves().len() {
                    for (operand, indexing) in output_to_input(&module, c, id, leaf).iter().enumerate() {
                        let Indexing::Known(known) = indexing else {
                            *unknown.entry(instruction.opcode().to_string()).or_default() += 1;
                            continue;
                        };
                        let place = || format!("{name}: {} reads operand {operand}", instruction.name);
                        let leaves = computation.instruction(instruction.operands[operand]).shape.leaves();
                        for reading in known {
                            let Shape::Array(read) = leaves[reading.leaf] else { continue };
                            let checked = check_coverage(&reading.map, &read.dims, Coverage::InBounds);
                            assert!(checked.is_ok(), "{}: {}: {checked:?}", place(), reading.map);
                            readings += 1;
                        }
                        let Indexing::Known(back) = input_to_output(&module, c, id, operand, leaf) else { continue };
                        let small = |reading: &Reading| reading.map.box_size() <= ENUMERATED;
                        if known.iter().all(small) && back.iter().all(small) {
                            let there: BTreeSet<_> = known.iter().flat_map(|r| pairs(r, false)).collect();
                            let back: BTreeSet<_> = back.iter().flat_map(|r| pairs(r, true)).collect();
                            assert_eq!(there, back, "{}", place());
                            compared += 1;
                        }
                    }
                }
            }
        }
    }
    println!("{readings} maps in bounds, {compared} compared with their inverse, unknown: {unknown:?}");
}

#[test]
fn every_program_can_be_described() {
    for (name, module) in modules() {
        let report = describe(&module, true);
        assert!(report.contains("as a whole"), "{name}");
    }
}
