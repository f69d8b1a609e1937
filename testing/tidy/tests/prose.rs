//! Checks rules of language that a program can check. docs/glossary.md defines the words.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

/// Largest number of columns of a comment, including its indentation.
const WIDTH: usize = 100;
/// Largest number of columns of a commit's subject.
const SUBJECT: usize = 72;
/// Option of `git log` that selects the commits whose subjects are checked.
const COMMITS: &str = "-20";

/// Words with which a sentence must not begin. The subject of such a sentence is a clause or a
/// fragment.
const BEGINNINGS: [&str; 9] = ["What", "Whatever", "Whoever", "Who", "Of", "Those", "So many", "As many", "The same"];
/// Words for people. They do not name a part of the program.
const PEOPLE: [&str; 5] = ["who", "whoever", "nobody", "somebody", "everybody"];

fn git(arguments: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new("git").current_dir(root).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the tracked files that match the pattern, and their texts. Leaves out the hostile
/// emitter, because its line numbers must not change. Also leaves out this file, because it
/// contains the forbidden words.
fn files(pattern: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let is_meant = |file: &&str| !file.contains("hostile-emitter") && !file.ends_with("tests/prose.rs");
    let read = |file: &str| Some((file.to_owned(), std::fs::read_to_string(root.join(file)).ok()?));
    git(&["ls-files", pattern]).lines().filter(is_meant).filter_map(read).collect()
}

/// Returns the comments of a Rust file. Each comment has the number of its first line, and its text
/// without markers, fenced blocks and tables.
fn comments(text: &str) -> Vec<(usize, String)> {
    let mut comments: Vec<(usize, String)> = Vec::new();
    let (mut last, mut marker, mut is_fenced) = (0, "", false);
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let Some(found) = ["///", "//!", "//"].into_iter().find(|marker| line.starts_with(marker)) else { continue };
        let content = line[found.len()..].trim();
        if number != last + 1 || found != marker || comments.is_empty() {
            comments.push((number + 1, String::new()));
            is_fenced = false;
        }
        (last, marker) = (number, found);
        let is_fence = content.starts_with("```");
        is_fenced ^= is_fence;
        if let Some((_, comment)) = comments.last_mut().filter(|_| !is_fence && !is_fenced && !content.starts_with('|'))
        {
            comment.push_str(content);
            comment.push(' ');
        }
    }
    comments
}

/// Splits a text into sentences.
fn sentences(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut sentences = vec![Vec::new()];
    for (at, word) in words.iter().enumerate() {
        sentences.last_mut().unwrap().push(*word);
        let ends = word.ends_with(['.', '!', '?']);
        let begins = |next: &&str| next.starts_with(|c: char| c.is_uppercase() || "`*[".contains(c));
        if ends && words.get(at + 1).is_some_and(begins) {
            sentences.push(Vec::new());
        }
    }
    sentences.into_iter().map(|words| words.join(" ")).collect()
}

/// Returns the reason why a sentence must be read twice, if a program can detect this reason.
fn fault(sentence: &str) -> Option<String> {
    let begins = |beginning: &&&str| {
        let rest = sentence.strip_prefix(**beginning);
        rest.is_some_and(|rest| rest.starts_with(|c: char| !c.is_alphanumeric()))
    };
    if let Some(beginning) = BEGINNINGS.iter().find(begins) {
        return Some(format!("begins with `{beginning}`"));
    }
    let mut words = sentence.split(|c: char| !c.is_alphanumeric() && c != '_');
    let person = words.find(|word| PEOPLE.contains(&word.to_lowercase().as_str()))?;
    Some(format!("says `{person}` of a part of the program"))
}

fn faults(file: &str, line: usize, text: &str) -> Vec<String> {
    let told = |sentence: String| Some(format!("{file}:{line}: {}: {sentence}", fault(&sentence)?));
    sentences(text).into_iter().filter_map(told).collect()
}

#[test]
fn comments_are_read_once() {
    let found: Vec<String> = files("*.rs")
        .iter()
        .flat_map(|(file, text)| comments(text).into_iter().flat_map(move |(line, text)| faults(file, line, &text)))
        .collect();
    assert!(found.is_empty(), "name the pass, the kernel or the caller, and begin with it:\n{}", found.join("\n"));
}

#[test]
fn comments_are_narrow() {
    let is_wide = |line: &&str| line.trim_start().starts_with("//") && line.chars().count() > WIDTH;
    let mut wide = Vec::new();
    for (file, text) in files("*.rs") {
        let mut is_fenced = false;
        for (number, line) in text.lines().enumerate() {
            let content = line.trim_start().trim_start_matches(['/', '!']).trim_start();
            is_fenced ^= line.trim_start().starts_with("//") && content.starts_with("```");
            if is_wide(&line) && !is_fenced && !content.starts_with('|') {
                wide.push(format!("{file}:{}", number + 1));
            }
        }
    }
    assert!(wide.is_empty(), "comments have at most {WIDTH} columns: {}", wide.join(", "));
}

#[test]
fn subjects_of_commits_are_short() {
    let long: Vec<String> = git(&["log", COMMITS, "--no-merges", "--format=%s"])
        .lines()
        .filter(|subject| subject.chars().count() > SUBJECT || !subject.contains(": "))
        .map(str::to_owned)
        .collect();
    assert!(long.is_empty(), "a subject is `area: imperative` in at most {SUBJECT} characters: {long:?}");
}

#[test]
fn faults_are_found() {
    assert_eq!(fault("What it multiplies."), Some("begins with `What`".into()));
    assert_eq!(fault("Whatever reads it waits."), Some("begins with `Whatever`".into()));
    assert_eq!(
        fault("It waits for the kernel, and nobody else does."),
        Some("says `nobody` of a part of the program".into())
    );
    assert_eq!(fault("Offsets of the buffers."), None);
    assert_eq!(sentences("One a. Two b! `three` c.").len(), 3);
    assert_eq!(comments("/// a\n/// b\nfn f() {}\n// c\n")[1].0, 4);
}
