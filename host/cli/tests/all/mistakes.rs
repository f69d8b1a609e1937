//! Checks the messages for the ten mistakes of `docs/writing-an-emitter.md`. Each message must be
//! the one that the guide shows. `FUSEBOX_BLESS=1` updates the table of the guide.

use std::path::Path;

use crate::built;
use crate::program::Workplace;

/// A mistake, the arguments of a command that encounters the mistake, and two texts that the
/// message must contain. The first text states where the mistake is, and the second states how to
/// correct it.
type Mistake = (&'static str, &'static [&'static str], [&'static str; 2]);

const MISTAKES: [Mistake; 10] = [
    (
        "wrong kind",
        &["run", "fine.hlo", "--load", "mine.so", "--emitter", "lop=hostile"],
        ["`lop=hostile`", "did you mean `loop`"],
    ),
    ("missing symbol", &["run", "fine.hlo", "--load", "other.so"], ["other.so", "export_emitters!"]),
    ("old interface", &["run", "fine.hlo", "--load", "old.so"], ["old.so", "cargo build --release"]),
    (
        "too little covered",
        &["run", "half.hlo", "--emitter", "mine.so"],
        ["planned at src/lib.rs:", "[32] is never reached"],
    ),
    ("written twice", &["run", "overlap.hlo", "--emitter", "mine.so"], ["planned at src/lib.rs:", "at th = 1, bl = 0"]),
    ("wrong type", &["run", "wrong_type.hlo", "--emitter", "mine.so"], ["[src/lib.rs:", "of one type"]),
    ("unknown knob", &["run", "fine.hlo", "--emitter", "mine.so", "--knob", "edge=8"], ["`edge`", "it has none"]),
    ("wrong file", &["run", "fine.hlo", "--load", "fine.hlo"], ["fine.hlo", "cargo build --release"]),
    ("library without optimisation", &["bench", "fine.hlo", "--load", "mine.so"], ["mine.so", "cargo build --release"]),
    (
        "two of one name",
        &["run", "fine.hlo", "--load", "mine.so", "--load", "copy.so"],
        ["mine.so", "give one of them another name"],
    ),
];

/// Creates a folder with the libraries and modules that contain the mistakes.
fn workplace() -> Workplace {
    let place = Workplace::new();
    let mine = std::fs::read(built::hostile("")).unwrap();
    for library in ["mine.so", "copy.so"] {
        place.write(library, &mine);
    }
    place.write("old.so", &built::with_interface(mine, 1));
    std::fs::copy(built::procedural_macro(), place.path("other.so")).unwrap();
    for name in ["fine", "half", "overlap", "wrong_type", "endless"] {
        let module = format!(
            "HloModule m\n{name} {{\n  p = f32[64] parameter(0)\n  ROOT root = f32[64] negate(p)\n}}\n\
             ENTRY main {{\n  a = f32[64] parameter(0)\n  ROOT f = f32[64] fusion(a), kind=kLoop, calls={name}\n}}\n"
        );
        place.write(&format!("{name}.hlo"), module.as_bytes());
    }
    place
}

#[test]
fn the_guide_has_the_message_of_every_mistake() {
    let place = workplace();
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/writing-an-emitter.md");
    let written = std::fs::read_to_string(&guide).unwrap();
    let mut lines: Vec<String> = written.lines().map(str::to_owned).collect();
    for (title, arguments, words) in MISTAKES {
        let simulated = [arguments, &["--target", "simt"]].concat();
        let ran = place.run(if arguments[0] == "bench" { arguments } else { &simulated });
        let said = ran.err.lines().next().unwrap_or_default().replace(&format!("{}/", place.folder().display()), "");
        assert!(ran.code == Some(i32::from(title != "library without optimisation")), "{title}: {}", ran.err);
        assert!(words.iter().all(|word| said.contains(word)), "{title}: {said}");
        let row = lines.iter_mut().find(|line| line.starts_with(&format!("| {title} | ")));
        *row.unwrap() = format!("| {title} | {} |", said.replace('|', "\\|"));
    }
    let found = lines.join("\n") + "\n";
    if std::env::var_os("FUSEBOX_BLESS").is_some() {
        return std::fs::write(&guide, found).unwrap();
    }
    found.lines().zip(written.lines()).for_each(|(found, written)| assert_eq!(found, written));
}

/// Checks that each command ends, names the kernel and its emitter, and explains how to get more
/// information.
#[test]
fn a_kernel_that_never_ends_is_named() {
    let place = workplace();
    let library = place.path("mine.so").display().to_string();
    let choice = format!("loop={library}");
    for arguments in [
        &["run", "endless.hlo", "--emitter", &choice][..],
        &["bench", "endless.hlo", "--emitter", &choice],
        &["ab", "endless.hlo", "--b", &choice],
        &["tune", "endless.hlo", "--load", &library, "--tuned", "t.redb"],
        &["bisect", "endless.hlo", "--emitter", &choice],
    ] {
        let words =
            ["kernel `endless` of emitter hostile 0.1.0 has not ended after 1 s", "--kernel-time", "--target simt"];
        place.run(&[arguments, &["--kernel-time", "1"]].concat()).failed(1, &words);
    }
    let words = ["a loop does not end", "endless: scf.while at src/lib.rs:"];
    place.run(&["run", "endless.hlo", "--emitter", &choice, "--target", "simt"]).failed(1, &words);
    let checked = place.run(&["check-emitter", &library, "--module", "endless.hlo", "--cases", "0", "--progress"]);
    assert!(checked.out.contains(words[1]) && checked.err.contains("hostile: "), "{}{}", checked.out, checked.err);
}
