//! Checks ARCHITECTURE.md and `docs/` against the sources. Paths must exist, and lists must be
//! complete.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap()
}

/// Returns the files that match one of the patterns, relative to the root. Includes untracked
/// files, but not files that git ignores.
fn files(patterns: &[&str]) -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .args(patterns)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let files = String::from_utf8(output.stdout).unwrap();
    files.lines().map(String::from).filter(|file| root().join(file).exists()).collect()
}

/// Returns the texts between backticks, outside of code blocks.
fn quoted(text: &str) -> Vec<String> {
    let mut is_code = false;
    let prose = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    let prose: Vec<&str> = prose.collect();
    prose.join("\n").split('`').skip(1).step_by(2).map(String::from).collect()
}

#[test]
fn paths_exist() {
    let folders = ["core/", "host/", "emitters/", "examples/", "testing/", "benches/", "fuzz/", "docs/", "toolchain/"];
    let is_path = |word: &String| {
        folders.iter().any(|folder| word.starts_with(folder))
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
    };
    let mut missing = Vec::new();
    for document in files(&["*.md"]) {
        let exists = |word: &String| root().join(word).exists() || root().join(format!("{word}.rs")).exists();
        let lost = quoted(&read(&document)).into_iter().filter(is_path).filter(|word| !exists(word));
        missing.extend(lost.map(|word| format!("{document}: {word}")));
    }
    assert!(missing.is_empty(), "these paths do not exist:\n{}", missing.join("\n"));
}

#[test]
fn links_lead_somewhere() {
    let mut missing = Vec::new();
    for document in files(&["*.md"]) {
        let text = read(&document);
        let folder = Path::new(&document).parent().unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap_or("");
            if !path.is_empty() && !path.contains("://") && !root().join(folder).join(path).exists() {
                missing.push(format!("{document}: {target}"));
            }
        }
    }
    assert!(missing.is_empty(), "these links lead nowhere:\n{}", missing.join("\n"));
}

/// Checks that the table *Which line of a dump is written where* names all files of the stages.
#[test]
fn the_architecture_knows_who_writes_dumps() {
    let text = read("ARCHITECTURE.md");
    let start = text.find("## Which line of a dump is written where").unwrap();
    let table = text[start..].split("\n## ").next().unwrap();
    let sources = files(&["host/lowering/src/stages/*.rs", "host/lowering/src/write/*.rs", "host/emission/src/*.rs"]);
    // Files that only declare and dispatch need no line in the table. A line may name a file or the
    // folder of the file.
    let is_named = |file: &String| {
        let inside = file.rsplit_once('/').is_some_and(|(folder, _)| table.contains(&format!("`{folder}`")));
        inside || table.contains(&format!("`{file}`"))
    };
    let silent = ["mod.rs", "lib.rs", "error.rs", "tests.rs"];
    let is_silent = |file: &String| silent.iter().any(|name| file.ends_with(&format!("/{name}")));
    let missing: Vec<String> = sources.into_iter().filter(|file| !is_silent(file) && !is_named(file)).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md does not say what these write: {missing:?}");
}

/// Checks that the tables of the kernel IR list all operations of fusebox.
#[test]
fn the_architecture_has_every_operation() {
    let (text, table) = (read("ARCHITECTURE.md"), read("core/kernel-ir/src/operations.rs"));
    let rows = table.split("= xla_gpu.").skip(1);
    let operations: Vec<&str> = rows.filter_map(|row| row.split(',').next()).collect();
    assert!(operations.len() > 20, "the table of operations has another form: {operations:?}");
    let is_missing = |name: &&str| ![' ', '`'].iter().any(|end| text.contains(&format!("| `xla_gpu.{name}{end}")));
    let missing: Vec<&str> = operations.into_iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md does not describe {missing:?}");
}

/// A kind of extension, which a section of `docs/how-to.md` describes. The section has an example,
/// and the words below find this example in the sources.
struct Kind {
    section: &'static str,
    /// Words that occur in the text of the example's files.
    words: &'static [&'static str],
    /// Text that occurs in the paths of the example's files.
    path: &'static str,
    /// Largest number of files that an extension may need. This number must not grow.
    most: usize,
}

const KINDS: &[Kind] = &[
    Kind {
        section: "A unary operation of HLO",
        words: &["UnaryOp::Erf", "Erf = \"erf\""],
        path: "does not matter",
        most: 3,
    },
    Kind {
        section: "An operation of HLO that moves elements",
        words: &["Op::Reverse", "Moved Reverse"],
        path: "does not matter",
        // Two of these files only need a change in some cases. Two convert from and to StableHLO.
        most: 9,
    },
    Kind { section: "An element type", words: &["F8E5M2FNUZ", "f8e5m2fnuzs"], path: "does not matter", most: 5 },
    Kind { section: "An operation of the kernel IR", words: &["Cttz"], path: "does not matter", most: 4 },
    Kind { section: "A function of the math library", words: &["Erfc"], path: "does not matter", most: 3 },
    Kind { section: "A pass over HLO", words: &["wide_sums"], path: "wide_sums", most: 2 },
    Kind {
        section: "A pass of lowering",
        words: &["Stage::Loops", "Step::Loops", "mod loops;"],
        path: "stages/loops/",
        most: 5,
    },
    Kind {
        section: "An emitter that comes with fusebox",
        words: &["fusebox-emitter-scatter", "fusebox_emitter_scatter", "emitters/scatter"],
        path: "emitters/scatter/",
        most: 5,
    },
    Kind { section: "A thunk", words: &["Thunk::Copy"], path: "does not matter", most: 6 },
    Kind {
        section: "A routine",
        words: &["mod random_bits;", "random_bits::make"],
        path: "routines/src/random_bits",
        most: 4,
    },
    Kind { section: "A target", words: &["Amdgpu", "amdgpu", "starts_with(\"gfx\")"], path: "amdgpu", most: 2 },
];

/// Checks that the lists of `docs/how-to.md` agree with the sources and do not grow.
#[test]
fn one_of_a_kind_is_added_in_few_places() {
    let document = read("docs/how-to.md");
    let of_tests = |file: &String| ["/tests/", "tests.rs", "examples/"].iter().any(|part| file.contains(part));
    let sources: Vec<String> = files(&["*.rs", "*.toml"]).into_iter().filter(|file| !of_tests(file)).collect();
    let mut faults = Vec::new();
    for Kind { section, words, path, most } in KINDS {
        let listed = listed(&document, section);
        let own = |file: &String| listed.iter().find(|place| place.ends_with('/') && file.starts_with(*place)).cloned();
        let names = |file: &&String| file.contains(path) || words.iter().any(|word| read(file).contains(word));
        let found = sources.iter().filter(names).map(|file| own(file).unwrap_or_else(|| file.clone()));
        let found: BTreeSet<String> = found.filter(|file| !file.starts_with("testing/tidy/")).collect();
        if found != listed {
            faults.push(format!("{section}: docs/how-to.md lists {listed:#?}, its example is named in {found:#?}"));
        }
        if found.len() > *most {
            faults.push(format!("{section}: {} places, {most} were enough", found.len()));
        }
    }
    let sections = document.lines().filter(|line| line.starts_with("## ")).count();
    assert_eq!(sections, KINDS.len(), "sections of docs/how-to.md that nothing checks");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns the files that a section lists. Each bullet begins with a file.
fn listed(document: &str, section: &str) -> BTreeSet<String> {
    let text = document.split(&format!("## {section}\n")).nth(1).unwrap_or("");
    let bullets = text.split("\n## ").next().unwrap_or("").lines().filter_map(|line| line.strip_prefix("* `"));
    bullets.filter_map(|bullet| bullet.split('`').next()).map(String::from).collect()
}

/// All extensions of one kind. Each is a row of a table in the sources.
struct WholeKind {
    name: &'static str,
    /// File that contains the table.
    table: &'static str,
    /// Returns the names of the rows.
    rows: fn(&str) -> Vec<String>,
    /// Types whose variants have the names of the rows.
    types: &'static [&'static str],
    /// Median over all rows of the number of files that name the row. This median must not grow.
    median: usize,
    /// Largest number of files that name a row. This number must not grow.
    most: usize,
}

/// Returns the names of the rows `Name = …` in the text between `begin` and `end`.
fn rows_between(text: &str, begin: &str, end: &str) -> Vec<String> {
    let text = text.split_once(begin).map_or("", |(_, rest)| rest);
    let text = text.split_once(end).map_or(text, |(part, _)| part);
    let names = text.split(" = ").filter_map(|part| part.split_whitespace().last());
    names
        .filter(|name| name.starts_with(char::is_uppercase) && name.chars().all(char::is_alphanumeric))
        .map(str::to_owned)
        .collect()
}

const WHOLE_KINDS: &[WholeKind] = &[
    WholeKind {
        name: "unary operations of HLO",
        table: "core/hlo/src/op.rs",
        rows: |text| rows_between(text, "\n    unary {", "\n    binary {"),
        types: &["UnaryOp"],
        median: 3,
        most: 8,
    },
    WholeKind {
        name: "operations of HLO that move elements",
        table: "core/hlo/src/op.rs",
        rows: |text| {
            let rows = text.lines().filter_map(|line| line.trim().strip_prefix("Moved "));
            rows.filter_map(|row| row.split([' ', '(']).next()).map(str::to_owned).collect()
        },
        types: &["Op", "Opcode"],
        // Ten files define an operation: its table, shape, dynamic extents, map, values, edits and
        // StableHLO. The others look for the operation in a pattern, in passes and emitters.
        median: 19,
        most: 30,
    },
    WholeKind {
        name: "element types",
        table: "core/hlo/src/element_type.rs",
        rows: |text| rows_between(text, "\nelement_types! {", "\n}"),
        types: &["ElementType"],
        median: 4,
        most: 46,
    },
    WholeKind {
        name: "operations of the kernel IR",
        table: "core/kernel-ir/src/operations.rs",
        rows: rows_of_operations,
        types: &["OpKind"],
        median: 3,
        most: 14,
    },
];

/// Returns the names of the rows `Name = dialect.operation, …`.
fn rows_of_operations(text: &str) -> Vec<String> {
    let rows = text.lines().filter_map(|line| line.trim().split_once(" = "));
    let rows = rows.filter(|(_, rest)| rest.split(',').next().is_some_and(|name| name.contains('.')));
    rows.map(|(name, _)| name.to_owned()).collect()
}

/// Checks that few files name a typical operation or type, not only the cheapest one.
#[test]
fn whole_kinds_are_named_in_few_places() {
    let of_tests = |file: &String| {
        ["/tests/", "tests.rs", "examples/", "fuzz/", "testing/", "benches/"].iter().any(|part| file.contains(part))
    };
    let code = |file: String| {
        let text = read(&file);
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        (file, lines.collect::<Vec<_>>().join("\n"))
    };
    let sources: Vec<(String, String)> =
        files(&["*.rs"]).into_iter().filter(|file| !of_tests(file)).map(code).collect();
    let names = |text: &str, word: &str| {
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        text.match_indices(word).any(|(at, _)| ends(&text[at + word.len()..]))
    };
    for WholeKind { name, table, rows, types, median, most } in WHOLE_KINDS {
        let rows = rows(&read(table));
        assert!(rows.len() > 5, "{name}: the table has another form: {rows:?}");
        let mut counts: Vec<(usize, String)> = rows
            .into_iter()
            .map(|row| {
                let words: Vec<String> = types.iter().map(|it| format!("{it}::{row}")).collect();
                let is_named =
                    |(file, text): &&(String, String)| file == table || words.iter().any(|word| names(text, word));
                (sources.iter().filter(is_named).count(), row)
            })
            .collect();
        counts.sort();
        let found = (counts[counts.len() / 2].0, counts[counts.len() - 1].0);
        assert!(
            found.0 <= *median && found.1 <= *most,
            "{name}: median and most are {found:?}, {median} and {most} were enough: {counts:?}"
        );
    }
}
