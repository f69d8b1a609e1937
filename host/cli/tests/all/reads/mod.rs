//! Checks that indexing maps predict every read of every kernel, and that kernels read every
//! predicted element.
//!
//! The test compiles a fusion for the simulator. The simulator records which elements of each
//! parameter the kernel reads. The test then computes the same set from the instructions of the
//! fusion. All elements of the roots are needed. For a needed element, the maps state which
//! elements of the operands it needs. The interpreter computes the values of runtime variables.
//! Details of the comparison:
//!
//! - the test compares sets, because a kernel may read an element several times (once per thread,
//!   lane or use);
//! - a conditional read happens only where its condition holds. Usually the condition consists of
//!   the constraints of the read's map. But one operand may hide a part of another operand
//!   (`dynamic-update-slice`). The hidden operand is read where the constraints of the hiding
//!   operand do not hold;
//! - a kernel does not read the initial content of an output, because the host writes this content
//!   (`OutputPlan::initial`);
//! - the test leaves out and counts fusions without maps (`scatter`).
//!
//! `fusion_maps` composes and simplifies maps from the roots to the parameters. These maps must
//! predict the same reads. There is one exception: they treat the operand of a
//! `dynamic-update-slice` as read everywhere.
//!
//! Kernels and this test use the same maps, so a wrong map might go unnoticed. For the fusions in
//! `fusions/`, the test therefore also uses the interpreter. An element is needed if a change of
//! this element changes the result. For all operations of these fusions except
//! `select-and-scatter`, every change of a needed element changes the result.
//!
//! The test always checks the fusions in `fusions/`. If `FUSEBOX_CORPUS` names a folder of `.hlo`
//! files, the test also checks every kernel of every program in this folder.

mod dependences;
mod predicted;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fixedbitset::FixedBitSet;
use fusebox_compiler::{Compilation, Options, Phase, Source, compile};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{ArrayLiteral, ArrayShape, ElementType, FloatFormat, print_module};
use fusebox_lowering::Target;
use fusebox_plugins::Registry;
use fusebox_runtime::{LaunchReads, LoadedExecutable, trace_reads};

/// Number of fusions for each outcome or reason.
type Tally = BTreeMap<String, usize>;

#[test]
fn kernels_read_what_maps_say() {
    let mut failures = Vec::new();
    for file in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/reads/fusions")) {
        let text = std::fs::read_to_string(&file).unwrap();
        let checked = check(&text).map_err(|fault| fault.text().to_owned());
        if let Err(fault) = checked.and_then(|predicted| dependences::check(&text, &predicted)) {
            failures.push(format!("{}: {fault}", file.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn kernels_of_the_corpus_read_what_maps_say() {
    let Ok(folder) = std::env::var("FUSEBOX_CORPUS") else { return };
    let (mut failures, mut tally) = (Vec::new(), Tally::new());
    for file in files(Path::new(&folder)) {
        let text = std::fs::read_to_string(&file).unwrap();
        let Ok(made) = compiled(&text, Phase::Emit) else { panic!("{} is not compiled", file.display()) };
        for fusion in fusions(&made) {
            let outcome = match check(&fusion) {
                Ok(predicted) => format!("kernels compared, with {} parameters", predicted.len()),
                Err(ReadsMismatch::Unknown(reason)) => reason,
                Err(ReadsMismatch::Wrong(fault)) => {
                    failures.push(format!("{}: {fault}\n{fusion}", file.display()));
                    "wrong".into()
                }
            };
            *tally.entry(outcome).or_default() += 1;
        }
    }
    // This line is visible with `--nocapture`.
    println!("{tally:#?}");
    assert!(failures.is_empty(), "{} kernels:\n{}", failures.len(), failures.join("\n\n"));
}

/// The reason why the reads of a fusion do not agree with the prediction.
pub enum ReadsMismatch {
    /// The prediction or the kernel is missing.
    Unknown(String),
    /// The kernel reads other elements.
    Wrong(String),
}

impl ReadsMismatch {
    fn text(&self) -> &str {
        let (ReadsMismatch::Unknown(text) | ReadsMismatch::Wrong(text)) = self;
        text
    }
}

/// Checks a module without `ENTRY`. Such a module is one fusion. Returns, for each parameter, the
/// elements that the results need.
fn check(text: &str) -> Result<Vec<FixedBitSet>, ReadsMismatch> {
    let unknown = |reason: &str| ReadsMismatch::Unknown(reason.into());
    let mut made = compiled(text, Phase::Run).map_err(ReadsMismatch::Unknown)?;
    let executable = made.executable.take().ok_or_else(|| unknown("no executable"))?;
    let [kernel] = made.kernels.as_slice() else { return Err(unknown("not one kernel")) };
    let fusion = &kernel.unit.fusion;
    let parameters = fusion.computation().parameters();
    let shapes = parameters.iter().map(|&id| fusion.computation().instruction(id).shape.as_array().unwrap());
    let inputs: Vec<ArrayLiteral> = shapes.enumerate().map(|(seed, shape)| values(shape, seed as u64)).collect();
    let program = LoadedExecutable::open(executable, &fusebox_runtime::Options { threads: 1, ..Default::default() })
        .map_err(|e| ReadsMismatch::Unknown(e.to_string()))?;
    if program.parameter_shapes().len() != inputs.len() {
        return Err(unknown("parameters of the program that no kernel has"));
    }
    let (result, launches) = trace_reads(|| program.run(&inputs));
    result.map_err(|e| ReadsMismatch::Wrong(e.to_string()))?;
    let [launch] = launches.as_slice() else { return Err(unknown("not one launch")) };
    let starts: Vec<Option<usize>> =
        kernel.plan.outputs.iter().map(|output| output.initial.map(|p| p as usize)).collect();
    let predicted = predicted::reads(fusion, &inputs, &starts).map_err(ReadsMismatch::Unknown)?;
    compare(fusion, launch, &predicted, &starts).map_err(ReadsMismatch::Wrong)?;
    predicted::composed_maps_agree(fusion, &predicted).map_err(ReadsMismatch::Wrong)?;
    predicted::reads(fusion, &inputs, &vec![None; starts.len()]).map_err(ReadsMismatch::Unknown)
}

fn compare(
    fusion: &Fusion,
    launch: &LaunchReads,
    predicted: &[FixedBitSet],
    starts: &[Option<usize>],
) -> Result<(), String> {
    for (number, expected) in predicted.iter().enumerate() {
        // The output uses the parameter's buffer.
        if starts.contains(&Some(number)) {
            continue;
        }
        let nothing = FixedBitSet::new();
        let found = launch.parameters.get(number).unwrap_or(&nothing);
        let (more, less): (Vec<_>, Vec<_>) =
            (found.difference(expected).collect(), expected.difference(found).collect());
        if !more.is_empty() || !less.is_empty() {
            let some = |list: &[usize]| format!("{} elements, {:?}", list.len(), &list[..list.len().min(6)]);
            return Err(format!(
                "{}, parameter {number}: read but not foretold {}; foretold but not read {}",
                fusion.name,
                some(&more),
                some(&less)
            ));
        }
    }
    Ok(())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "hlo"));
    files.sort();
    assert!(!files.is_empty(), "{} has no modules", folder.display());
    files
}

fn compiled(text: &str, until: Phase) -> Result<Compilation, String> {
    let registry = Registry::new(fusebox_bundle::emitters()).map_err(|e| e.to_string())?;
    let options = Options::new(Target::simt(), DeviceDescription::simt(), registry, until);
    compile(&Source::text("m.hlo", text), &options).map_err(|e| e.to_string())
}

/// Returns the fusions of a program. Each fusion is a module without `ENTRY`.
fn fusions(made: &Compilation) -> Vec<String> {
    let modules = made.kernels.iter().map(|kernel| &kernel.unit.fusion.module);
    modules.map(|module| print_module(module).replace("ENTRY ", "")).collect()
}

/// Returns an array of small numbers. The numbers are not zero, because they may be divisors.
fn values(shape: &ArrayShape, seed: u64) -> ArrayLiteral {
    let part = shape.element_type.real_part();
    let count = shape.byte_size() as usize / part.byte_size();
    let data = (0..count as u64).flat_map(|i| {
        let value = 1 + ((i + 17 * seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % 6;
        let bits = match FloatFormat::of(part) {
            Some(format) => format.encode(value as f64),
            None if part == ElementType::Pred => value & 1,
            None => value,
        };
        bits.to_le_bytes()[..part.byte_size()].to_vec()
    });
    ArrayLiteral::new(shape.element_type, shape.dims.clone(), data.collect::<Vec<u8>>()).unwrap()
}
