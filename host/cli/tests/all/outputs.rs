//! Checks that no output of a command replaces a file that the command reads, whatever the type and
//! the name of this file. Without `--force`, no command may write into a folder that contains
//! files.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::built;
use crate::program::Workplace;

const MODULE: &str = "HloModule m
half {
  p = f32[8] parameter(0)
  ROOT n = f32[8] negate(p)
}
ENTRY main {
  x = f32[8] parameter(0)
  ROOT f = f32[8] fusion(x), kind=kLoop, calls=half
}
";

/// Creates a workplace with every file that a command may read: a module, inputs, a library, a
/// database, choices to import, an executable, settings and a lock file.
fn place() -> Workplace {
    let place = Workplace::with_module(MODULE);
    let constant = "HloModule i\nENTRY e { ROOT c = f32[8] constant({1,2,3,4,5,6,7,8}) }\n";
    place.write("i.hlo", constant.as_bytes());
    place.run(&["run", "i.hlo", "--outputs", "in.npz"]).succeeded();
    place.run(&["tune", "m.hlo", "--tuned", "t.redb", "--export", "t.toml"]).succeeded();
    place.run(&["compile", "m.hlo", "--emit", "executable", "-o", "m.fusebox"]).succeeded();
    std::fs::copy(built::simple_loop(), place.path("p.so")).unwrap();
    place.write("fusebox.toml", b"[plugins]\nmine = { path = \"p.so\" }\n");
    place.run(&["emitters", "lock"]).succeeded();
    place
}

/// Returns all files of a folder and of its subfolders.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(contents(&entry.path()));
        } else {
            // A link to a folder has no content.
            found.insert(entry.path(), std::fs::read(entry.path()).unwrap_or_default());
        }
    }
    found
}

fn changes_nothing(place: &Workplace, arguments: &[&str], words: &[&str]) {
    let before = contents(place.folder());
    place.run(arguments).failed(2, words);
    let after = contents(place.folder());
    let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&before), names(&after), "{arguments:?}");
    before.iter().for_each(|(file, bytes)| assert!(after[file] == *bytes, "{arguments:?} changed {}", file.display()));
}

#[test]
fn no_output_replaces_what_the_command_reads() {
    let place = place();
    let reading = ["--inputs", "in.npz", "--tuned", "t.redb", "--load", "p.so"];
    let outputs: [&[&str]; 4] = [
        &["run", "m.hlo", "--outputs"],
        &["compile", "m.hlo", "-o"],
        &["explain", "m.hlo", "--html"],
        &["bench", "m.hlo", "--profile"],
    ];
    for command in outputs {
        for read in ["m.hlo", "in.npz", "t.redb", "p.so", "fusebox.toml", "fusebox.lock"] {
            if command[0] == "compile" && read == "in.npz" {
                continue;
            }
            let reading = if command[0] == "compile" { &reading[2..] } else { &reading[..] };
            changes_nothing(&place, &[command, &[read], reading].concat(), &[read, "the same file as the input"]);
        }
    }
    for (option, read) in [("--import", "t.toml"), ("--inputs", "in.npz"), ("--load", "p.so")] {
        let tune = ["tune", "m.hlo", "--tuned", "t.redb", option, read, "--export"];
        for read in [read, "m.hlo", "t.redb", "fusebox.toml"] {
            changes_nothing(&place, &[&tune[..], &[read]].concat(), &[read, "the same file as the input"]);
        }
    }
}

#[test]
fn other_names_are_seen_through() {
    let place = place();
    symlink("t.redb", place.path("link")).unwrap();
    std::fs::hard_link(place.path("p.so"), place.path("hard")).unwrap();
    symlink(".", place.path("here")).unwrap();
    for output in ["link", "hard", "here/in.npz", "./here/here/fusebox.lock"] {
        let run = ["run", "m.hlo", "--inputs", "in.npz", "--tuned", "t.redb", "--load", "p.so", "--outputs", output];
        changes_nothing(&place, &run, &[output, "the same file as the input"]);
    }
    // A file that does not exist yet may also be an input.
    changes_nothing(&place, &["run", "m.hlo", "--tuned", "new.redb", "--outputs", "here/new.redb"], &["new.redb"]);
    // Outputs replace files that the command does not read.
    place.write("old", b"old");
    place.run(&["run", "m.hlo", "--no-config", "--outputs", "fusebox.toml"]).succeeded();
    place.run(&["run", "m.hlo", "--no-config", "--outputs", "old"]).succeeded();
    place.run(&["run", "m.hlo", "--no-config", "--no-tuned", "--outputs", "t.redb"]).succeeded();
}

#[test]
fn an_entry_of_the_cache_in_use_is_not_replaced() {
    let place = Workplace::with_module(MODULE);
    place.run(&["run", "m.hlo", "--cache", "kept"]).succeeded();
    for entry in std::fs::read_dir(place.path("kept")).unwrap() {
        let entry = format!("kept/{}", entry.unwrap().file_name().to_str().unwrap());
        changes_nothing(&place, &["run", "m.hlo", "--cache", "kept", "--outputs", &entry], &[&entry]);
    }
}

#[test]
fn a_folder_that_holds_something_is_refused_without_force() {
    let place = place();
    place.write("README.md", b"mine");
    let repro = ["repro", "m.hlo", "--inputs", "in.npz", "--fusion", "half", "-o"];
    let others: [&[&str]; 3] = [
        &["bisect", "m.hlo", "-o"],
        &["ab", "m.hlo", "--b", "loop=simple-loop", "--pairs", "1", "--html"],
        &["check-emitter", "p.so", "--cases", "0", "--output"],
    ];
    for command in [&repro[..]].into_iter().chain(others) {
        changes_nothing(&place, &[command, &["."]].concat(), &["is not empty", "--force"]);
        changes_nothing(&place, &[command, &["m.hlo"]].concat(), &["m.hlo"]);
    }
    // `--force` replaces files with the same names, except files that the command reads.
    place.run(&[&repro[..], &["r"]].concat()).succeeded();
    place.run(&[&repro[..], &["r", "--force"]].concat()).succeeded();
    assert_eq!(std::fs::read_dir(place.path("r")).unwrap().count(), 6);
    std::fs::rename(place.path("in.npz"), place.path("r/inputs.npz")).unwrap();
    let again = ["repro", "r/module.hlo", "--inputs", "r/inputs.npz", "--fusion", "half", "-o", "r", "--force"];
    changes_nothing(&place, &again, &["r/module.hlo", "the same file as the input"]);
    // An empty folder needs no `--force`. Other commands have no such option.
    std::fs::create_dir(place.path("empty")).unwrap();
    place.run(&["repro", "m.hlo", "--fusion", "half", "-o", "empty"]).succeeded();
    place.run(&["run", "m.hlo", "--force"]).failed(2, &["--emitter"]);
}

#[test]
fn a_folder_is_written_whole_or_not_at_all() {
    let place = Workplace::with_module(MODULE);
    let names = place.names();
    // The interpreter needs 8 numbers.
    place.write("few.npz", b"nonsense");
    place.run(&["repro", "m.hlo", "--fusion", "half", "--inputs", "few.npz", "-o", "a/b/r"]).failed(1, &["few.npz"]);
    place.run(&["repro", "m.hlo", "--fusion", "none", "-o", "a/b/r"]).failed(2, &["none"]);
    let left: Vec<String> = place.names().into_iter().filter(|name| name != "few.npz").collect();
    assert_eq!(names, left);
}
