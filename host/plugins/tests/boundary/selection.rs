//! Checks the selection of emitters, and the reasons for it.

use std::path::Path;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::parse_module;
use fusebox_plugins::{Outcome, Override, Ranked, Registry, SelectError, Selection, Spec, select};

use crate::built::{bundled_reduce, hostile, simple_loop};
use crate::fusion_named;

/// Returns a registry with the bundled emitters, the out-of-tree emitter, and two versions of the
/// hostile emitter.
fn registry() -> Registry {
    let mut registry = Registry::new(fusebox_bundle::emitters()).unwrap();
    for library in [simple_loop(), hostile(""), hostile("newer")] {
        registry.load_library(&library).unwrap();
    }
    registry
}

fn selection(registry: &Registry, fusion: &str, specs: &[&str]) -> Result<Selection, SelectError> {
    selection_with(registry, fusion, specs, false)
}

fn selection_with(registry: &Registry, fusion: &str, specs: &[&str], force: bool) -> Result<Selection, SelectError> {
    let resolve = |spec: &&str| Override::resolve(registry, &spec.parse::<Spec>().unwrap(), force).unwrap();
    let overrides: Vec<Override> = specs.iter().flat_map(resolve).collect();
    select(registry, &fusion_named(fusion), &DeviceDescription::simt(), &overrides)
}

/// Returns the names and versions of the emitters, in the order in which the host tries them.
fn order(registry: &Registry, selection: &Selection) -> Vec<String> {
    let name = |ranked: &Ranked| {
        let descriptor = registry.emitters()[ranked.emitter].descriptor();
        format!("{} {}", descriptor.name, descriptor.version)
    };
    selection.order.iter().map(name).collect()
}

/// Checks the order of emitters. Emitters that accept a fusion only on request come last, and the
/// host does not ask them for a plan.
#[test]
fn predicted_time_then_name_and_version() {
    let registry = registry();
    let selection = selection(&registry, "f", &[]).unwrap();
    let order = order(&registry, &selection);
    let loops = format!("loop {}", fusebox_bundle::emitters()[0].descriptor().version);
    // Emitters with equal times are ordered by name, and by version with the newest version first.
    // The simple loop takes longer.
    assert_eq!(order, ["hostile 0.2.0", "hostile 0.1.0", &loops, "simple-loop 0.1.0", "twin 0.2.0", "twin 0.1.0"]);
    let seconds = |place: usize| selection.order[place].planned.as_ref().unwrap().as_ref().unwrap().1.seconds;
    assert!((0..3).all(|place| seconds(place) <= seconds(place + 1) * 1.1), "{:?}", selection.order);
    assert!(selection.order[4..].iter().all(|twin| twin.on_request && twin.planned.is_none()));
    assert!(selection.in_charge.is_none());
    assert_eq!(selection.records.len(), registry.emitters().len());
}

#[test]
fn overrides_by_name_version_and_file() {
    let registry = registry();
    let chosen = |spec: &str| order(&registry, &selection(&registry, "f", &[spec]).unwrap());
    assert_eq!(chosen("loop=loop"), [format!("loop {}", fusebox_bundle::emitters()[0].descriptor().version)]);
    assert_eq!(chosen("loop=hostile"), ["hostile 0.2.0"], "the newest");
    assert_eq!(chosen("loop=hostile@0.1.0"), ["hostile 0.1.0"]);
    assert_eq!(chosen(&format!("loop={}", simple_loop().display())), ["simple-loop 0.1.0"]);
    assert_eq!(chosen(&simple_loop().display().to_string()), ["simple-loop 0.1.0"]);
    assert_eq!(chosen("loop=twin"), ["twin 0.2.0"], "of another kind, but the user says so");
    let unforced = order(&registry, &selection(&registry, "f", &[]).unwrap());
    assert_eq!(chosen("reduce=twin"), unforced, "no override for fusions of this kind");
}

#[test]
fn a_kind_that_nobody_else_is_of_has_what_its_emitters_take() {
    let mut registry = Registry::new(fusebox_bundle::emitters()).unwrap();
    registry.load_library(&hostile("")).unwrap();
    let file = hostile("").display().to_string();
    let chosen = |spec: &str| {
        let selection = selection(&registry, "f", &[spec]).unwrap();
        assert!(selection.in_charge.is_some(), "{spec}");
        order(&registry, &selection)
    };
    assert_eq!(selection(&registry, "f", &[]).unwrap().kind.unwrap().0, "loop");
    assert_eq!(chosen(&format!("twin={file}")), ["twin 0.1.0"], "though it comes last otherwise");
    assert_eq!(chosen(&file), ["hostile 0.1.0"], "what is of a kind comes first");
    let reduce = bundled_reduce().display().to_string();
    registry.load_library(&bundled_reduce()).unwrap();
    let of_loops = Override::resolve(&registry, &format!("loop={reduce}").parse().unwrap(), false).unwrap();
    assert!(
        of_loops[0].subject.to_string() == "loop" && of_loops[0].emitters.len() > 1,
        "none is of the kind: all of the file"
    );
}

#[test]
fn the_last_override_of_a_kind_counts() {
    let registry = registry();
    let selection = selection(&registry, "f", &["loop=twin", "loop=simple-loop"]).unwrap();
    assert_eq!(selection.in_charge, Some(1));
    assert_eq!(order(&registry, &selection), ["simple-loop 0.1.0"]);
    let chosen = selection.records.iter().find(|record| record.emitter == selection.order[0].emitter).unwrap();
    assert_eq!(chosen.outcome, Outcome::Chosen("chosen by `loop=simple-loop`".into()));
}

#[test]
fn a_file_with_several_emitters_of_a_kind_is_chosen_as_a_whole() {
    let mut registry = Registry::new(fusebox_bundle::emitters()).unwrap();
    registry.load_library(&bundled_reduce()).unwrap();
    let spec: Spec = bundled_reduce().display().to_string().parse().unwrap();
    let overrides = Override::resolve(&registry, &spec, false).unwrap();
    assert_eq!(overrides.len(), 1, "one kind");
    let emitters = registry.emitters().iter();
    let own = emitters.enumerate().filter(|(_, emitter)| emitter.origin().path().is_some()).map(|(number, _)| number);
    assert_eq!(overrides[0].emitters, own.collect::<Vec<_>>());
    assert!(overrides[0].emitters.len() > 1);
}

#[test]
fn what_those_in_charge_decline_goes_to_the_others_unless_it_must_not() {
    let registry = registry();
    let usual = selection(&registry, "f", &[]).unwrap();
    let declined = selection(&registry, "f", &["loop=row-reduce"]).unwrap();
    assert!(declined.in_charge.is_none());
    assert_eq!(declined.order, usual.order);
    let (choice, reason) = declined.declined.unwrap();
    assert_eq!(choice, 0);
    let error = selection_with(&registry, "f", &["loop=row-reduce"], true).unwrap_err().to_string();
    assert!(error.contains("does not accept fusion f") && error.contains(&reason), "{error}");
}

#[test]
fn an_emitter_that_fails_is_left_out_and_recorded() {
    let registry = registry();
    let selection = selection(&registry, "panic_in_consider", &[]).unwrap();
    assert!(!order(&registry, &selection).iter().any(|name| name.starts_with("hostile")));
    let failed = selection.records.iter().filter(|record| matches!(record.outcome, Outcome::Failed(_)));
    assert_eq!(failed.count(), 2);
}

#[test]
fn a_forced_emitter_that_fails_is_an_error() {
    let registry = registry();
    let error = selection(&registry, "panic_in_consider", &["loop=hostile@0.1.0"]).unwrap_err().to_string();
    assert!(error.contains("chosen by `loop=hostile@0.1.0`, does not accept fusion panic_in_consider"), "{error}");
    assert!(error.contains("it panicked: considered and found wanting"), "{error}");
}

#[test]
fn an_unknown_emitter_is_answered_with_the_one_that_was_meant() {
    let registry = registry();
    for (spec, hint) in [
        ("loop=simple-lop", "there is no such emitter; did you mean `simple-loop`?"),
        ("loop=quite-another", "there is no such emitter; `fusebox emitters` lists all"),
        ("loop=hostile@9.0.0", "there is no such emitter; there is `hostile@0.1.0`"),
        ("lop=hostile", "no emitter is of kind `lop`; did you mean `loop`?"),
    ] {
        let error = Override::resolve(&registry, &spec.parse().unwrap(), false).unwrap_err().to_string();
        assert!(error.contains(spec) && error.contains(hint), "{error}");
    }
    let missing = Override::resolve(&registry, &"loop=./missing.so".parse().unwrap(), false).unwrap_err();
    assert!(missing.to_string().contains("missing.so"));
    assert!(!Path::new("./missing.so").exists());
}

/// Returns a fusion that sums gathered rows. If the number of rows is small, the prediction prefers
/// a loop.
fn looked_up(rows: usize) -> Fusion {
    let text = format!(
        "HloModule m\n\
         add {{ a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }}\n\
         ENTRY fused {{ at = s32[7,{rows},1] parameter(0)\n table = f32[23,6] parameter(1)\n zero = f32[] constant(0)\n\
         found = f32[7,{rows},6] gather(table, at), offset_dims={{2}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, \
         index_vector_dim=2, slice_sizes={{1,6}}\n\
         ROOT sums = f32[7,6] reduce(found, zero), dimensions={{1}}, to_apply=add }}\n"
    );
    Fusion::new("sums", parse_module(&text, "test").unwrap()).unwrap()
}

#[test]
fn a_prediction_for_those_who_ask_for_nothing_does_not_stand_against_the_user() {
    let mut registry = Registry::new(fusebox_bundle::emitters()).unwrap();
    registry.load_library(&simple_loop()).unwrap();
    let device = DeviceDescription::cpu(1);
    let overridden = |fusion: &Fusion, spec: &str| {
        let overrides = Override::resolve(&registry, &spec.parse::<Spec>().unwrap(), false).unwrap();
        select(&registry, fusion, &device, &overrides).unwrap()
    };
    let kind = |fusion: &Fusion| select(&registry, fusion, &device, &[]).unwrap().kind.unwrap().0;
    let is_taken = |fusion: &Fusion| {
        let order = order(&registry, &select(&registry, fusion, &device, &[]).unwrap());
        order.iter().any(|name| name.starts_with("serial-reduce "))
    };
    let mut small = (1..64).map(looked_up).filter(is_taken);
    let fusion = small.find(|fusion| kind(fusion) == "loop").expect("a loop is predicted to be faster at no size");
    let forced = overridden(&fusion, "reduce=serial-reduce");
    assert_eq!(forced.in_charge, Some(0));
    assert!(order(&registry, &forced)[0].starts_with("serial-reduce "), "{:?}", forced.order);
    // This fusion is of the kind `reduce`. So a choice for `loop` does not apply, although the loop
    // emitter would accept the fusion.
    let sums = "HloModule m\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n\
                ENTRY fused { x = f32[64,4096] parameter(0)\n zero = f32[] constant(0)\n\
                ROOT sums = f32[64] reduce(x, zero), dimensions={1}, to_apply=add }\n";
    let sums = Fusion::new("sums", parse_module(sums, "test").unwrap()).unwrap();
    assert_eq!(kind(&sums), "reduce");
    assert!(overridden(&sums, "loop=loop").in_charge.is_none());
}
