//! `fusebox check-emitter`: libraries that conform, and one that does everything wrong.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../../plugins/tests/boundary/built.rs"]
#[allow(dead_code, reason = "every test binary uses a part")]
mod built;
mod program;

use program::Workplace;

#[test]
fn what_new_crates_begin_as_conforms() {
    let place = Workplace::new();
    for library in [built::simple_loop(), built::simple_reduce(), built::simple_transpose()] {
        let ran = place.run(&["check-emitter", &library.display().to_string(), "--cases", "20"]);
        assert!(ran.code == Some(0) && ran.out.ends_with("\nconforms\n"), "{}{}", ran.out, ran.err);
        assert!(ran.out.contains(", isolated): kind "), "{}", ran.out);
    }
}

#[test]
fn what_is_wrong_is_told_written_and_can_be_run() {
    let place = Workplace::new();
    let library = built::hostile("").display().to_string();
    let ran = place.run(&["check-emitter", &library, "--cases", "0", "--json", "--output", "found"]);
    assert!(ran.code == Some(1) && ran.err.contains("does not conform"), "{}", ran.err);
    let reports: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(reports[0]["findings"][0]["promise"], "plan", "{reports}");
    let written = std::fs::read_to_string(place.path("found/hostile-0.hlo")).unwrap();
    assert!(written.starts_with("// hostile 0.1.0") && written.contains("a plan that is wrong"), "{written}");
    let again = place.run(&["run", "found/hostile-0.hlo", "--target", "simt", "--emitter", &library]);
    assert!(again.code == Some(1) && again.err.contains("its plan is wrong"), "{}", again.err);
}

#[test]
fn a_library_that_is_none_and_a_kind_that_it_has_not_are_refused() {
    let place = Workplace::new();
    let none = place.run(&["check-emitter", "nothing.so"]);
    assert!(none.code == Some(1) && none.err.contains("nothing.so"), "{}", none.err);
    let library = built::simple_loop().display().to_string();
    let other = place.run(&["check-emitter", &library, "--kind", "reduce"]);
    assert!(other.code == Some(2) && other.err.contains("has no emitter of kind reduce"), "{}", other.err);
}
