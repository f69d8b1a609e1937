//! Compiles programs by both lowerings, and compares the bits of the results. The lowering `mlir`
//! shares no code with fusebox's own writer of LLVM IR, so it shows faults of the writer.
//!
//! `FUSEBOX_FUSIONS` and `FUSEBOX_FUSION_SEED` choose the random fusions, as for `random_fusions`.
//! If `FUSEBOX_CORPUS` names a folder of `.hlo` files, the test also compares these programs, with
//! the inputs that lie beside them, and each kernel of these programs with random inputs:
//! `FUSEBOX_CORPUS=DIR cargo test --release -p fusebox --test all lowerings:: -- --nocapture`.

use std::path::{Path, PathBuf};

use fusebox_compiler::{Cache, Compilation, Departures, Dump, Emitters, Options, Phase, Progress, Source, compile};
use fusebox_conformance::fusions;
use fusebox_core::hlo::{ArrayLiteral, Literal};
use fusebox_lowering::{Lowering, Target};
use fusebox_plugins::Registry;
use fusebox_run::inputs::{self, InputChoice};
use fusebox_workshop::case::{self, Case};

fn options(lowering: Lowering, of_part: bool) -> Options {
    let target = Target::cpu().with_lowering(lowering);
    fusebox_lowering::dedicate(&target);
    Options {
        device: target.described(fusebox_runtime::describe_cpu(1)),
        target,
        emitters: Emitters {
            registry: Registry::new(fusebox_bundle::emitters()).unwrap(),
            of_part,
            ..Emitters::default()
        },
        threads: 1,
        until: Phase::Run,
        stages: Vec::new(),
        dump: Dump::default(),
        departures: Departures::default(),
        memory_limit: None,
        progress: Progress::default(),
        cache: Cache::default(),
        assembler: None,
    }
}

/// A program, compiled by both lowerings.
struct Both {
    fusebox: Compilation,
    mlir: Compilation,
}

impl Both {
    fn compile(source: &Source, of_part: bool) -> Both {
        let [fusebox, mlir] = Lowering::ALL.map(|lowering| {
            compile(source, &options(lowering, of_part)).unwrap_or_else(|error| panic!("{}: {error}", source.name))
        });
        Both { fusebox, mlir }
    }

    /// Runs both programs. Describes the first difference of their results.
    fn difference(self, inputs: &[Literal]) -> Option<String> {
        let run = fusebox_runtime::Options { threads: 1, ..Default::default() };
        let results = [self.fusebox, self.mlir].map(|made| case::executed(made.executable, inputs, &run).unwrap());
        let [expected, found] = results.each_ref().map(|result| inputs::arrays(std::slice::from_ref(result)));
        assert_eq!(expected.len(), found.len());
        let mut outputs = expected.iter().zip(&found).enumerate();
        outputs.find_map(|(number, (expected, found))| difference(number, expected, found))
    }
}

/// Describes how two arrays differ; `None` if their bits are equal.
fn difference(number: usize, expected: &ArrayLiteral, found: &ArrayLiteral) -> Option<String> {
    let size = expected.element_type.byte_size();
    let both = || expected.data.chunks(size).zip(found.data.chunks(size)).enumerate();
    let (first, (of_fusebox, of_mlir)) = both().find(|(_, (a, b))| a != b)?;
    let count = both().filter(|(_, (a, b))| a != b).count();
    Some(format!(
        "output {number}: {count} elements differ; element {first} has the bytes {of_fusebox:x?} and {of_mlir:x?}"
    ))
}

fn random_inputs(made: &Compilation) -> Vec<Literal> {
    inputs::load(&InputChoice { seed: 1, ..InputChoice::default() }, &Case::parameters(&made.fused)).unwrap()
}

#[test]
fn random_fusions_have_equal_bits() {
    let number = |name: &str, usual| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
    let (first, count) = (number("FUSEBOX_FUSION_SEED", 1), number("FUSEBOX_FUSIONS", 60));
    let mut faults = Vec::new();
    for seed in first..first + count {
        let fusion = fusions::any(seed);
        let both = Both::compile(&Source::text(&fusion.name(), &fusion.text()), true);
        let inputs: Vec<Literal> = fusion.inputs().map(Literal::Array).collect();
        faults.extend(both.difference(&inputs).map(|fault| format!("seed {seed}: {fault}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Programs with kernels of all emitters, with loops that are compiled as one function, with
/// functions that kernels call, and with rows that LLVM computes together.
const PROGRAMS: [&str; 4] = [
    include_str!("lowerings.hlo"),
    include_str!("lowerings_rows.hlo"),
    include_str!("../../../workshop/tests/stages.hlo"),
    include_str!("../../../workshop/tests/turns.hlo"),
];

#[test]
fn programs_have_equal_bits() {
    for (number, text) in PROGRAMS.iter().enumerate() {
        let both = Both::compile(&Source::text(&format!("program {number}"), text), false);
        let inputs = random_inputs(&both.fusebox);
        assert_eq!(both.difference(&inputs), None, "program {number}");
    }
}

#[test]
fn kernels_of_the_corpus_have_equal_bits() {
    let Some(folder) = std::env::var_os("FUSEBOX_CORPUS") else { return };
    let (mut faults, mut kernels, mut programs) = (Vec::new(), 0, 0);
    for file in files(Path::new(&folder)) {
        let name = file.display().to_string();
        let both = Both::compile(&Source::text(&name, &std::fs::read_to_string(&file).unwrap()), false);
        let compiled = both.fusebox.kernels.iter().filter(|kernel| !kernel.is_routine());
        let parts: Vec<(String, Source)> =
            compiled.map(|kernel| (kernel.unit.fusion.name.clone(), case::isolated_source(kernel))).collect();
        let given = file.with_extension("in.npz");
        let choice = InputChoice { inputs: given.exists().then_some(given), seed: 1, arrays: None };
        let inputs = inputs::load(&choice, &Case::parameters(&both.fusebox.fused)).unwrap();
        faults.extend(both.difference(&inputs).map(|fault| format!("{name}: {fault}")));
        for (kernel, source) in parts {
            let both = Both::compile(&source, true);
            let inputs = random_inputs(&both.fusebox);
            faults.extend(both.difference(&inputs).map(|fault| format!("{name}: {kernel}: {fault}")));
            kernels += 1;
        }
        programs += 1;
    }
    // This line is visible with `--nocapture`.
    println!("{programs} programs and {kernels} kernels compared");
    assert!(faults.is_empty(), "{} differences:\n{}", faults.len(), faults.join("\n"));
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|file| file.extension().is_some_and(|it| it == "hlo")).collect();
    files.sort();
    files
}
