//! Checks that the outputs in `docs/` are the outputs that the program prints now.
//!
//! A code block begins with one of:
//!
//! ```text
//! hlo NAME.hlo         make a file of that name
//! console              have a command in their first line (`$ fusebox …`) and its output below
//! mlir FOLDER/FILE     hold a file that a command made; a range after it (`3-20`) says which lines
//! ```
//!
//! The commands of a document run in order, in one folder per document. The arguments of an entry
//! function are long and occur in many dumps. So the line that contains them is cut and ends with
//! `…`. `FUSEBOX_BLESS=1` updates outputs and files.

use std::path::Path;

use crate::program::Workplace;

/// Number of characters that are kept if a line is cut.
const LONGEST: usize = 100;

#[test]
fn the_life_of_a_kernel() {
    check("life-of-a-kernel.md");
}

#[test]
fn indexing_by_example() {
    check("indexing.md");
}

#[test]
fn passes_of_mlir() {
    check("mlir.md");
}

fn check(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let found = renewed(&Workplace::new(), &text);
    if std::env::var_os("FUSEBOX_BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
    } else if let Some((at, (is, was))) = found.lines().zip(text.lines()).enumerate().find(|(_, (is, was))| is != was) {
        panic!("docs/{name}:{}: it says\n{was}\nbut it is\n{is}\n(FUSEBOX_BLESS=1 writes it anew)", at + 1);
    } else {
        assert_eq!(found.len(), text.len(), "docs/{name}: a block at its end has another length");
    }
}

/// Returns the document after all its blocks have been updated.
fn renewed(place: &Workplace, text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        out += line;
        out.push('\n');
        let Some(begin) = line.strip_prefix("```") else { continue };
        let body: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
        out += &block(place, begin, &body);
        out += "```\n";
    }
    out
}

fn block(place: &Workplace, begin: &str, body: &[&str]) -> String {
    let as_it_is = || body.iter().map(|line| format!("{line}\n")).collect();
    let (language, rest) = begin.split_once(' ').unwrap_or((begin, ""));
    match rest.split_once(' ').unwrap_or((rest, "")) {
        ("", _) if language == "console" => {
            let command = body[0].strip_prefix("$ fusebox ").unwrap_or_else(|| panic!("no command: {}", body[0]));
            let output = place.run(&command.split(' ').map(|it| it.trim_matches('\'')).collect::<Vec<_>>()).succeeded();
            format!("{}\n{}", body[0], shown(&output, ""))
        }
        ("", _) => as_it_is(),
        (file, range) if file.contains('/') => {
            let text = std::fs::read_to_string(place.path(file));
            shown(&text.unwrap_or_else(|error| panic!("no command made {file}: {error}")), range)
        }
        (file, _) => {
            let text: String = as_it_is();
            place.write(file, text.as_bytes());
            text
        }
    }
}

/// Returns the lines of a text in `range`, or all lines if `range` is not of the form `FIRST-LAST`.
/// Drops empty lines at the end.
fn shown(text: &str, range: &str) -> String {
    let (first, last) = match range.split_once('-') {
        Some((first, last)) => (first.parse().unwrap(), last.parse().unwrap()),
        None => (1, usize::MAX),
    };
    let lines = text.trim_end().lines().skip(first - 1).take((last - first).saturating_add(1));
    let cut = |line: &str| match line.char_indices().nth(LONGEST) {
        Some((end, _)) if line.starts_with("}) {sym_name") => format!("{}…\n", &line[..end]),
        _ => format!("{line}\n"),
    };
    lines.map(cut).collect()
}
