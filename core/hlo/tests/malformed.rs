//! Checks malformed modules. The compiler must refuse each module with the right messages at the
//! right locations. It must not panic or overflow the stack.
//!
//! `malformed/NAME.hlo` is the module, and `malformed/NAME.expected` contains its messages without
//! caret lines. `FUSEBOX_BLESS=1` updates the expected messages.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::fmt::Write;
use std::path::Path;

use fusebox_hlo::{Diagnostic, parse_module, read_proto, verify, write_proto};

/// Parses and verifies a text, and returns the faults.
fn faults(text: &str, file: &str) -> Vec<Diagnostic> {
    match parse_module(text, file) {
        Err(faults) => faults,
        Ok(module) => verify(&module).err().unwrap_or_default(),
    }
}

fn report(faults: &[Diagnostic]) -> String {
    let mut report = String::new();
    for fault in faults {
        writeln!(report, "{}", fault.to_string().lines().next().unwrap_or_default()).unwrap();
    }
    report
}

#[test]
fn malformed_files_are_refused_with_their_messages() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/malformed");
    let bless = std::env::var_os("FUSEBOX_BLESS").is_some();
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str().map(str::to_owned))
        .filter(|name| name.ends_with(".hlo"))
        .collect();
    names.sort();
    assert!(names.len() >= 60, "only {} malformed modules", names.len());
    let mut differences = String::new();
    for name in names {
        let text = std::fs::read_to_string(folder.join(&name)).unwrap();
        let found = report(&faults(&text, &name));
        assert!(!found.is_empty(), "{name} is accepted");
        assert!(
            found.lines().all(|line| line.starts_with(&format!("{name}:"))),
            "{name}: a fault without a place\n{found}"
        );
        let expected_path = folder.join(name.replace(".hlo", ".expected"));
        if bless {
            std::fs::write(&expected_path, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&expected_path).unwrap_or_default();
        if expected != found {
            write!(differences, "{name} expected\n{expected}found\n{found}\n").unwrap();
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn a_fault_shows_its_line_with_a_caret() {
    let text = "HloModule m\nENTRY e {\n  a = f32[2] parameter(0)\n  ROOT b = f32[3] negate(a)\n}\n";
    let shown = faults(text, "m.hlo")[0].to_string();
    let expected = "m.hlo:4:8: error: negate gives f32[2] here, but is declared as f32[3] [in b]\n      \
                    ROOT b = f32[3] negate(a)\n           ^";
    assert_eq!(shown, expected);
}

/// Asserts that the compiler refuses a deeply nested text.
fn assert_refused(text: &str, what: &str) {
    let found = faults(text, "deep.hlo");
    assert!(!found.is_empty(), "{what} is accepted");
}

#[test]
fn deep_nesting_is_refused() {
    for depth in [1_000, 100_000] {
        let open = |bracket: &str| bracket.repeat(depth);
        let tuple = format!("{}{}", open("("), open(")"));
        assert_refused(&format!("HloModule m\nENTRY e {{\n  ROOT a = {tuple} parameter(0)\n}}\n"), "nested tuples");
        assert_refused(&format!("HloModule m\nENTRY e {{\n  ROOT a = {} parameter(0)\n}}\n", open("(")), "open tuples");
        let value = format!("{}1{}", open("{"), open("}"));
        assert_refused(&format!("HloModule m\nENTRY e {{\n  ROOT a = f32[] constant({value})\n}}\n"), "braces");
        let value = format!("{}1{}", open("("), open(")"));
        assert_refused(&format!("HloModule m\nENTRY e {{\n  ROOT a = f32[] constant({value})\n}}\n"), "parentheses");
        let nested = format!("{}a{}", open("negate("), open(")"));
        assert_refused(
            &format!("HloModule m\nENTRY e {{\n  a = f32[] parameter(0)\n  ROOT b = f32[] negate({nested})\n}}\n"),
            "nested operands",
        );
        let open = |bracket: &str| bracket.repeat(depth.min(10_000));
        let inline = format!("{}{}", open("{ a = f32[] parameter(0) ROOT b = f32[] call(a), to_apply="), open("}"));
        assert_refused(
            &format!(
                "HloModule m\nENTRY e {{\n  a = f32[] parameter(0)\n  ROOT b = f32[] call(a), to_apply={inline}\n}}\n"
            ),
            "inline computations",
        );
        assert_refused(&format!("HloModule m, x={}\n", open("{[(")), "header attributes");
        for garbage in ["{", "}", "(", "[", "\"", "/*", "ENTRY ", "a = ", "HloModule ", "a {\n", "%", ","] {
            assert_refused(&open(garbage), garbage);
        }
    }
}

#[test]
fn shapes_of_moderate_depth_are_fine() {
    let tuple = format!("{}f32[]{}", "(".repeat(100), ")".repeat(100));
    let text = format!("HloModule m\nENTRY e {{\n  ROOT a = {tuple} parameter(0)\n}}\n");
    assert_eq!(faults(&text, "m.hlo"), []);
}

#[test]
fn many_faults_are_all_reported() {
    let mut text = String::from("HloModule m\nENTRY e {\n  p = f32[2] parameter(0)\n");
    for i in 0..40 {
        writeln!(text, "  a{i} = f32[3] negate(p)").unwrap();
    }
    text += "  ROOT r = f32[2] abs(p)\n}\n";
    assert_eq!(faults(&text, "m.hlo").len(), 40);
}

#[test]
fn truncated_text_is_refused_at_every_length() {
    let text = "HloModule m, entry_computation_layout={(f32[2]{0})->f32[2]{0}}\n\n%f (a: f32[2]) -> f32[2] {\n  \
                %a = f32[2]{0} parameter(0)\n  ROOT %b = f32[2]{0} negate(%a), metadata={op_name=\"x\"}\n}\n\n\
                ENTRY %e {\n  %p = f32[2]{0} parameter(0)\n  %c = f32[2]{0} constant({1, 2})\n  \
                %d = f32[2]{0} add(%p, %c)\n  ROOT %r = f32[2]{0} call(%d), to_apply=%f\n}\n";
    assert_eq!(faults(text, "m.hlo"), []);
    let first_computation_ends = text.find("ENTRY").unwrap();
    for length in 0..text.len() - 2 {
        // A prefix is a module if it ends just after a complete computation.
        let whole = (first_computation_ends - 3..=first_computation_ends).contains(&length);
        let found = faults(&text[..length], "m.hlo");
        assert!(whole || !found.is_empty(), "accepted:\n{}", &text[..length]);
    }
}

#[test]
fn truncated_and_foreign_bytes_are_refused() {
    let text = "HloModule m\nENTRY e {\n  a = f32[2]{0} parameter(0)\n  c = f32[2]{0} constant({1, 2})\n  \
                ROOT b = f32[2]{0} add(a, c)\n}\n";
    let bytes = write_proto(&parse_module(text, "m.hlo").unwrap());
    let module = read_proto(&bytes).unwrap();
    verify(&module).unwrap();
    assert!(read_proto(&[]).is_err());
    assert!(read_proto(b"HloModule m").is_err());
    for length in 0..bytes.len() {
        // Some prefixes are valid messages. The reader must accept or refuse each without a panic.
        if let Ok(module) = read_proto(&bytes[..length]) {
            let _ = verify(&module);
        }
    }
}
