//! Checks that `fusebox repro`, `fusebox bisect` and `run --check` find faults and reproduce them.

use std::process::Command;

use crate::program::Workplace;
use fusebox_core::hlo::{parse_module, write_proto};
use serde_json::Value;

const MODULE: &str = include_str!("../../../workshop/tests/turns.hlo");

fn passes(place: &Workplace, folder: &str) -> bool {
    let script = place.path(folder).join("check.sh");
    let output = Command::new("sh").arg(script).env("FUSEBOX", env!("CARGO_BIN_EXE_fusebox")).output().unwrap();
    output.status.success()
}

#[test]
fn a_fusion_is_reproduced_with_the_values_that_it_has_in_its_program() {
    let place = Workplace::with_module(MODULE);
    place.run(&["repro", "m.hlo", "--fusion", "fused_half", "-o", "r"]).succeeded();
    assert!(passes(&place, "r"));
    // The inputs are those of the body's first iteration. They are the exponentials of the module's
    // inputs, so they are positive.
    let shown = place.run(&["run", "r/module.hlo", "--inputs", "r/inputs.npz", "--print"]).succeeded();
    let of_module = place.run(&["run", "m.hlo", "--print"]).succeeded();
    assert_ne!(shown, of_module, "nine turns are not one");
    let module = std::fs::read_to_string(place.path("r/module.hlo")).unwrap();
    assert!(module.contains("sine") && !module.contains("while"), "{module}");
    let stages: Vec<String> = std::fs::read_dir(place.path("r/stages"))
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    for stage in ["06-emitted", "07-lowered.5-scalars", "08-code.8-asm"] {
        assert!(stages.iter().any(|name| name.starts_with(stage)), "{stages:?}");
    }
    let readme = std::fs::read_to_string(place.path("r/README.md")).unwrap();
    assert!(readme.contains("fusebox run module.hlo --inputs inputs.npz --check"), "{readme}");
}

#[test]
fn what_is_reproduced_fails_where_it_goes_wrong() {
    let place = Workplace::with_module(MODULE);
    place.run(&["repro", "m.hlo", "--fusion", "fused_start", "-o", "r"]).succeeded();
    // If another module replaces the module, the parameters are missing.
    let other = "HloModule m\nENTRY main { x = f32[17] parameter(0) ROOT r = f32[17] sine(x) }";
    std::fs::write(place.path("r/module.hlo"), other).unwrap();
    assert!(!passes(&place, "r"));
}

/// Checks a module with names that HLO text cannot express.
#[test]
fn what_only_protobuf_can_hold_is_reproduced_too() {
    let place = Workplace::new();
    let mut module = parse_module(MODULE, "m").unwrap();
    module.name = "a module\nENTRY".into();
    for (number, computation) in module.computations.iter_mut().enumerate() {
        computation.name = format!("{number} ({}) -> f32[]", "\u{1b}[31m");
        for (number, instruction) in computation.instructions.iter_mut().enumerate() {
            instruction.name = format!("%x = {number}, \"{}\"\n", instruction.name);
        }
    }
    place.write("m.pb", &write_proto(&module));
    place.run(&["run", "m.pb", "--check"]).succeeded();
    let explained: Value = serde_json::from_str(&place.run(&["explain", "m.pb", "--json"]).succeeded()).unwrap();
    let fusion = explained[0]["fusion"].as_str().unwrap();
    place.run(&["repro", "m.pb", "--fusion", fusion, "-o", "r"]).succeeded();
    assert!(passes(&place, "r"));
    assert!(place.run(&["bisect", "m.pb"]).succeeded().starts_with("Nothing is wrong"));
    // The parser accepts the printed text.
    place.run(&["compile", "m.pb", "--emit", "hlo", "-o", "again.hlo"]).succeeded();
    place.run(&["run", "again.hlo", "--check"]).succeeded();
}

#[test]
fn an_unknown_fusion_is_told_the_known_ones() {
    let place = Workplace::with_module(MODULE);
    let ran = place.run(&["repro", "m.hlo", "--fusion", "fused_nothing", "-o", "r"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("fused_half") && ran.err.contains("fused_start"), "{}", ran.err);
}

#[test]
fn right_programs_have_no_fault() {
    let place = Workplace::with_module(MODULE);
    place.run(&["run", "m.hlo", "--check"]).succeeded();
    let verdict: Value = serde_json::from_str(&place.run(&["bisect", "m.hlo", "--json"]).succeeded()).unwrap();
    assert_eq!(verdict["at_fault"], "nothing");
    assert!(!place.path("r").exists());
}

#[test]
fn a_reference_that_even_the_interpreter_contradicts_is_told() {
    let place = Workplace::with_module(MODULE);
    place.run(&["run", "m.hlo", "--outputs", "right.npz"]).succeeded();
    place.run(&["run", "m.hlo", "--outputs", "other.npz", "--seed", "7"]).succeeded();
    let right = place.run(&["bisect", "m.hlo", "--reference", "right.npz"]).succeeded();
    assert!(right.starts_with("Nothing is wrong"), "{right}");
    let other = place.run(&["bisect", "m.hlo", "--reference", "other.npz"]).succeeded();
    assert!(other.starts_with("The interpreter, which compiles nothing, already disagrees"), "{other}");
}
