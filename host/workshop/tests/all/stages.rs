//! Checks that kernels compute the same values as their fusions, at every stage of lowering.

use std::path::Path;

use fusebox_compiler::{Emitters, Options, Phase, Source, compile};
use fusebox_lowering::{Stage, Target};
use fusebox_plugins::Registry;
use fusebox_run::inputs::{self, InputChoice};
use fusebox_workshop::case::Case;
use fusebox_workshop::stages::{KernelStages, StageJudgement};

fn options(target: &Target) -> Options {
    let registry = Registry::new(fusebox_bundle::emitters()).unwrap();
    let emitters = Emitters { registry, of_part: true, ..Emitters::default() };
    Options::new(target.clone(), target.device().clone(), emitters, Phase::Emit)
}

/// Checks all kernels of a program.
fn assert_right(name: &str, text: &str, target: &Target) {
    let options = options(target);
    let made = compile(&Source::text(name, text), &options).unwrap();
    let compiled = made.kernels.iter().filter(|kernel| !kernel.is_routine());
    for kernel in compiled {
        let shapes = Case::parameters(&kernel.unit.fusion.module);
        let inputs = inputs::load(&InputChoice { seed: 1, ..InputChoice::default() }, &shapes).unwrap();
        let case = Case::of_fusion(kernel, inputs);
        let stages = KernelStages::of(&case, &options).unwrap().unwrap();
        let judged = stages.judged().unwrap();
        let (kernel, target) = (stages.kernel(), target.device().name.clone());
        for it in &judged {
            assert_eq!(it.judgement, StageJudgement::Right, "{name}: {kernel} for {target} after {}", it.stage.name());
        }
        assert_eq!(judged.last().unwrap().stage, Stage::Scalars);
        assert_eq!(stages.broken_promise(), None, "{name}: {kernel} for {target}");
    }
}

const SOME: &str = include_str!("../stages.hlo");

#[test]
fn of_all_sorts_of_kernels() {
    for target in [Target::cpu(), Target::simt()] {
        assert_right("stages.hlo", SOME, &target);
    }
}

#[test]
fn of_programs_in_a_folder() {
    let Some(folder) = std::env::var_os("FUSEBOX_KERNELS") else { return };
    let mut files: Vec<_> = std::fs::read_dir(Path::new(&folder)).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    for file in files.iter().filter(|file| file.extension().is_some_and(|it| it == "hlo")) {
        eprintln!("{}", file.display());
        assert_right(&file.display().to_string(), &std::fs::read_to_string(file).unwrap(), &Target::cpu());
    }
}
