//! Checks that `examples/attention-emitter` gets the fusions for which it bids. This emitter comes
//! from an external crate, and the host does not know its kind.

use std::path::{Path, PathBuf};

use fusebox_conformance::fusions::Chance;
use fusebox_conformance::literals::{Closeness, mixed};
use fusebox_conformance::{Compiler, Machine, inputs};
use fusebox_plugins::Registry;

use crate::built;
use crate::program::Workplace;

const NAME: &str = "online-attention";

/// Returns the text of a module that jax has printed.
fn module(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/attention-emitter/modules");
    let path: PathBuf = path.join(format!("{name}.hlo"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn registry(with_library: bool) -> Registry {
    let mut registry = Registry::new(fusebox_bundle::emitters()).unwrap();
    if with_library {
        registry.load_library(&built::attention()).unwrap();
    }
    registry
}

/// Compiles a module for the cpu and for the simulated GPU, with and without the library. Compares
/// the results with those of the interpreter. Returns the emitters of the kernels.
fn checked(name: &str) -> [[Vec<String>; 2]; 2] {
    let text = module(name);
    let mut chance = Chance::new(1);
    let inputs = inputs(&text, |shape, _| mixed(shape, &mut chance)).unwrap();
    let made = [true, false].map(|with_library| {
        let compiler = Compiler::of(registry(with_library), Vec::new());
        let made = compiler.compared(&text, [Machine::cpu(), Machine::simt()], &inputs, Closeness::Units);
        made.unwrap_or_else(|failure| panic!("{name}: {failure}")).map(|made| made.emitters)
    });
    let [[with_cpu, with_simt], [without_cpu, without_simt]] = made;
    [[with_cpu, without_cpu], [with_simt, without_simt]]
}

#[track_caller]
fn becomes_one_kernel(name: &str) {
    for [with, without] in checked(name) {
        assert_eq!(with, [NAME], "{name}");
        assert!(without.len() > 1 && without.iter().all(|emitter| emitter != NAME), "{name}: {without:?}");
    }
}

#[test]
fn dimensions_in_any_order_are_one_kernel() {
    for name in ["batch_head_query", "additive_mask", "one_key_head", "grouped_heads_bf16"] {
        becomes_one_kernel(name);
    }
}

#[test]
fn whatever_is_done_to_scores_is_left_to_the_host() {
    for name in ["causal", "mask", "bias", "soft_cap_f16"] {
        becomes_one_kernel(name);
    }
}

#[test]
fn every_float_type_is_computed() {
    for name in ["f64", "batch_head_query_bf16", "causal_bf16"] {
        becomes_one_kernel(name);
    }
}

/// Rows without keys are NaN. In other rows, the maximum is minus infinity before the first
/// unmasked key. Such rows must not become NaN.
#[test]
fn rows_without_keys_are_what_the_program_makes_of_them() {
    becomes_one_kernel("rows_without_keys");
}

#[test]
fn a_layer_has_one_kernel_between_its_projections() {
    for [with, without] in checked("layer") {
        assert_eq!(with.iter().filter(|&emitter| emitter == NAME).count(), 1, "{with:?}");
        assert!(with.len() < without.len(), "{with:?} instead of {without:?}");
    }
}

#[test]
fn what_it_does_not_compute_is_declined_in_words_and_stays_as_it_was() {
    for (name, reason) in [
        ("normalised_after", "dot_general.3: no operand is a softmax: exponentials divided by their sum"),
        ("without_maximum", "nothing is subtracted from the scores"),
        ("guarded", "max.1: it is not the sum of the exponentials over all keys"),
        ("sum_of_other_rows", "reduce_sum.7: it is not the sum of the exponentials over all keys"),
        ("sum_from_one", "reduce.5: it is not the sum of the exponentials over all keys"),
        ("probabilities_read", "div.7 is read elsewhere too, and the kernel stores nothing but its result"),
        ("one_query", "too few queries (1) share keys, tiles pay from 4 on"),
    ] {
        let name = format!("declined_{name}");
        for [with, without] in checked(&name) {
            assert_eq!(with, without, "{name}");
        }
        let place = Workplace::with_module(&module(&name));
        let library = built::attention().display().to_string();
        let explained =
            place.run_with_environment(&["explain", "m.hlo", "--all"], &[("FUSEBOX_EMITTER_PATH", &library)]);
        let explained = explained.succeeded();
        let bid = explained.lines().find(|line| line.starts_with("dot_general.2: ") && line.contains(NAME));
        assert!(bid.is_some_and(|bid| bid.contains(reason)), "{name}: {explained}");
    }
}

#[test]
fn explain_tells_what_it_took() {
    let place = Workplace::with_module(&module("causal"));
    let library = built::attention().display().to_string();
    let explain =
        |arguments: &[&str]| place.run_with_environment(arguments, &[("FUSEBOX_EMITTER_PATH", &library)]).succeeded();
    for target in ["cpu", "simt"] {
        let kernels = explain(&["explain", "m.hlo", "--json", "--target", target]);
        let kernels: serde_json::Value = serde_json::from_str(&kernels).unwrap();
        let emitters: Vec<&str> =
            kernels.as_array().unwrap().iter().map(|kernel| kernel["emitter"].as_str().unwrap()).collect();
        assert_eq!(emitters, [NAME], "{target}");
    }
    let text = explain(&["explain", "m.hlo", "--all"]);
    assert!(text.contains("takes 27 instructions: "), "{text}");
    // An isolated emitter makes the same bids.
    let isolated = explain(&["explain", "m.hlo", "--all", "--isolate"]);
    assert_eq!(isolated.replace(", isolated", ""), text);
}

#[test]
fn the_host_does_not_know_the_word() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pending: Vec<PathBuf> = ["core/src", "host"].map(|folder| root.join(folder)).into();
    while let Some(path) = pending.pop() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match path.is_dir().then_some(name.as_str()) {
            Some("tests" | "target") => {}
            Some(_) => pending.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path())),
            None => {
                let text = std::fs::read(&path).unwrap();
                let text = String::from_utf8_lossy(&text).to_lowercase();
                assert!(!text.contains("attention"), "{}", path.display());
            }
        }
    }
}
